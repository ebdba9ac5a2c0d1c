"""Every query on reindexes, and on generations as a reindex makes, flips and drops them."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import (
    Select,
    delete,
    func,
    select,
    update,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from eai.kernel.ids import BaseId, GenerationId, JobId, TenantId
from eai.kernel.paging import PageRequest
from eai.knowledge.bases.handle import StoredGeneration
from eai.knowledge.models import Chunk, Generation, KnowledgeBase
from eai.knowledge.ports import SpaceId
from eai.platform.database import Database
from eai.platform.listing import part
from eai.reindex.models import ReindexJob

ACTIVE = ("queued", "running", "verifying")
_FRESH = {"populate_existing": True}
_RETIRED = "SELECT eai.tenants_with_retired_generations(make_interval(secs => %(grace_s)s))"


async def tenants_with_retired_generations(database: Database, grace_s: float) -> Sequence[TenantId]:
    """Tenants with a generation that has been retired for `grace_s`.

    A named cross-tenant step, run under the role `eai_sweeper`, that tells ids and nothing else. What it
    costs grows with what is due.
    """
    rows = await database.statement(_RETIRED, {"grace_s": grace_s}, is_repeatable=True)
    return [TenantId(tenant) for (tenant,) in rows]


class ReindexRows:
    """The reindexes of one tenant."""

    def __init__(self, session: AsyncSession, tenant: TenantId) -> None:
        self._session = session
        self._tenant = tenant

    async def insert(self, values: Mapping[str, Any]) -> None:
        """Add one."""
        await self._session.execute(insert(ReindexJob).values(tenant_id=self._tenant, **values))

    async def find(self, job: UUID, base: BaseId | None = None) -> ReindexJob | None:
        """The reindex of this id, in `base` if that is given."""
        statement = select(ReindexJob).where(ReindexJob.tenant_id == self._tenant, ReindexJob.id == job)
        if base is not None:
            statement = statement.where(ReindexJob.base_id == base)
        return await self._session.scalar(statement.execution_options(**_FRESH))

    async def active(self, base: BaseId) -> ReindexJob | None:
        """The one that has not ended, if there is one."""
        mine = (ReindexJob.tenant_id == self._tenant, ReindexJob.base_id == base)
        return await self._session.scalar(select(ReindexJob).where(*mine, ReindexJob.status.in_(ACTIVE)))

    async def page(self, base: BaseId, page: PageRequest) -> Sequence[ReindexJob]:
        """Those of a base, oldest first; one more than asked for when more follow."""
        mine = (ReindexJob.tenant_id == self._tenant, ReindexJob.base_id == base)
        return (await self._session.scalars(part(select(ReindexJob).where(*mine), ReindexJob, page))).all()

    async def change(self, job: UUID, **values: Any) -> None:
        """Change one."""
        await self._session.execute(
            update(ReindexJob)
            .where(ReindexJob.tenant_id == self._tenant, ReindexJob.id == job)
            .values(**values)
            .execution_options(synchronize_session=False)
        )

    async def count_done(self, job: JobId, documents: int) -> Mapping[str, int]:
        """Add to what is done; tells how far it is, as its job says it to who follows that.

        A document that was replaced meanwhile is done twice: there are never fewer than are done.
        """
        done = ReindexJob.documents_done + documents
        counted = await self._session.execute(
            update(ReindexJob)
            .where(ReindexJob.tenant_id == self._tenant, ReindexJob.id == job)
            .values(
                status="running",
                documents_done=done,
                documents_total=func.greatest(ReindexJob.documents_total, done),
            )
            .returning(ReindexJob.documents_done, ReindexJob.documents_total)
            .execution_options(synchronize_session=False)
        )
        return dict(counted.one()._mapping)  # noqa: SLF001 - the public way to a row's names


class GenerationRows:
    """The generations of one tenant, as a reindex makes, flips and drops them."""

    def __init__(self, session: AsyncSession, tenant: TenantId) -> None:
        self._session = session
        self._tenant = tenant

    async def find(self, generation: UUID) -> Generation | None:
        """The generation of this id."""
        return await self._session.scalar(self._one(generation), execution_options=_FRESH)

    async def is_built(self, generation: UUID) -> bool:
        """Whether a live base has it built."""
        statement = (
            select(Generation.state)
            .join(
                KnowledgeBase,
                (KnowledgeBase.tenant_id == Generation.tenant_id) & (KnowledgeBase.id == Generation.base_id),
            )
            .where(Generation.tenant_id == self._tenant, Generation.id == generation)
            .where(KnowledgeBase.deleting_since.is_(None))
        )
        return await self._session.scalar(statement) == "building"

    async def hold(self, generation: UUID) -> Generation | None:
        """The same, once nobody adds chunks to it, until the transaction ends."""
        return await self._session.scalar(self._one(generation).with_for_update(), execution_options=_FRESH)

    async def hold_base(self, base: BaseId) -> KnowledgeBase | None:
        """The live base, once no document of it is being served, until the transaction ends."""
        statement = select(KnowledgeBase).where(
            KnowledgeBase.tenant_id == self._tenant,
            KnowledgeBase.id == base,
            KnowledgeBase.deleting_since.is_(None),
        )
        return await self._session.scalar(statement.with_for_update(), execution_options=_FRESH)

    async def change(self, generation: UUID, **values: Any) -> None:
        """Change one."""
        await self._session.execute(
            update(Generation)
            .where(Generation.tenant_id == self._tenant, Generation.id == generation)
            .values(**values)
            .execution_options(synchronize_session=False)
        )

    async def retired_for(self, seconds: float) -> Sequence[Generation]:
        """Those whose grace period is over."""
        age = func.now() - func.make_interval(0, 0, 0, 0, 0, 0, seconds)
        statement = select(Generation).where(
            Generation.tenant_id == self._tenant,
            Generation.state == "retired",
            Generation.retired_at <= age,
        )
        return (await self._session.scalars(statement)).all()

    async def delete_chunks(self, generation: UUID, limit: int) -> int:
        """Remove up to `limit` chunks of a generation; tells how many."""
        mine = (Chunk.tenant_id == self._tenant, Chunk.generation == generation)
        some = select(Chunk.id).where(*mine).limit(limit)
        result = await self._session.execute(
            delete(Chunk)
            .where(Chunk.tenant_id == self._tenant, Chunk.id.in_(some))
            .execution_options(synchronize_session=False)
        )
        return int(getattr(result, "rowcount", 0))

    async def delete(self, generation: UUID) -> None:
        """Remove a generation that has no chunks, with its statistics."""
        mine = (Generation.tenant_id == self._tenant, Generation.id == generation)
        await self._session.execute(delete(Generation).where(*mine))

    def _one(self, generation: UUID) -> Select[Generation]:
        return select(Generation).where(Generation.tenant_id == self._tenant, Generation.id == generation)


def stored_generation(row: Generation) -> StoredGeneration:
    """Where the row's points are."""
    return StoredGeneration(
        TenantId(row.tenant_id), GenerationId(row.id), SpaceId(row.collection, row.dimensions)
    )
