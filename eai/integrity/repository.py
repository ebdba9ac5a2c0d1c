"""The statements of an examination."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.rights_class import generation_key
from eai.integrity.check import Unreadable
from eai.kernel.ids import BaseId, GenerationId, TenantId
from eai.knowledge.ports import Selector, SpaceId

DATA_EXCEPTION = "22"


@dataclass(frozen=True, slots=True)
class GenerationToExamine:
    """A generation whose points must be those of its rows."""

    tenant: TenantId
    id: GenerationId
    base: BaseId
    space: SpaceId
    state: str
    average_length: float
    is_base_deleting: bool

    @property
    def is_counted(self) -> bool:
        """Whether its statistics are those of its chunks: where it is searched, or may be again."""
        return self.state in {"serving", "retired"} and not self.is_base_deleting

    @property
    def key(self) -> str:
        """What its points carry."""
        return generation_key(self.tenant, self.id)

    def selector(self, ids: Sequence[UUID] | None = None) -> Selector:
        """Its points: all, or those of these ids."""
        chosen: Any = None if ids is None else tuple(ids)
        return Selector(self.key, ids=chosen)


@dataclass(frozen=True, slots=True)
class Difference:
    """Where a point is not what its row says: where to find it, and what it claims of its document."""

    generation: GenerationToExamine
    point: UUID
    document: UUID | None


class ChunkPlace(NamedTuple):
    """A chunk row as its point should repeat it; `is_kept` while its document lives and serves it."""

    id: UUID
    generation: UUID
    document: UUID
    version: UUID
    class_number: int
    is_kept: bool


class ChunkMatter(NamedTuple):
    """What a point is made of."""

    place: ChunkPlace
    embedding: bytes
    content: str
    language: str


class ExaminationRows:
    """Reads of one tenant."""

    def __init__(self, session: AsyncSession, tenant: TenantId) -> None:
        self._session = session
        self._tenant = tenant

    async def broken_rule(self, rule: str) -> list[str]:
        """The ids that a rule's statement finds. Raises Unreadable for values that no statement can read."""
        try:
            rows = await self._session.execute(text(rule), {"tenant": self._tenant})
        except DBAPIError as error:
            if str(getattr(error.orig, "sqlstate", "")).startswith(DATA_EXCEPTION):
                raise Unreadable from error
            raise
        return [str(found) for (found,) in rows]

    async def generations(self) -> list[GenerationToExamine]:
        """Every generation of the tenant."""
        rows = await self._session.execute(_GENERATIONS, {"tenant": self._tenant})
        return [
            GenerationToExamine(
                tenant=self._tenant,
                id=GenerationId(row.id),
                base=BaseId(row.base_id),
                space=SpaceId(row.collection, row.dimensions),
                state=row.state,
                average_length=row.average_length,
                is_base_deleting=row.is_base_deleting,
            )
            for row in rows
        ]

    async def count(self, generation: GenerationId) -> int:
        """How many chunk rows a generation has."""
        values = {"tenant": self._tenant, "generation": generation}
        return int((await self._session.execute(_COUNT, values)).scalar_one())

    async def places(self, ids: Collection[UUID]) -> Mapping[UUID, ChunkPlace]:
        """Those of these chunks that there are."""
        rows = await self._session.execute(_PLACES, {"tenant": self._tenant, "ids": list(ids)})
        return {row[0]: ChunkPlace._make(row) for row in rows}

    async def ids_after(self, generation: GenerationId, after: UUID | None, limit: int) -> list[UUID]:
        """The next chunk ids of a generation."""
        values = {"tenant": self._tenant, "generation": generation, "limit": limit}
        rows = await self._session.execute(_IDS, values | {"after": after or UUID(int=0)})
        return [found for (found,) in rows]

    async def matter(self, ids: Collection[UUID]) -> dict[UUID, ChunkMatter]:
        """What the points of these chunks are made of."""
        rows = await self._session.execute(_MATTER, {"tenant": self._tenant, "ids": list(ids)})
        return {row[0]: ChunkMatter(ChunkPlace(*row[:6]), bytes(row[6]), row[7], row[8]) for row in rows}

    async def documents_under_way(self) -> frozenset[UUID]:
        """Documents that somebody is working on, by a job that has begun or waits."""
        rows = await self._session.execute(_UNDER_WAY, {"tenant": self._tenant})
        return frozenset(found for (found,) in rows)

    async def bases_under_way(self) -> frozenset[UUID]:
        """Bases on which somebody works as a whole, but for the weights of their terms."""
        rows = await self._session.execute(_BASES_UNDER_WAY, {"tenant": self._tenant})
        return frozenset(found for (found,) in rows)

    async def is_reweighing(self, generation: GenerationId) -> bool:
        """Whether the weights of the generation's terms are being made anew."""
        values = {"tenant": self._tenant, "generation": str(generation)}
        return bool((await self._session.execute(_REWEIGHING, values)).scalar_one())

    async def deleted(self, documents: Collection[UUID]) -> frozenset[UUID]:
        """Those of these documents that a receipt calls deleted."""
        values = {"tenant": self._tenant, "ids": list(documents)}
        return frozenset(found for (found,) in await self._session.execute(_DELETED, values))

    async def classes(self) -> Sequence[Any]:
        """Every rights class of the tenant."""
        return (await self._session.execute(_CLASSES, {"tenant": self._tenant})).all()

    async def keys_being_written(self) -> frozenset[UUID]:
        """Generations that jobs under way write to, also of bases that are gone."""
        rows = await self._session.execute(_WRITTEN, {"tenant": self._tenant})
        return frozenset(found for (found,) in rows)

    async def statistics(self, generation: GenerationId) -> AsyncIterator[Any]:
        """What is stated of terms and languages, and every chunk that counts: one snapshot, in pieces."""
        values = {"tenant": self._tenant, "generation": generation}
        async for row in await self._session.stream(_STATISTICS, values):
            yield row

    async def examined(self) -> Mapping[str, int]:
        """How much there is to look at."""
        row = (await self._session.execute(_EXAMINED, {"tenant": self._tenant})).one()
        return dict(row._mapping)  # noqa: SLF001 - the public way to a row's names


_GENERATIONS = text("""
    SELECT g.id, g.base_id, g.collection, g.dimensions, g.state, g.average_length,
           b.deleting_since IS NOT NULL AS is_base_deleting
      FROM eai.kb_generations g
      JOIN eai.knowledge_bases b ON b.tenant_id = g.tenant_id AND b.id = g.base_id
     WHERE g.tenant_id = :tenant ORDER BY g.id""")
_COUNT = text("SELECT count(*) FROM eai.kb_chunks WHERE tenant_id = :tenant AND generation = :generation")
_PLACE = """c.id, c.generation, c.document_id, c.version_id, c.class_number,
           d.deleting_since IS NULL AND b.deleting_since IS NULL
           AND d.serving_version_id IS NOT DISTINCT FROM c.version_id"""
_OF_CHUNKS = """
      FROM eai.kb_chunks c
      JOIN eai.kb_documents d ON d.tenant_id = c.tenant_id AND d.id = c.document_id
      JOIN eai.knowledge_bases b ON b.tenant_id = c.tenant_id AND b.id = d.base_id
     WHERE c.tenant_id = :tenant AND c.id = ANY (:ids)"""
_PLACES_OF = f"SELECT {_PLACE} {_OF_CHUNKS}"
_PLACES = text(_PLACES_OF)
_MATTER_OF = f"SELECT {_PLACE}, c.embedding, c.content, c.language {_OF_CHUNKS}"
_MATTER = text(_MATTER_OF)
_IDS = text("""
    SELECT id FROM eai.kb_chunks WHERE tenant_id = :tenant AND generation = :generation AND id > :after
     ORDER BY id LIMIT :limit""")
_UNDER_WAY = text("""
    SELECT (parameters ->> 'document')::uuid FROM eai.jobs
     WHERE tenant_id = :tenant AND state IN ('queued', 'running')
       AND parameters ->> 'document' IS NOT NULL""")
_BASES_UNDER_WAY = text("""
    SELECT (parameters ->> 'base')::uuid FROM eai.jobs
     WHERE tenant_id = :tenant AND state IN ('queued', 'running') AND name <> 'knowledge.reweigh'
       AND parameters ->> 'document' IS NULL AND parameters ->> 'base' IS NOT NULL""")
_REWEIGHING = text("""
    SELECT EXISTS (SELECT FROM eai.jobs
                    WHERE tenant_id = :tenant AND state IN ('queued', 'running')
                      AND name = 'knowledge.reweigh' AND parameters ->> 'generation' = :generation)""")
_DELETED = text("""
    SELECT id FROM eai.deletion_receipts
     WHERE tenant_id = :tenant AND status = 'deleted' AND id = ANY (:ids)""")
_CLASSES = text("""
    SELECT base_id, number, digest, readers, chunk_readers, classification, chunk_classification,
           source_connector
      FROM eai.kb_rights_classes WHERE tenant_id = :tenant""")
_WRITTEN = text("""
    SELECT DISTINCT place.generation::uuid
      FROM eai.jobs j
     CROSS JOIN LATERAL (VALUES (j.parameters -> 'placement' ->> 'generation'),
                                (j.progress -> 'placement' ->> 'generation'),
                                (j.progress -> 'beside' ->> 'generation'),
                                (j.parameters ->> 'generation')) AS place (generation)
     WHERE j.tenant_id = :tenant AND j.state IN ('queued', 'running') AND place.generation IS NOT NULL""")
_STATISTICS = text("""
    SELECT 'term' AS what, t.class_number, NULL AS language, t.term AS said,
           t.document_frequency::bigint AS chunks, 0::bigint AS tokens
      FROM eai.kb_term_statistics t WHERE t.tenant_id = :tenant AND t.generation = :generation
     UNION ALL
    SELECT 'language', l.class_number, l.language, NULL, l.chunks, l.tokens
      FROM eai.kb_language_statistics l WHERE l.tenant_id = :tenant AND l.generation = :generation
     UNION ALL
    SELECT 'chunk', c.class_number, c.language, c.content, 1, 0
      FROM eai.kb_chunks c
      JOIN eai.kb_documents d ON d.tenant_id = c.tenant_id AND d.id = c.document_id
       AND d.serving_version_id = c.version_id
     WHERE c.tenant_id = :tenant AND c.generation = :generation
       AND c.readers IS NULL AND d.readers IS NULL""")
_EXAMINED = text("""
    SELECT (SELECT count(*) FROM eai.knowledge_bases WHERE tenant_id = :tenant) AS bases,
           (SELECT count(*) FROM eai.kb_documents WHERE tenant_id = :tenant) AS documents,
           (SELECT count(*) FROM eai.kb_chunks WHERE tenant_id = :tenant) AS chunks,
           (SELECT COALESCE(max(seq), 0) FROM eai.audit_heads WHERE tenant_id = :tenant) AS audit_events""")
