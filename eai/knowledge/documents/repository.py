"""Every query on documents and their versions."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, delete, func, literal, select, text, tuple_, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased, defer

from eai.kernel.ids import BaseId, DocumentId, TenantId, VersionId
from eai.kernel.paging import PageRequest
from eai.knowledge.models import DocumentRetrievals, DocumentVersion, KnowledgeDocument
from eai.knowledge.visibility import text_array
from eai.platform.schema import Json

_HEAVY = (defer(DocumentVersion.source), defer(DocumentVersion.content))

_Views = Select[KnowledgeDocument, DocumentVersion, DocumentVersion, int, datetime]


@dataclass(frozen=True, slots=True)
class DocumentView:
    """A document with the version that answers, the newest one, and how often it was retrieved."""

    document: KnowledgeDocument
    serving: DocumentVersion | None
    newest: DocumentVersion
    retrieval_count: int
    last_retrieved_at: datetime | None


@dataclass(frozen=True, slots=True)
class DocumentFilter:
    """Which documents of a base a list shows."""

    status: str | None = None
    q: str | None = None
    external_id: str | None = None


class DocumentRows:
    """The documents of one base."""

    def __init__(self, session: AsyncSession, tenant: TenantId, base: BaseId) -> None:
        self._session = session
        self._tenant = tenant
        self._base = base

    async def lock(self, document: DocumentId) -> KnowledgeDocument | None:
        """The live document, held until the transaction ends."""
        live = self._mine(document).where(KnowledgeDocument.deleting_since.is_(None))
        return await self._locked(live)

    async def lock_any(self, document: DocumentId) -> KnowledgeDocument | None:
        """The document, deleting or not, held until the transaction ends."""
        return await self._locked(self._mine(document))

    async def find(self, document: DocumentId, visible: ColumnElement[bool]) -> KnowledgeDocument | None:
        """The document, where `visible` holds."""
        statement = self._mine(document).where(visible)
        return await self._session.scalar(statement.execution_options(populate_existing=True))

    async def view(self, document: DocumentId, visible: ColumnElement[bool]) -> DocumentView | None:
        """The document with its versions, where `visible` holds."""
        views = await self._views(self._select_views().where(KnowledgeDocument.id == document, visible))
        return views[0] if views else None

    async def page(
        self, visible: ColumnElement[bool], wanted: DocumentFilter, page: PageRequest
    ) -> list[DocumentView]:
        """Documents where `visible` holds, oldest first; one more than asked for when more follow."""
        statement = self._select_views(wanted.status).where(visible)
        if wanted.q is not None:
            statement = statement.where(KnowledgeDocument.title.icontains(wanted.q, autoescape=True))
        if wanted.external_id is not None:
            statement = statement.where(KnowledgeDocument.external_id == wanted.external_id)
        key = tuple_(KnowledgeDocument.created_at, KnowledgeDocument.id)
        if page.after is not None:
            created_at, found = page.after
            statement = statement.where(key > (datetime.fromisoformat(created_at), UUID(found)))
        ordered = statement.order_by(KnowledgeDocument.created_at, KnowledgeDocument.id)
        return await self._views(ordered.limit(page.limit + 1))

    async def find_external(self, connector: str, external_id: str) -> KnowledgeDocument | None:
        """The live document that a source knows under `external_id`."""
        statement = select(KnowledgeDocument).where(
            *self._of_base(),
            KnowledgeDocument.deleting_since.is_(None),
            KnowledgeDocument.source_connector == connector,
            KnowledgeDocument.external_id == external_id,
        )
        return await self._session.scalar(statement)

    async def copies(
        self, connector: str, source_hash: bytes, readable: ColumnElement[bool]
    ) -> Sequence[tuple[KnowledgeDocument, VersionId]]:
        """Documents without external id whose present text is this one, oldest first."""
        present = func.coalesce(KnowledgeDocument.serving_version_id, _newest_id())
        statement = (
            select(KnowledgeDocument, DocumentVersion.id)
            .join(
                DocumentVersion,
                (DocumentVersion.tenant_id == KnowledgeDocument.tenant_id)
                & (DocumentVersion.document_id == KnowledgeDocument.id),
            )
            .where(*self._of_base(), readable, DocumentVersion.id == present)
            .where(DocumentVersion.source_hash == source_hash, DocumentVersion.status != "failed")
            .where(KnowledgeDocument.source_connector == connector, KnowledgeDocument.external_id.is_(None))
            .order_by(KnowledgeDocument.created_at, KnowledgeDocument.id)
        )
        return [(document, VersionId(v)) for document, v in (await self._session.execute(statement))]

    async def lock_content(self, connector: str, source_hash: bytes) -> None:
        """Make others who bring the same text into this base and source wait for this transaction."""
        lock = f"{self._tenant}:{self._base}:{connector}:{source_hash.hex()}"
        await self._session.execute(
            text("SELECT pg_advisory_xact_lock(hashtextextended(:lock, 0))"), {"lock": lock}
        )

    async def insert(self, values: Mapping[str, Any]) -> bool:
        """Add a document; false when its id, or its external id, is taken."""
        statement = insert(KnowledgeDocument).values(tenant_id=self._tenant, base_id=self._base, **values)
        added = await self._session.scalars(
            statement.on_conflict_do_nothing().returning(KnowledgeDocument.id)
        )
        return added.one_or_none() is not None

    async def update(self, document: DocumentId, values: Mapping[str, Any]) -> None:
        """Change a document's row and raise its revision."""
        await self._session.execute(
            update(KnowledgeDocument)
            .where(KnowledgeDocument.tenant_id == self._tenant, KnowledgeDocument.id == document)
            .values(revision=KnowledgeDocument.revision + 1, **values)
            .execution_options(synchronize_session=False)
        )

    async def delete(self, document: DocumentId) -> None:
        """Remove a document's rows, but for its chunks, which must be gone."""
        counted = (DocumentRetrievals.tenant_id == self._tenant, DocumentRetrievals.document_id == document)
        await self._session.execute(delete(DocumentRetrievals).where(*counted))
        mine = (KnowledgeDocument.tenant_id == self._tenant, KnowledgeDocument.id == document)
        await self._session.execute(delete(KnowledgeDocument).where(*mine))

    async def some_ids(self, limit: int) -> Sequence[DocumentId]:
        """Some documents of the base, deleting or not."""
        statement = select(KnowledgeDocument.id).where(*self._of_base()).limit(limit)
        return [DocumentId(found) for found in await self._session.scalars(statement)]

    def _mine(self, document: DocumentId) -> Select[KnowledgeDocument]:
        return select(KnowledgeDocument).where(*self._of_base(), KnowledgeDocument.id == document)

    def _of_base(self) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
        return KnowledgeDocument.tenant_id == self._tenant, KnowledgeDocument.base_id == self._base

    async def _locked(self, statement: Select[KnowledgeDocument]) -> KnowledgeDocument | None:
        held = statement.with_for_update().execution_options(populate_existing=True)
        return await self._session.scalar(held)

    def _select_views(self, status: str | None = None) -> _Views:
        serving, newest = aliased(DocumentVersion), aliased(DocumentVersion)
        statement = (
            select(
                KnowledgeDocument,
                serving,
                newest,
                DocumentRetrievals.retrieval_count,
                DocumentRetrievals.last_retrieved_at,
            )
            .select_from(KnowledgeDocument)
            .join(newest, (newest.tenant_id == KnowledgeDocument.tenant_id) & (newest.id == _newest_id()))
            .outerjoin(
                serving,
                (serving.tenant_id == KnowledgeDocument.tenant_id)
                & (serving.id == KnowledgeDocument.serving_version_id),
            )
            .outerjoin(
                DocumentRetrievals,
                (DocumentRetrievals.tenant_id == KnowledgeDocument.tenant_id)
                & (DocumentRetrievals.document_id == KnowledgeDocument.id),
            )
            .where(*self._of_base())
            .options(
                defer(serving.source), defer(serving.content), defer(newest.source), defer(newest.content)
            )
            .execution_options(populate_existing=True)
        )
        if status is None:
            return statement
        return statement.where(func.coalesce(serving.status, newest.status) == literal(status))

    async def _views(self, statement: _Views) -> list[DocumentView]:
        return [
            DocumentView(document, serving, newest, count or 0, last)
            for document, serving, newest, count, last in await self._session.execute(statement)
        ]


class VersionRows:
    """The versions of one document."""

    def __init__(self, session: AsyncSession, tenant: TenantId, document: DocumentId) -> None:
        self._session = session
        self._tenant = tenant
        self._document = document

    async def insert(self, values: Mapping[str, Any]) -> int:
        """Add the next version and tell its number. The caller holds the document."""
        last = await self._session.scalar(select(func.max(DocumentVersion.number)).where(*self._mine()))
        number = (last or 0) + 1
        row = {"tenant_id": self._tenant, "document_id": self._document, "number": number, **values}
        await self._session.execute(insert(DocumentVersion).values(row))
        return number

    async def find(self, version: VersionId) -> DocumentVersion | None:
        """The version, without its text."""
        statement = select(DocumentVersion).where(*self._mine(), DocumentVersion.id == version)
        return await self._session.scalar(
            statement.options(*_HEAVY).execution_options(populate_existing=True)
        )

    async def text_of(self, version: VersionId) -> str | None:
        """What the version says."""
        statement = select(DocumentVersion.content).where(*self._mine(), DocumentVersion.id == version)
        return await self._session.scalar(statement)

    async def page(self, page: PageRequest) -> Sequence[DocumentVersion]:
        """Versions, newest first; one more than asked for when more follow."""
        statement = select(DocumentVersion).where(*self._mine())
        if page.after is not None:
            statement = statement.where(DocumentVersion.number < int(page.after[0]))
        ordered = statement.order_by(DocumentVersion.number.desc()).limit(page.limit + 1)
        return (await self._session.scalars(ordered.options(*_HEAVY))).all()

    async def update(self, version: VersionId, values: Mapping[str, Any]) -> None:
        """Change a version's row."""
        await self._session.execute(
            update(DocumentVersion)
            .where(*self._mine(), DocumentVersion.id == version)
            .values(**values)
            .execution_options(synchronize_session=False)
        )

    async def forget_intended(self, fields: Collection[str]) -> None:
        """Drop what versions that do not answer yet would change: somebody has set it since."""
        await self._session.execute(
            update(DocumentVersion)
            .where(*self._mine(), DocumentVersion.status != "ready")
            .values(intended=DocumentVersion.intended.op("-")(text_array(fields)))
            .execution_options(synchronize_session=False)
        )

    async def delete(self, version: VersionId) -> None:
        """Remove a version that has no chunks."""
        await self._session.execute(
            delete(DocumentVersion).where(*self._mine(), DocumentVersion.id == version)
        )

    def _mine(self) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
        return DocumentVersion.tenant_id == self._tenant, DocumentVersion.document_id == self._document


async def set_status(
    session: AsyncSession, tenant: TenantId, version: VersionId, status: str, error: Json | None
) -> None:
    """Set a version's status, unless it is served."""
    served = select(KnowledgeDocument.id).where(
        KnowledgeDocument.tenant_id == tenant, KnowledgeDocument.serving_version_id == version
    )
    await session.execute(
        update(DocumentVersion)
        .where(DocumentVersion.tenant_id == tenant, DocumentVersion.id == version, ~served.exists())
        .values(status=status, error=error)
        .execution_options(synchronize_session=False)
    )


def _newest_id() -> Any:
    version = aliased(DocumentVersion)
    return (
        select(version.id)
        .where(version.tenant_id == KnowledgeDocument.tenant_id, version.document_id == KnowledgeDocument.id)
        .order_by(version.number.desc())
        .limit(1)
        .correlate(KnowledgeDocument)
        .scalar_subquery()
    )
