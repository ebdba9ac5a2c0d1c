"""Every query on the texts that an erasure looks through."""

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import and_, case, delete, exists, func, literal_column, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import LEVELS
from eai.kernel.ids import DocumentId, TenantId
from eai.knowledge.models import Chunk, DocumentVersion, KnowledgeBase, KnowledgeDocument
from eai.knowledge.visibility import document_level
from eai.quarantine.models import Hold


class Version(NamedTuple):
    """A version without what it was made of and says. `written_by` is another one after each change of it."""

    id: UUID
    number: int
    status: str
    content_type: str
    intended: Mapping[str, Any]
    chunk_rights: Sequence[Mapping[str, Any]]
    language: str | None
    written_by: str


class Written(NamedTuple):
    """What a version was made of, and says."""

    source: bytes | None
    content: str | None


class DocumentState(NamedTuple):
    """A document and its versions, oldest first, as they stand; `level` is the highest of anything in it."""

    row: KnowledgeDocument
    level: int
    versions: Sequence[Version]

    @property
    def mark(self) -> tuple[Any, ...]:
        """The same for as long as nothing of the document, its versions and its level changes."""
        versions = ((version.id, version.written_by) for version in self.versions)
        return self.row.id, self.row.revision, self.level, *versions


class TextRows:
    """The texts of one tenant's documents."""

    def __init__(self, session: AsyncSession, tenant: TenantId) -> None:
        self._session = session
        self._tenant = tenant

    async def next(self, after: UUID, clearance: int) -> DocumentState | None:
        """The next live document up to that level, in the order of ids."""
        return await self._one(KnowledgeDocument.id > after, _level() <= clearance)

    async def find(self, document: DocumentId) -> DocumentState | None:
        """The live document as it is now."""
        return await self._one(KnowledgeDocument.id == document)

    async def written(self, version: UUID) -> Written | None:
        """The texts of one version; None where it is gone."""
        statement = select(DocumentVersion.source, DocumentVersion.content).where(
            DocumentVersion.tenant_id == self._tenant, DocumentVersion.id == version
        )
        row = (await self._session.execute(statement)).one_or_none()
        return None if row is None else Written(*row)

    async def intend(self, version: UUID, intended: Mapping[str, Any]) -> None:
        """Let the version bring these fields instead. The caller holds its document."""
        await self._session.execute(
            update(DocumentVersion)
            .where(DocumentVersion.tenant_id == self._tenant, DocumentVersion.id == version)
            .values(intended=intended)
            .execution_options(synchronize_session=False)
        )

    async def has_other_chunks(self, document: DocumentId, version: UUID) -> bool:
        """Whether passages of other versions are still stored."""
        others = exists().where(
            Chunk.tenant_id == self._tenant, Chunk.document_id == document, Chunk.version_id != version
        )
        return await self._session.scalar(select(others)) is True

    async def forget_before(self, document: DocumentId, number: int) -> None:
        """Empty the versions before that one, which have no passages; that they were there stays."""
        former = (
            DocumentVersion.tenant_id == self._tenant,
            DocumentVersion.document_id == document,
            DocumentVersion.number < number,
        )
        # What was found in a held text quotes it.
        ids = select(DocumentVersion.id).where(*former)
        await self._session.execute(
            delete(Hold).where(Hold.tenant_id == self._tenant, Hold.version_id.in_(ids))
        )
        # A digest of a text of which all but a number is known tells the number.
        nothing = sha256(b"").digest()
        empty: dict[str, Any] = {
            "source": None,
            "source_hash": nothing,
            "content": "",
            "content_hash": nothing,
            "dlp": {},
            "dlp_spans": {},
            "intended": {},
        }
        await self._session.execute(
            update(DocumentVersion)
            .where(*former)
            .values(**empty)
            .execution_options(synchronize_session=False)
        )

    async def _one(self, *conditions: Any) -> DocumentState | None:
        statement = (
            select(KnowledgeDocument, _level())
            .join(
                KnowledgeBase,
                (KnowledgeBase.tenant_id == KnowledgeDocument.tenant_id)
                & (KnowledgeBase.id == KnowledgeDocument.base_id),
            )
            .where(
                KnowledgeDocument.tenant_id == self._tenant,
                KnowledgeDocument.deleting_since.is_(None),
                KnowledgeBase.deleting_since.is_(None),
                *conditions,
            )
            .order_by(KnowledgeDocument.id)
            .limit(1)
            .execution_options(populate_existing=True)
        )
        found = (await self._session.execute(statement)).one_or_none()
        return None if found is None else DocumentState(found[0], found[1], await self._versions(found[0].id))

    async def _versions(self, document: UUID) -> list[Version]:
        statement: Any = (
            select(
                DocumentVersion.id,
                DocumentVersion.number,
                DocumentVersion.status,
                DocumentVersion.content_type,
                DocumentVersion.intended,
                DocumentVersion.chunk_rights,
                DocumentVersion.language,
                # Of the transaction that wrote the row, whatever it changed there.
                literal_column("eai.kb_document_versions.xmin::text"),
            )
            .where(DocumentVersion.tenant_id == self._tenant, DocumentVersion.document_id == document)
            .order_by(DocumentVersion.number)
        )
        return [Version(*row) for row in await self._session.execute(statement)]


def _level() -> Any:
    """The highest level of anything that is stored of a document, which is searched whole or not at all."""
    own = document_level(KnowledgeBase.classification)
    return func.greatest(own, _of_versions(), _of_holds())


def _of_versions() -> Any:
    """The highest level of a part of any version, or that a version was to bring which does not answer."""
    parts = case(
        *(
            (DocumentVersion.chunk_rights.contains([{"classification": level.value}]), level.rank)
            for level in reversed(LEVELS)
        )
    )
    # What the version that answers has brought is the document's own by now, and may have been lowered since.
    is_to_come = DocumentVersion.id.is_distinct_from(KnowledgeDocument.serving_version_id)
    named = and_(is_to_come, DocumentVersion.intended.has_key("classification"))
    wanted = func.coalesce(
        DocumentVersion.intended["classification"].as_integer(), KnowledgeBase.classification
    )
    return (
        select(func.max(func.greatest(parts, case((named, wanted)))))
        .where(
            DocumentVersion.tenant_id == KnowledgeDocument.tenant_id,
            DocumentVersion.document_id == KnowledgeDocument.id,
        )
        .correlate(KnowledgeDocument, KnowledgeBase)
        .scalar_subquery()
    )


def _of_holds() -> Any:
    """The highest level that a text of the document had when it was held."""
    return (
        select(func.max(Hold.classification))
        .where(Hold.tenant_id == KnowledgeDocument.tenant_id, Hold.document_id == KnowledgeDocument.id)
        .correlate(KnowledgeDocument)
        .scalar_subquery()
    )
