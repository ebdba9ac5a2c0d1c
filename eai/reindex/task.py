"""What an attempt at a reindex knows of it, read when the attempt begins."""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import LEVELS, Classification, highest, level_at
from eai.gateway.calls import Caller
from eai.ingestion.repository import NO_RIGHTS, submitter_of
from eai.kernel.ids import BaseId, GenerationId
from eai.knowledge.bases.access import handle_of
from eai.knowledge.bases.handle import BaseHandle, BuildingGeneration
from eai.knowledge.bases.repository import BaseRows
from eai.platform.jobs import JobRun
from eai.reindex.coverage_rows import CoverageRows
from eai.reindex.repository import GenerationRows, ReindexRows
from eai.reindex.schemas import Settings


class BaseGone(Exception):
    """The base is being deleted: nothing more is to be done for it."""


@dataclass(frozen=True, slots=True)
class Task:
    """A reindex on its way: from `source`, which is searched, to `target`, which is being built."""

    base: BaseId
    source: GenerationId
    target: BuildingGeneration
    recuts: bool
    caller: Caller
    labels: Mapping[str, str]
    is_rollback: bool


@dataclass(frozen=True, slots=True)
class Present:
    """The base and the generation that is built, as they are in this transaction."""

    base: BaseHandle
    target: BuildingGeneration


async def task_of(session: AsyncSession, run: JobRun) -> Task:
    """What the run is to do. Raises BaseGone."""
    row = await ReindexRows(session, run.tenant).find(run.job)
    if row is None:
        raise BaseGone
    base = BaseId(row.base_id)
    source, target = Settings(**row.source), Settings(**row.target)
    return Task(
        base=base,
        source=GenerationId(source.generation),
        target=(await present(session, run, base)).target,
        recuts=(source.chunk_size, source.chunk_overlap) != (target.chunk_size, target.chunk_overlap),
        caller=submitter_of(run.tenant, run.parameters),
        labels=run.parameters["labels"],
        is_rollback=row.rollback_of is not None,
    )


async def present(session: AsyncSession, run: JobRun, base: BaseId) -> Present:
    """The base and its next generation as they are now. Raises BaseGone."""
    rows = BaseRows(session, run.tenant)
    row, target = await rows.find(str(base)), await rows.building(base)
    if row is None or target is None:
        raise BaseGone
    return Present(handle_of(row, NO_RIGHTS, await rows.average_length(row)), target)


async def require_built(session: AsyncSession, run: JobRun, task: Task) -> None:
    """Raise BaseGone unless what `present` looks for is there; one statement."""
    if not await GenerationRows(session, run.tenant).is_built(task.target.id):
        raise BaseGone


async def highest_level(session: AsyncSession, run: JobRun, base: BaseHandle) -> Classification:
    """The highest level of anything that the base serves, or of the base itself."""
    own = await CoverageRows(session, run.tenant, base.id).highest_level()
    return highest(LEVELS[base.classification.rank], level_at(own))
