"""Notices when the average length that stored weights were made with is no longer the real one."""

from collections.abc import Collection
from uuid import uuid4

from sqlalchemy.ext.asyncio import AsyncSession

from eai.kernel.ids import BaseId, DocumentId, JobId
from eai.knowledge.bases.handle import BuildingGeneration, ServingGeneration
from eai.knowledge.statistics.repository import StatisticRows
from eai.platform.jobs import Jobs

REWEIGH = "knowledge.reweigh"
DRIFT = 0.2
"""How far the average may move before every weight is made anew."""

Used = ServingGeneration | BuildingGeneration


async def reweigh_if_drifted(
    session: AsyncSession,
    jobs: Jobs,
    base: BaseId,
    used: Used,
    documents: Collection[DocumentId],
) -> None:
    """Fix a new average and queue the job that applies it, once the present one has drifted too far.

    `used` is the generation as it was when the points of `documents` were written: if its average was
    replaced meanwhile, these documents alone are weighed again.
    """
    rows = StatisticRows(session, used.tenant, used.id)
    averages = await rows.averages()
    if averages.measured is None or not has_drifted(averages.fixed, averages.measured):
        await _reweigh_if_other(session, jobs, base, used, documents, average=averages.fixed)
        return
    parameters = {"base": str(base), "generation": str(used.id)}
    await rows.set_average_length(averages.measured)
    if not await jobs.is_pending(session, used.tenant, REWEIGH, parameters):
        # Else the one that waits begins anew when it finds the average changed.
        await jobs.create(session, used.tenant, JobId(uuid4()), REWEIGH, parameters)


async def reweigh_if_stale(
    session: AsyncSession,
    jobs: Jobs,
    base: BaseId,
    used: Used,
    documents: Collection[DocumentId],
) -> None:
    """Have documents weighed again whose points were written with an average that was replaced meanwhile.

    A generation that is not searched has no true average: whoever makes it searched looks at that then.
    """
    averages = await StatisticRows(session, used.tenant, used.id).averages()
    await _reweigh_if_other(session, jobs, base, used, documents, average=averages.fixed)


async def _reweigh_if_other(
    session: AsyncSession,
    jobs: Jobs,
    base: BaseId,
    used: Used,
    documents: Collection[DocumentId],
    *,
    average: float,
) -> None:
    if average == used.average_length:
        return
    for document in documents:
        parameters = {"base": str(base), "generation": str(used.id), "document": str(document)}
        await jobs.create(session, used.tenant, JobId(uuid4()), REWEIGH, parameters)


def has_drifted(fixed: float, measured: float) -> bool:
    """Whether weights made with `fixed` are too far from what `measured` would give."""
    return abs(measured - fixed) > DRIFT * fixed
