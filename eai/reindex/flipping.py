"""Lets the next generation answer: looked at whole, then searched from one commit on."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from uuid import uuid4

from sqlalchemy import func
from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import Classification, level_at
from eai.audit.actions import AuditAction
from eai.audit.entries import Resource
from eai.audit.service import Audit
from eai.gateway.calls import Operation
from eai.gateway.service import Gateway
from eai.kernel.errors import Unavailable
from eai.kernel.ids import JobId, PointId
from eai.knowledge.bases.repository import BaseRows
from eai.knowledge.chunks.repository import ChunkRows, ChunkText
from eai.knowledge.models import KnowledgeBase
from eai.knowledge.ports import Vectors
from eai.knowledge.statistics.drift import REWEIGH, has_drifted
from eai.knowledge.statistics.repository import StatisticRows
from eai.knowledge.statistics.reweighing import CHUNKS_PER_BATCH, weights
from eai.platform.database import Database
from eai.platform.finishing import finished
from eai.platform.jobs import JobRun, Jobs
from eai.reindex.coverage_rows import CoverageRows
from eai.reindex.errors import ReindexIncomplete
from eai.reindex.repository import GenerationRows, ReindexRows
from eai.reindex.task import BaseGone, Task, present

LOOKS = 5
PAUSE_S = 0.2
POINTS_PER_COUNT = 256
"""The embedded engine answers nobody else while it counts: so many take it a few milliseconds."""


@dataclass(frozen=True, slots=True)
class Look:
    """What the next generation has of what is served, as of `since` or a moment later."""

    since: str
    is_complete: bool
    has_all_points: bool = False
    documents: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether nothing is missing."""
        return self.is_complete and self.has_all_points


class Flipping:
    """The end of a reindex."""

    def __init__(
        self, database: Database, gateway: Gateway, vectors: Vectors, jobs: Jobs, audit: Audit
    ) -> None:
        self._database = database
        self._gateway = gateway
        self._vectors = vectors
        self._jobs = jobs
        self._audit = audit

    async def flip(self, run: JobRun, task: Task) -> bool:
        """Have the next generation searched; false when it has to be looked at anew.

        A document may have come that it does not have, and the base may have another level.

        Raises ReindexIncomplete, BaseGone, Fenced, VectorStoreUnavailable, and what the gateway has against
        questions to the new model.
        """
        async with self._database.transaction(run.tenant) as session:
            await self._jobs.confirm(session, run, {"stage": "verifying"})
            await ReindexRows(session, run.tenant).change(run.job, status="verifying")
            now = await present(session, run, task.base)
        model, level = now.target.embedding_model, now.base.classification
        await self._gateway.check(task.caller, model, Operation.REINDEX, level)
        await self._settle_average(run, task)
        for _ in range(LOOKS):
            look = await self._look(run, task)
            if look.is_whole:
                look = await self._look_at_what_came(run, task, look)
            if look.is_whole:
                async with self._database.transaction(run.tenant) as session:
                    look = await self._look_again_and_flip(session, run, task, look, level)
            if not look.is_complete or look.has_all_points:
                return look.is_complete
            # A deletion takes points before rows, also those of a document that came a moment ago.
            await asyncio.sleep(PAUSE_S)
        raise ReindexIncomplete

    async def _look(self, run: JobRun, task: Task) -> Look:
        """Whether every served document is there, and every point, while documents come and go.

        Points are counted before rows, of documents that were served before that: what is deleted meanwhile
        is missed by neither. Rows are read page by page: all at once, they kept every processor busy.
        """
        async with self._database.transaction(run.tenant) as session:
            await self._jobs.confirm(session, run)
            # Before anything that is looked at: what is not seen of it now is seen as served since.
            since = await CoverageRows(session, run.tenant, task.base).now()
        points = await self._vectors.count(task.target.space, task.target.selector())
        documents, chunks, after = 0, 0, None
        while True:
            async with self._database.transaction(run.tenant) as session:
                coverage = CoverageRows(session, run.tenant, task.base)
                if not (page := await coverage.page(after, until=since)):
                    break
                served = [each.document for each in page]
                if await coverage.missing_of(task.target.id, served):
                    return Look(since, is_complete=False)
                chunks += await coverage.chunks(task.target.id, served)
            documents, after = documents + len(page), page[-1]
        return Look(since, is_complete=True, has_all_points=points >= chunks, documents=documents)

    async def _look_at_what_came(self, run: JobRun, task: Task, look: Look) -> Look:
        """The same after what began to be served during the look, so that hardly any is left for the flip."""
        async with self._database.transaction(run.tenant) as session:
            await self._jobs.confirm(session, run)
            coverage = CoverageRows(session, run.tenant, task.base)
            since = await coverage.now()
            came = await coverage.served_since(look.since)
            if await coverage.missing_of(task.target.id, came):
                return replace(look, is_complete=False, has_all_points=False)
            points = await coverage.points(task.target.id, came)
        return replace(look, since=since, has_all_points=await self._are_there(task, points))

    async def _look_again_and_flip(
        self, session: AsyncSession, run: JobRun, task: Task, look: Look, level: Classification
    ) -> Look:
        """Look at what was served since, while nothing can be served any more; only then it is flipped.

        Every write to the base waits for this. What it reads grows with the documents that were served since
        the last look, a few milliseconds ago, and not with those that the base has; the vector store is asked
        only if there are any.
        """
        await self._jobs.confirm(session, run)
        base = await GenerationRows(session, run.tenant).hold_base(task.base)
        if base is None:
            raise BaseGone
        if level_at(base.classification) is not level:
            # Raised meanwhile: the model that is left may see that, the one to come was not asked for it.
            return replace(look, is_complete=False, has_all_points=False)
        coverage = CoverageRows(session, run.tenant, task.base)
        if came := await coverage.served_since(look.since):
            if await coverage.missing_of(task.target.id, came):
                return replace(look, is_complete=False, has_all_points=False)
            if not await self._are_there(task, await coverage.points(task.target.id, came)):
                return replace(look, has_all_points=False)
        await self._flip(session, run, task, base, look.documents)
        return look

    async def _are_there(self, task: Task, points: Sequence[PointId]) -> bool:
        """Whether the store has these points of the next generation."""
        for start in range(0, len(points), POINTS_PER_COUNT):
            asked = tuple(points[start : start + POINTS_PER_COUNT])
            selected = replace(task.target.selector(), ids=asked)
            if await self._vectors.count(task.target.space, selected) < len(asked):
                return False
        return True

    async def _flip(
        self, session: AsyncSession, run: JobRun, task: Task, base: KnowledgeBase, documents: int
    ) -> None:
        target = task.target
        generations = GenerationRows(session, run.tenant)
        await generations.change(base.vector_generation, state="retired", retired_at=func.now())
        await generations.change(target.id, state="serving", retired_at=None)
        await BaseRows(session, run.tenant).update(
            task.base,
            {
                "vector_generation": target.id,
                "vector_collection": target.space.name,
                "embedding_model": target.embedding_model,
                "dimensions": target.space.dimensions,
                "chunk_size": target.chunk_size,
                "chunk_overlap": target.chunk_overlap,
            },
        )
        await ReindexRows(session, run.tenant).change(
            run.job,
            status="completed",
            documents_total=documents,
            documents_done=documents,
            completed_at=func.now(),
        )
        done = {"documents_done": documents, "documents_total": documents}
        await self._jobs.complete(session, run, done)
        await self._audit.record(
            session,
            task.caller.actor,
            AuditAction.KNOWLEDGE_BASE_REINDEX_COMPLETE,
            tenant=run.tenant,
            resource=Resource("knowledge_base", str(task.base)),
            facts={
                "job": str(run.job),
                "from_generation": str(base.vector_generation),
                "generation": str(target.id),
                "embedding_model": target.embedding_model,
                "dimensions": target.space.dimensions,
                "documents": documents,
            },
        )

    async def _settle_average(self, run: JobRun, task: Task) -> None:
        """Weigh the generation with the average that it turned out to have, if that is another."""
        async with self._database.transaction(run.tenant) as session:
            progress = await self._jobs.confirm(session, run)
            rows = StatisticRows(session, run.tenant, task.target.id)
            averages = await rows.averages()
            average = averages.fixed
            if averages.measured is not None and has_drifted(average, averages.measured):
                average = averages.measured
                # Whoever writes with the former from here on has its document weighed again.
                await rows.set_average_length(average)
                await self._jobs.confirm(session, run, {"is_weighing": True})
            elif not progress.get("is_weighing"):
                return
        try:
            await self._weigh(run, task, average)
        except BaseException:
            # However it ends, also cancelled once the job was lost: what was written may be older than rows.
            with suppress(Unavailable):
                await finished(self._leave_to_another(run, task))
            raise

    async def _weigh(self, run: JobRun, task: Task, average: float) -> None:
        after: PointId | None = None
        while batch := await self._next(run, task, after):
            sparse = await asyncio.to_thread(weights, batch, average)
            await self._vectors.set_sparse(task.target.space, sparse)
            after = batch[-1].point
        async with self._database.transaction(run.tenant) as session:
            await self._jobs.confirm(session, run, {"is_weighing": False})

    async def _leave_to_another(self, run: JobRun, task: Task) -> None:
        async with self._database.transaction(run.tenant) as session:
            if not await self._jobs.holds(session, run):
                # What is searched by now may have another average than the one that was just written.
                parameters = {"base": str(task.base), "generation": str(task.target.id)}
                await self._jobs.create(session, run.tenant, JobId(uuid4()), REWEIGH, parameters)

    async def _next(self, run: JobRun, task: Task, after: PointId | None) -> Sequence[ChunkText]:
        async with self._database.transaction(run.tenant) as session:
            await self._jobs.confirm(session, run)
            return await ChunkRows(session, run.tenant).texts(task.target.id, None, after, CHUNKS_PER_BATCH)
