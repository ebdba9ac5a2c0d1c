"""Removes generations that nobody needs: of reindexes that came to nothing, and after the grace period.

From the commit that calls it `dropping` nothing is added to a generation; its row outlives its points.
"""

import time
from typing import Any
from uuid import UUID, uuid4

import structlog
from sqlalchemy.ext.asyncio import AsyncSession

from eai.audit.actions import AuditAction
from eai.audit.entries import SYSTEM, Resource
from eai.audit.service import Audit
from eai.ingestion.repository import generation_at, placement_of
from eai.kernel.ids import JobId, TenantId
from eai.knowledge.points import Points
from eai.knowledge.ports import Vectors
from eai.platform.database import Database
from eai.platform.jobs import JobRun, Jobs
from eai.reindex.repository import GenerationRows, stored_generation, tenants_with_retired_generations

DROP_GENERATION = "reindex.drop_generation"
CHUNKS_PER_STEP = 2_000

log = structlog.get_logger(__name__)


class Dropping:
    """Takes generations out of index and rows, and finds those whose time is over."""

    def __init__(
        self, database: Database, vectors: Vectors, jobs: Jobs, audit: Audit, *, grace_s: float
    ) -> None:
        self._database = database
        self._points = Points(vectors)
        self._jobs = jobs
        self._audit = audit
        self._grace_s = grace_s

    async def run(self, run: JobRun) -> None:
        """Remove points, then chunks, then the generation; harmless to repeat.

        Raises VectorStoreUnavailable, Fenced.
        """
        generation = generation_at(run.tenant, run.parameters["placement"])
        base = run.parameters["base"]
        await self._points.remove([generation])
        while await self._remove_chunks(run, generation.id):
            pass
        # What somebody was still writing when it began.
        await self._points.remove([generation])
        async with self._database.transaction(run.tenant) as session:
            await GenerationRows(session, run.tenant).delete(generation.id)
            await self._jobs.complete(session, run)
            await self._audit.record(
                session,
                SYSTEM,
                AuditAction.KNOWLEDGE_BASE_GENERATION_DROPPED,
                tenant=run.tenant,
                resource=Resource("knowledge_base", base),
                facts={"generation": str(generation.id)},
            )
        log.info("reindex.generation_dropped", generation=str(generation.id))

    async def drop_retired(self, tenant: TenantId) -> int:
        """Begin to drop what has been retired for the grace period; tells how many generations."""
        async with self._database.transaction(tenant) as session:
            retired = await GenerationRows(session, tenant).retired_for(self._grace_s)
            dropped = [await begin_drop(session, self._jobs, tenant, row.id, "retired") for row in retired]
        return sum(dropped)

    async def drop_due(self) -> None:
        """The same for every tenant that has something to drop; no other is visited."""
        for tenant in await tenants_with_retired_generations(self._database, self._grace_s):
            await self.drop_retired(tenant)

    async def _remove_chunks(self, run: JobRun, generation: UUID) -> int:
        async with self._database.transaction(run.tenant) as session:
            await self._jobs.confirm(session, run)
            removed = await GenerationRows(session, run.tenant).delete_chunks(generation, CHUNKS_PER_STEP)
            await self._jobs.confirm(session, run, is_further=removed > 0)
            return removed


class ReindexSweep:
    """What is looked for now and then, besides what is told. Running it in several processes is harmless."""

    def __init__(self, dropping: Dropping, *, interval_s: float) -> None:
        self._dropping = dropping
        self._interval_s = interval_s
        self._due_at = 0.0

    async def run_due(self) -> None:
        """Once per interval: drop what is over."""
        if time.monotonic() < self._due_at:
            return
        await self._dropping.drop_due()
        self._due_at = time.monotonic() + self._interval_s


async def begin_drop(
    session: AsyncSession, jobs: Jobs, tenant: TenantId, generation: UUID, state: str
) -> bool:
    """Let nothing be added to the generation and queue its removal; false if it is not in `state`."""
    rows = GenerationRows(session, tenant)
    row = await rows.hold(generation)
    if row is None or row.state != state:
        return False
    await rows.change(generation, state="dropping")
    parameters: dict[str, Any] = {
        "base": str(row.base_id),
        "placement": placement_of(stored_generation(row)),
    }
    await jobs.create(session, tenant, JobId(uuid4()), DROP_GENERATION, parameters)
    return True
