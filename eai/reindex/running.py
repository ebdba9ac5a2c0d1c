"""The job of a reindex: built beside what is searched, looked at, and then searched instead."""

from collections.abc import Mapping
from uuid import UUID

from sqlalchemy import func
from sqlalchemy.ext.asyncio import AsyncSession

from eai.audit.actions import AuditAction
from eai.audit.entries import Resource
from eai.audit.service import Audit
from eai.gateway.calls import Operation
from eai.gateway.service import Gateway
from eai.ingestion.repository import generation_at, submitter_of
from eai.kernel.errors import EaiError
from eai.kernel.ids import TenantId
from eai.knowledge.bases.repository import BaseRows
from eai.knowledge.documents.span_rights import queue_recut
from eai.knowledge.points import Points
from eai.knowledge.ports import Vectors
from eai.platform.database import Database
from eai.platform.jobs import JobRun, Jobs
from eai.reindex.building import Building
from eai.reindex.coverage_rows import CoverageRows
from eai.reindex.dropping import begin_drop
from eai.reindex.flipping import Flipping
from eai.reindex.models import ReindexJob
from eai.reindex.repository import GenerationRows, ReindexRows
from eai.reindex.task import BaseGone, Task, highest_level, present, task_of

EMBEDDINGS_REINDEX = "embeddings_reindex"


class Reindexing:
    """One attempt after the other, until the base is searched in its next generation."""

    def __init__(
        self, database: Database, gateway: Gateway, vectors: Vectors, jobs: Jobs, audit: Audit
    ) -> None:
        self._database = database
        self._gateway = gateway
        self._points = Points(vectors)
        self._jobs = jobs
        self._audit = audit
        self._building = Building(database, gateway, vectors, jobs, audit)
        self._flipping = Flipping(database, gateway, vectors, jobs, audit)

    async def run(self, run: JobRun) -> None:
        """Go on from what is there. Raises refusals, ReindexIncomplete, Fenced, Unavailable."""
        try:
            task = await self._begin(run)
            await self._building.clear(run, task)
            await self._building.catch_up(run, task)
            while not await self._flipping.flip(run, task):
                await self._building.catch_up(run, task)
        except BaseGone:
            await self._leave_nothing(run)

    async def give_up(self, run: JobRun, error: EaiError) -> None:
        """Keep searching what was searched, and drop what was built."""
        async with self._database.transaction(run.tenant) as session:
            await self._jobs.fail(session, run, error)
            row = await ReindexRows(session, run.tenant).find(run.job)
            if row is None:
                return
            told = {"code": error.code, "details": dict(error.details)}
            await abandon(session, self._jobs, row, status="failed", error=told)
            await self._audit.record(
                session,
                submitter_of(run.tenant, run.parameters).actor,
                AuditAction.KNOWLEDGE_BASE_REINDEX_FAILED,
                tenant=run.tenant,
                resource=Resource("knowledge_base", str(row.base_id)),
                facts={"job": str(run.job), "code": error.code},
            )

    async def _begin(self, run: JobRun) -> Task:
        """What there is to do, if the model may see all of it: refused before a text is sent."""
        async with self._database.transaction(run.tenant) as session:
            told = await self._jobs.confirm(session, run)
            task = await task_of(session, run)
            done = await ReindexRows(session, run.tenant).count_done(run.job, 0)
            await self._jobs.confirm(session, run, {"stage": "building", **done})
            base = (await present(session, run, task.base)).base
            if task.is_rollback and "stage" not in told:
                await self._queue_recuts(session, run, task)
            level = await highest_level(session, run, base)
        await self._gateway.check(task.caller, task.target.embedding_model, Operation.REINDEX, level)
        return task

    async def _queue_recuts(self, session: AsyncSession, run: JobRun, task: Task) -> None:
        """Have cut what rights have come to divide while the generation was retired.

        Such rights have only what is searched cut, and what is built: those that come from here on see that
        this is. Until then what they divide is hidden whole.
        """
        for document in await CoverageRows(session, run.tenant, task.base).divided(task.target.id):
            asker, labels = run.parameters["submitter"], document.labels
            await queue_recut(session, self._jobs, run.tenant, task.base, document, asker, labels)

    async def _leave_nothing(self, run: JobRun) -> None:
        """Abandon the job of a base that is gone; an attempt that died may have written points since.

        Where the base lives, nothing is being built because this attempt has lost its job: another one has
        flipped what was built, or somebody cancelled it. It may be searched by now. Raises Fenced.
        """
        async with self._database.transaction(run.tenant) as session:
            await self._jobs.confirm(session, run)
            is_gone = await BaseRows(session, run.tenant).find(run.parameters["base"]) is None
        if is_gone:
            await self._points.remove([generation_at(run.tenant, run.parameters["placement"])])
        async with self._database.transaction(run.tenant) as session:
            await self._jobs.abandon(session, run)


async def abandon(
    session: AsyncSession,
    jobs: Jobs,
    row: ReindexJob,
    *,
    status: str,
    error: Mapping[str, object] | None = None,
) -> None:
    """End a reindex without its effect. What was searched once stays as long as it would have."""
    tenant = TenantId(row.tenant_id)
    target = UUID(row.target["generation"])
    await ReindexRows(session, tenant).change(row.id, status=status, error=error, completed_at=func.now())
    if row.rollback_of is not None:
        generations = GenerationRows(session, tenant)
        await generations.hold(target)
        await generations.change(target, state="retired")
        return
    await begin_drop(session, jobs, tenant, target, "building")
