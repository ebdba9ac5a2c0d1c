"""Every query on reindexes, and on what a generation still lacks."""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Select,
    Uuid,
    any_,
    delete,
    exists,
    func,
    literal,
    select,
    text,
    tuple_,
    update,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from eai.kernel.ids import BaseId, DocumentId, GenerationId, JobId, PointId, TenantId, VersionId
from eai.kernel.paging import PageRequest
from eai.knowledge.bases.handle import StoredGeneration
from eai.knowledge.chunks.spans import spans_from_rows
from eai.knowledge.documents.drafts import SpanRights
from eai.knowledge.lexical import Language
from eai.knowledge.models import Chunk, DocumentVersion, Generation, KnowledgeBase, KnowledgeDocument
from eai.knowledge.ports import SpaceId
from eai.platform.listing import part
from eai.reindex.models import ReindexJob

ACTIVE = ("queued", "running", "verifying")
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
    """What decides a text's level: the ranks of its base and, if it sets one, its document, and its spans."""

    base: int
    document: int | None
    spans: Sequence[SpanRights]


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


class CoverageRows:
    """What a generation has of the documents that a base serves."""

    def __init__(self, session: AsyncSession, tenant: TenantId, base: BaseId) -> None:
        self._session = session
        self._tenant = tenant
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
        """Where the history of transactions stands; see `changed_since`."""
        return str(await self._session.scalar(text(_NOW)))

    async def changed_since(self, since: str) -> Collection[DocumentId]:
        """The served documents whose rows came from transactions that `since` may not have seen the end of.

        A version that begins to be served changes its document's row. A lock of it does not.
        """
        statement = select(KnowledgeDocument.id).where(*self._served, text(_IS_NEWER))
        return [DocumentId(each) for each in await self._session.scalars(statement, {"since": since})]

    async def highest_level(self) -> int | None:
        """The highest level that a served document or a part of one sets itself."""
        own = select(func.max(KnowledgeDocument.classification)).where(*self._served)
        parts = (
            select(func.max(Chunk.classification))
            .join(KnowledgeDocument, _is_served_chunk())
            .where(*self._served)
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
        while page := await self._page(after):
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

    async def _page(self, after: Place | None) -> list[Place]:
        place = (KnowledgeDocument.created_at, KnowledgeDocument.id)
        statement = select(*place).where(*self._served)
        if after is not None:
            statement = statement.where(tuple_(*place) > tuple_(*after))
        rows = await self._session.execute(statement.order_by(*place).limit(_PAGE))
        return [Place(created_at, document) for created_at, document in rows]

    async def chunks(self, generation: GenerationId) -> int:
        """How many chunks of served versions the generation has."""
        statement = (
            select(func.count())
            .select_from(KnowledgeDocument)
            .join(Chunk, _is_served_chunk())
            .where(*self._served, Chunk.generation == generation)
        )
        return int(await self._session.scalar(statement) or 0)

    async def points(
        self, generation: GenerationId, documents: Collection[DocumentId]
    ) -> Collection[PointId]:
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

    async def rights_now(self, versions: Collection[VersionId]) -> Mapping[VersionId, RightsNow]:
        """What decides the level of these versions now, as far as they are there."""
        rows = await self._session.execute(
            select(
                DocumentVersion.id,
                KnowledgeBase.classification,
                KnowledgeDocument.classification,
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
            VersionId(version): RightsNow(base, document, spans_from_rows(spans))
            for version, base, document, spans in rows
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


def stored_generation(row: Generation) -> StoredGeneration:
    """Where the row's points are."""
    return StoredGeneration(
        TenantId(row.tenant_id), GenerationId(row.id), SpaceId(row.collection, row.dimensions)
    )


def _is_served_chunk() -> ColumnElement[bool]:
    return (
        (Chunk.tenant_id == KnowledgeDocument.tenant_id)
        & (Chunk.document_id == KnowledgeDocument.id)
        & (Chunk.version_id == KnowledgeDocument.serving_version_id)
    )


def _is_one_of(documents: Collection[UUID]) -> ColumnElement[bool]:
    # One value, however many they are.
    return KnowledgeDocument.id == any_(literal(list(documents), ARRAY(Uuid)))


_NOW = "SELECT CAST(pg_snapshot_xmin(pg_current_snapshot()) AS text)"
# Compared by age, as the numbers of transactions begin again some day.
_IS_NEWER = "age(kb_documents.xmin) <= age(CAST(CAST(:since AS xid8) AS xid))"
