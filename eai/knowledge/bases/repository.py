"""Every query on bases and their access lists."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, delete, func, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.acl import Entry, Permission
from eai.access.subject import Subject
from eai.kernel.ids import BaseId, GenerationId, TenantId
from eai.kernel.paging import PageRequest
from eai.knowledge.bases.handle import BuildingGeneration, StoredGeneration
from eai.knowledge.bases.naming import read_reference
from eai.knowledge.models import Chunk, Generation, KnowledgeBase, KnowledgeBaseEntry, KnowledgeDocument
from eai.knowledge.ports import SpaceId
from eai.knowledge.visibility import visible_bases
from eai.platform.listing import part


@dataclass(frozen=True, slots=True)
class Counts:
    """What a base holds: live documents, and chunks that answer."""

    documents: int
    chunks: int


class BaseRows:
    """The bases of one tenant."""

    def __init__(self, session: AsyncSession, tenant: TenantId) -> None:
        self._session = session
        self._tenant = tenant

    async def find(
        self, reference: str, *visible: ColumnElement[bool], lock: bool = False
    ) -> KnowledgeBase | None:
        """The live base of this id or alias, where `visible` holds."""
        wanted = read_reference(reference)
        if wanted is None:
            return None
        column = KnowledgeBase.id if isinstance(wanted, UUID) else KnowledgeBase.alias
        statement = select(KnowledgeBase).where(
            KnowledgeBase.tenant_id == self._tenant,
            column == wanted,
            KnowledgeBase.deleting_since.is_(None),
            *visible,
        )
        if lock:
            # Leaves room for rows that refer to the base; those who change it take turns.
            statement = statement.with_for_update(key_share=True)
        return await self._session.scalar(statement.execution_options(populate_existing=True))

    async def average_length(self, base: KnowledgeBase) -> float:
        """The average length that the serving generation's weights are made with."""
        statement = select(Generation.average_length).where(
            Generation.tenant_id == self._tenant, Generation.id == base.vector_generation
        )
        return (await self._session.scalars(statement)).one()

    async def generations(self, base: BaseId) -> list[StoredGeneration]:
        """Every generation of a base, searched or not, also of one that is being deleted."""
        rows = await self._session.scalars(
            select(Generation)
            .where(Generation.tenant_id == self._tenant, Generation.base_id == base)
            .order_by(Generation.id)
        )
        return [
            StoredGeneration(self._tenant, GenerationId(row.id), SpaceId(row.collection, row.dimensions))
            for row in rows
        ]

    async def building(self, base: BaseId) -> BuildingGeneration | None:
        """The generation that a reindex is making, if one is."""
        row = await self._session.scalar(
            select(Generation)
            .where(Generation.tenant_id == self._tenant, Generation.base_id == base)
            .where(Generation.state == "building")
            .execution_options(populate_existing=True)
        )
        if row is None or row.chunk_size is None or row.chunk_overlap is None:
            return None
        return BuildingGeneration(
            self._tenant,
            GenerationId(row.id),
            SpaceId(row.collection, row.dimensions),
            row.average_length,
            row.embedding_model,
            row.chunk_size,
            row.chunk_overlap,
        )

    async def hold_still(self, base: BaseId) -> None:
        """Have the same generation be searched until the transaction ends; many may hold it so at once."""
        held = select(KnowledgeBase.id).where(
            KnowledgeBase.tenant_id == self._tenant, KnowledgeBase.id == base
        )
        await self._session.execute(held.with_for_update(read=True, key_share=True))

    async def open_generations(self, base: BaseId) -> Collection[GenerationId]:
        """The generations that chunks are added to: the one that is searched, and one that is built."""
        rows = await self._session.scalars(
            select(Generation.id)
            .where(Generation.tenant_id == self._tenant, Generation.base_id == base)
            .where(Generation.state.in_(("serving", "building")))
        )
        return {GenerationId(row) for row in rows}

    async def held_state(self, generation: GenerationId) -> str | None:
        """Its state. Until the transaction ends it is not dropped; None where it has been."""
        held = select(Generation.state).where(
            Generation.tenant_id == self._tenant, Generation.id == generation
        )
        return await self._session.scalar(held.with_for_update(read=True, key_share=True))

    async def entries(self, base: BaseId) -> list[Entry]:
        """The access list, in its order."""
        return (await self.entries_by_base([base]))[base]

    async def entries_by_base(self, bases: Collection[UUID]) -> Mapping[UUID, list[Entry]]:
        """The access lists of several bases."""
        rows = await self._session.scalars(
            select(KnowledgeBaseEntry)
            .where(KnowledgeBaseEntry.tenant_id == self._tenant, KnowledgeBaseEntry.base_id.in_(bases))
            .order_by(KnowledgeBaseEntry.base_id, KnowledgeBaseEntry.position)
            .execution_options(populate_existing=True)
        )
        lists: dict[UUID, list[Entry]] = {base: [] for base in bases}
        for row in rows:
            effect: Any = row.effect
            lists[row.base_id].append(Entry(row.principal, Permission(row.permission), effect))
        return lists

    async def page(self, subject: Subject, page: PageRequest) -> Sequence[KnowledgeBase]:
        """Bases that `subject` sees, oldest first; one more than asked for when more follow."""
        statement = select(KnowledgeBase).where(
            KnowledgeBase.tenant_id == self._tenant, visible_bases(subject)
        )
        return (await self._session.scalars(part(statement, KnowledgeBase, page))).all()

    async def sees(self, subject: Subject, alias: str) -> bool:
        """Whether `subject` sees a base of this alias."""
        found = select(KnowledgeBase.id).where(
            KnowledgeBase.tenant_id == self._tenant, KnowledgeBase.alias == alias, visible_bases(subject)
        )
        return await self._session.scalar(found) is not None

    async def insert(self, values: Mapping[str, Any]) -> bool:
        """Add a base; false when its id or alias is taken."""
        statement = insert(KnowledgeBase).values(tenant_id=self._tenant, **values)
        inserted = await self._session.scalars(statement.on_conflict_do_nothing().returning(KnowledgeBase.id))
        return inserted.one_or_none() is not None

    async def insert_generation(self, base: BaseId, values: Mapping[str, Any]) -> None:
        """Add a generation of a base."""
        await self._session.execute(insert(Generation).values(tenant_id=self._tenant, base_id=base, **values))

    async def replace_entries(self, base: BaseId, entries: Iterable[Entry]) -> None:
        """Make `entries` the whole access list."""
        mine = (KnowledgeBaseEntry.tenant_id == self._tenant, KnowledgeBaseEntry.base_id == base)
        await self._session.execute(delete(KnowledgeBaseEntry).where(*mine))
        rows = [
            {
                "tenant_id": self._tenant,
                "base_id": base,
                "position": position,
                "principal": entry.principal,
                "permission": entry.permission.value,
                "effect": entry.effect,
            }
            for position, entry in enumerate(entries)
        ]
        if rows:
            await self._session.execute(insert(KnowledgeBaseEntry), rows)

    async def update(self, base: BaseId, values: Mapping[str, Any]) -> None:
        """Change a base's row and raise its revision."""
        await self._session.execute(
            update(KnowledgeBase)
            .where(KnowledgeBase.tenant_id == self._tenant, KnowledgeBase.id == base)
            .values(revision=KnowledgeBase.revision + 1, **values)
            .execution_options(synchronize_session=False)
        )

    async def delete(self, base: BaseId) -> None:
        """Remove a base that has no documents and no chunks, with all that belongs to it."""
        generations = (Generation.tenant_id == self._tenant, Generation.base_id == base)
        await self._session.execute(delete(Generation).where(*generations))
        mine = (KnowledgeBase.tenant_id == self._tenant, KnowledgeBase.id == base)
        await self._session.execute(delete(KnowledgeBase).where(*mine))

    async def counts(self, bases: Collection[UUID]) -> Mapping[UUID, Counts]:
        """What each of `bases` holds."""
        counted = dict.fromkeys(bases, Counts(0, 0))
        if not bases:
            return counted
        documents = await self._grouped(
            select(KnowledgeDocument.base_id, func.count())
            .where(KnowledgeDocument.tenant_id == self._tenant, KnowledgeDocument.base_id.in_(bases))
            .where(KnowledgeDocument.deleting_since.is_(None))
            .group_by(KnowledgeDocument.base_id)
        )
        chunks = await self._grouped(
            select(KnowledgeBase.id, func.count())
            .join(
                Chunk,
                (Chunk.tenant_id == KnowledgeBase.tenant_id)
                & (Chunk.generation == KnowledgeBase.vector_generation),
            )
            .join(
                KnowledgeDocument,
                (KnowledgeDocument.tenant_id == Chunk.tenant_id)
                & (KnowledgeDocument.id == Chunk.document_id)
                & (KnowledgeDocument.serving_version_id == Chunk.version_id)
                & KnowledgeDocument.deleting_since.is_(None),
            )
            .where(KnowledgeBase.tenant_id == self._tenant, KnowledgeBase.id.in_(bases))
            .group_by(KnowledgeBase.id)
        )
        return {base: Counts(documents.get(base, 0), chunks.get(base, 0)) for base in counted}

    async def begin_content_epoch(self, base: BaseId) -> None:
        """Tell whoever keeps answers that questions to this base find something else by now.

        Changes of documents and rights tell it themselves; this is for what changed in the index alone, or in
        chunks that were removed or added.
        """
        await self._session.execute(select(func.eai.begin_content_epoch(self._tenant, base)))

    async def _grouped(self, statement: Select[UUID, int]) -> dict[UUID, int]:
        return dict((await self._session.execute(statement)).all())
