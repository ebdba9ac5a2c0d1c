"""Notices when the average length that stored weights were made with is no longer the real one."""

from uuid import uuid4

from sqlalchemy.ext.asyncio import AsyncSession

from eai.kernel.ids import BaseId, DocumentId, JobId
from eai.knowledge.bases.handle import ServingGeneration
from eai.knowledge.statistics.repository import StatisticRows
from eai.platform.jobs import Jobs

REWEIGH = "knowledge.reweigh"
DRIFT = 0.2
"""How far the average may move before every weight is made anew."""


async def reweigh_if_drifted(
    session: AsyncSession,
    jobs: Jobs,
    base: BaseId,
    used: ServingGeneration,
    document: DocumentId,
) -> None:
    """Fix a new average and queue the job that applies it, once the present one has drifted too far.

    `used` is the generation as it was when the points of `document` were written: if its average was
    replaced meanwhile, the document alone is weighed again.
    """
    rows = StatisticRows(session, used.tenant, used.id)
    averages = await rows.averages()
    parameters = {"base": str(base), "generation": str(used.id)}
    if averages.measured is not None and _has_drifted(averages.fixed, averages.measured):
        await rows.set_average_length(averages.measured)
        if await jobs.is_pending(session, used.tenant, REWEIGH, parameters):
            # It begins anew when it finds the average changed.
            return
    elif averages.fixed != used.average_length:
        parameters["document"] = str(document)
    else:
        return
    await jobs.create(session, used.tenant, JobId(uuid4()), REWEIGH, parameters)


def _has_drifted(fixed: float, measured: float) -> bool:
    return abs(measured - fixed) > DRIFT * fixed
