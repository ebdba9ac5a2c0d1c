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


async def reweigh_if_drifted(
    session: AsyncSession,
    jobs: Jobs,
    base: BaseId,
    used: ServingGeneration | BuildingGeneration,
    document: DocumentId,
) -> None:
    """Fix a new average and queue the job that applies it, once the present one has drifted too far.

    `used` is the generation as it was when the points of `document` were written: if its average was
    replaced meanwhile, the document alone is weighed again.
    """
    rows = StatisticRows(session, used.tenant, used.id)
    averages = await rows.averages()
    if averages.measured is None or not has_drifted(averages.fixed, averages.measured):
        await _reweigh_if_other(session, jobs, base, used, document, average=averages.fixed)
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
    used: BuildingGeneration,
    documents: Collection[DocumentId],
) -> None:
    """Have documents weighed again whose points were written with an average that was replaced meanwhile.

    A generation that is being built has no true average yet; whoever builds it looks at that in the end.
    """
    averages = await StatisticRows(session, used.tenant, used.id).averages()
    for document in documents:
        await _reweigh_if_other(session, jobs, base, used, document, average=averages.fixed)


async def _reweigh_if_other(
    session: AsyncSession,
    jobs: Jobs,
    base: BaseId,
    used: ServingGeneration | BuildingGeneration,
    document: DocumentId,
    *,
    average: float,
) -> None:
    if average != used.average_length:
        parameters = {"base": str(base), "generation": str(used.id), "document": str(document)}
        await jobs.create(session, used.tenant, JobId(uuid4()), REWEIGH, parameters)


def has_drifted(fixed: float, measured: float) -> bool:
    """Whether weights made with `fixed` are too far from what `measured` would give."""
    return abs(measured - fixed) > DRIFT * fixed
