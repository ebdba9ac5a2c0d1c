"""What a generation has of the documents that a base serves, and what it still lacks."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import ARRAY, ColumnElement, Uuid, any_, exists, func, literal, select, text, tuple_
from sqlalchemy.ext.asyncio import AsyncSession

from eai.kernel.ids import BaseId, DocumentId, GenerationId, PointId, TenantId, VersionId
from eai.knowledge.chunks.spans import Strictest, spans_from_rows
from eai.knowledge.documents.drafts import SpanRights
from eai.knowledge.lexical import Language
from eai.knowledge.models import Chunk, DocumentVersion, KnowledgeBase, KnowledgeDocument

_FRESH = {"populate_existing": True}
_PAGE = 256


class Place(NamedTuple):
    """Where a document stands in the order in which a base is gone through."""

    created_at: datetime
    document: UUID


@dataclass(frozen=True, slots=True)
class Missing:
    """A served version that a generation has no chunk of; `length` is that of its text in bytes."""

    place: Place
    document: DocumentId
    version: VersionId
    length: int


class SpansAndLanguage(NamedTuple):
    """What a version says of its parts, and the language it is written in."""

    spans: Sequence[SpanRights]
    language: Language


@dataclass(frozen=True, slots=True)
class RightsNow:
    """What decides a text's level: its spans, and the ranks of its base, its document and what DLP found."""

    base: int
    document: int | None
    found: int | None
    spans: Sequence[SpanRights]


class CoverageRows:
    """What a generation has of the documents that a base serves."""

    def __init__(self, session: AsyncSession, tenant: TenantId, base: BaseId) -> None:
        self._session = session
        self._tenant = tenant
        self._base = base
        self._served = (
            KnowledgeDocument.tenant_id == tenant,
            KnowledgeDocument.base_id == base,
            KnowledgeDocument.deleting_since.is_(None),
            KnowledgeDocument.serving_version_id.is_not(None),
        )

    async def documents(self) -> int:
        """How many documents are served."""
        return int(await self._session.scalar(select(func.count()).where(*self._served)) or 0)

    async def now(self) -> str:
        """Which transactions have ended; see `served_since`."""
        return str(await self._session.scalar(text(_NOW)))

    async def served_since(self, since: str) -> Collection[DocumentId]:
        """The documents that are served and were not, or in another version, to whoever looked at `since`.

        It takes as long as those ask for that were served since the oldest transaction that went on then,
        however many the base has. By the clock none would be safe to pass over: a transaction carries the
        time of its begin, and may commit long after a look that was later.
        """
        statement = select(KnowledgeDocument.id).where(*self._served, text(_IS_NEWER))
        return [DocumentId(each) for each in await self._session.scalars(statement, {"since": since})]

    async def highest_level(self) -> int | None:
        """The highest level that a served document or a part of one sets itself."""
        own = select(func.max(KnowledgeDocument.classification)).where(*self._served)
        # In this form the few chunks that have a level are found through an index of theirs.
        parts = (
            select(Chunk.classification)
            .join(KnowledgeDocument, _is_served_chunk())
            .where(*self._served, Chunk.base_id == self._base, Chunk.classification.is_not(None))
            .order_by(Chunk.classification.desc())
            .limit(1)
        )
        levels = [await self._session.scalar(own), await self._session.scalar(parts)]
        return max((level for level in levels if level is not None), default=None)

    async def missing(
        self, generation: GenerationId, after: Place | None = None, limit: int = 1
    ) -> list[Missing]:
        """The next served versions that the generation has no chunk of, in the order of `Place`.

        It may be fewer than `limit` with more to come; none is the end.
        """
        # Page by page: asked for all at once, the planner compares every document with every chunk.
        while page := await self.page(after):
            after = page[-1]
            if found := await self.missing_of(generation, [each.document for each in page], limit):
                return found
        return []

    async def missing_of(
        self, generation: GenerationId, documents: Collection[UUID], limit: int = 1
    ) -> list[Missing]:
        """Those among these documents, in the same order."""
        statement = (
            select(
                KnowledgeDocument.created_at,
                KnowledgeDocument.id,
                DocumentVersion.id,
                func.coalesce(func.octet_length(DocumentVersion.content), 0),
            )
            .join(
                DocumentVersion,
                (DocumentVersion.tenant_id == KnowledgeDocument.tenant_id)
                & (DocumentVersion.id == KnowledgeDocument.serving_version_id),
            )
            .where(*self._served, _is_one_of(documents))
            .where(~exists().where(_is_served_chunk(), Chunk.generation == generation))
        )
        ordered = statement.order_by(KnowledgeDocument.created_at, KnowledgeDocument.id).limit(limit)
        return [
            Missing(Place(created_at, document), DocumentId(document), VersionId(version), length)
            for created_at, document, version, length in await self._session.execute(ordered)
        ]

    async def page(self, after: Place | None, until: str | None = None) -> Sequence[Place]:
        """The next served documents, a few hundred of them; none is the end.

        With `until`, which `now` told, it leaves out those that `served_since` tells of.
        """
        place = (KnowledgeDocument.created_at, KnowledgeDocument.id)
        statement = select(*place).where(*self._served)
        if after is not None:
            statement = statement.where(tuple_(*place) > tuple_(*after))
        if until is not None:
            statement = statement.where(text(_IS_OLDER).bindparams(since=until))
        rows = await self._session.execute(statement.order_by(*place).limit(_PAGE))
        return [Place(created_at, document) for created_at, document in rows]

    async def chunks(self, generation: GenerationId, documents: Collection[UUID]) -> int:
        """How many chunks the generation has of the served versions of these documents."""
        statement = (
            select(func.count())
            .select_from(KnowledgeDocument)
            .join(Chunk, _is_served_chunk())
            .where(*self._served, Chunk.generation == generation, _is_one_of(documents))
        )
        return int(await self._session.scalar(statement) or 0)

    async def points(self, generation: GenerationId, documents: Collection[UUID]) -> Sequence[PointId]:
        """The points that the generation should have of the served versions of these documents."""
        statement = (
            select(Chunk.id)
            .join(KnowledgeDocument, _is_served_chunk())
            .where(*self._served, Chunk.generation == generation, _is_one_of(documents))
        )
        return [PointId(each) for each in await self._session.scalars(statement)]

    async def stored_chunks(
        self, generation: GenerationId, missing: Collection[Missing]
    ) -> Mapping[VersionId, Sequence[tuple[int, int, str]]]:
        """Start, end and text of each chunk that a generation has of these versions, in reading order."""
        rows = await self._session.execute(
            select(Chunk.version_id, Chunk.start_offset, Chunk.end_offset, Chunk.content)
            .where(Chunk.tenant_id == self._tenant, Chunk.generation == generation)
            .where(Chunk.document_id.in_([each.document for each in missing]))
            .where(Chunk.version_id.in_([each.version for each in missing]))
            .order_by(Chunk.version_id, Chunk.ordinal)
        )
        chunks: dict[VersionId, list[tuple[int, int, str]]] = defaultdict(list)
        for version, start, end, content in rows:
            chunks[VersionId(version)].append((start, end, content))
        return chunks

    async def stored_versions(
        self, generation: GenerationId, versions: Collection[VersionId]
    ) -> Collection[UUID]:
        """Those of these versions that the generation has chunks of."""
        statement = select(Chunk.version_id).where(
            Chunk.tenant_id == self._tenant,
            Chunk.generation == generation,
            Chunk.version_id.in_(versions),
        )
        return set(await self._session.scalars(statement.distinct()))

    async def texts(self, missing: Collection[Missing]) -> Mapping[VersionId, str]:
        """What these versions say."""
        rows = await self._session.execute(
            select(DocumentVersion.id, DocumentVersion.content).where(
                DocumentVersion.tenant_id == self._tenant,
                DocumentVersion.id.in_([each.version for each in missing]),
            )
        )
        return {VersionId(version): content or "" for version, content in rows}

    async def span_rights(self, versions: Collection[VersionId]) -> Mapping[VersionId, SpansAndLanguage]:
        """The stricter rights of parts of these versions, and the language of each."""
        rows = await self._session.execute(
            select(DocumentVersion.id, DocumentVersion.chunk_rights, DocumentVersion.language).where(
                DocumentVersion.tenant_id == self._tenant,
                DocumentVersion.id.in_(versions),
                DocumentVersion.language.is_not(None),
            )
        )
        return {
            VersionId(version): SpansAndLanguage(spans_from_rows(rights), Language(str(language)))
            for version, rights, language in rows
        }

    async def divided(self, generation: GenerationId) -> Sequence[KnowledgeDocument]:
        """The served documents of which a chunk of the generation has two kinds of rights within."""
        has_parts = func.jsonb_array_length(DocumentVersion.chunk_rights) > 0
        rows = await self._session.execute(
            select(KnowledgeDocument, DocumentVersion.chunk_rights, Chunk.start_offset, Chunk.end_offset)
            .join(Chunk, _is_served_chunk())
            .join(
                DocumentVersion,
                (DocumentVersion.tenant_id == Chunk.tenant_id) & (DocumentVersion.id == Chunk.version_id),
            )
            .where(*self._served, Chunk.generation == generation, has_parts)
        )
        found: dict[UUID, KnowledgeDocument] = {}
        for document, rights, start, end in rows:
            if document.id not in found and Strictest(spans_from_rows(rights)).divides(start, end):
                found[document.id] = document
        return list(found.values())

    async def rights_now(self, versions: Collection[VersionId]) -> Mapping[VersionId, RightsNow]:
        """What decides the level of these versions now, as far as they are there."""
        rows = await self._session.execute(
            select(
                DocumentVersion.id,
                KnowledgeBase.classification,
                KnowledgeDocument.classification,
                func.greatest(KnowledgeDocument.text_level, KnowledgeDocument.field_level),
                DocumentVersion.chunk_rights,
            )
            .join(
                KnowledgeDocument,
                (KnowledgeDocument.tenant_id == DocumentVersion.tenant_id)
                & (KnowledgeDocument.id == DocumentVersion.document_id),
            )
            .join(
                KnowledgeBase,
                (KnowledgeBase.tenant_id == KnowledgeDocument.tenant_id)
                & (KnowledgeBase.id == KnowledgeDocument.base_id),
            )
            .where(DocumentVersion.tenant_id == self._tenant, DocumentVersion.id.in_(versions))
        )
        return {
            VersionId(version): RightsNow(base, document, found, spans_from_rows(spans))
            for version, base, document, found, spans in rows
        }

    async def find_documents(self, documents: Collection[DocumentId]) -> Mapping[UUID, KnowledgeDocument]:
        """Those of these documents that are served."""
        statement = select(KnowledgeDocument).where(*self._served, KnowledgeDocument.id.in_(documents))
        return {row.id: row for row in await self._session.scalars(statement, execution_options=_FRESH)}

    async def hold_documents(self, documents: Collection[DocumentId]) -> Mapping[UUID, KnowledgeDocument]:
        """Those of these documents that are served, held until the transaction ends."""
        statement = (
            select(KnowledgeDocument)
            .where(*self._served, KnowledgeDocument.id.in_(documents))
            .order_by(KnowledgeDocument.id)
            .with_for_update()
        )
        return {row.id: row for row in await self._session.scalars(statement, execution_options=_FRESH)}


def _is_served_chunk() -> ColumnElement[bool]:
    return (
        (Chunk.tenant_id == KnowledgeDocument.tenant_id)
        & (Chunk.document_id == KnowledgeDocument.id)
        & (Chunk.version_id == KnowledgeDocument.serving_version_id)
    )


def _is_one_of(documents: Collection[UUID]) -> ColumnElement[bool]:
    # One value, however many they are.
    return KnowledgeDocument.id == any_(literal(list(documents), ARRAY(Uuid)))


_NOW = "SELECT CAST(pg_current_snapshot() AS text)"
# The bounds are what the index is read by. Rows that were restored from another server may carry any number:
# at worst they are looked at twice.
_IS_NEWER = """
    kb_documents.served_by BETWEEN CAST(CAST(pg_snapshot_xmin(CAST(:since AS pg_snapshot)) AS text) AS bigint)
                               AND CAST(CAST(pg_snapshot_xmax(pg_current_snapshot()) AS text) AS bigint)
    AND NOT pg_visible_in_snapshot(CAST(CAST(kb_documents.served_by AS text) AS xid8),
                                   CAST(:since AS pg_snapshot))"""
_IS_OLDER = f"(kb_documents.served_by IS NULL OR NOT ({_IS_NEWER}))"
