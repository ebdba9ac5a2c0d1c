"""Documents as lists and clients see them: with their versions and how often they were retrieved."""

from dataclasses import dataclass
from datetime import datetime
from functools import cache

from sqlalchemy import ColumnElement, Select, func, literal, select
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased, defer

from eai.kernel.ids import BaseId, DocumentId, TenantId
from eai.kernel.paging import PageRequest
from eai.knowledge.documents.version_rows import newest_id
from eai.knowledge.models import DocumentRetrievals, DocumentVersion, KnowledgeDocument
from eai.knowledge.visibility import source_is_shown
from eai.platform.listing import part

_Views = Select[KnowledgeDocument, DocumentVersion, DocumentVersion, int, datetime, bool]


@dataclass(frozen=True, slots=True)
class DocumentView:
    """A document with the version that answers, the newest one, and how often it was retrieved.

    `is_shown` is false while its source connector is switched off.
    """

    document: KnowledgeDocument
    serving: DocumentVersion | None
    newest: DocumentVersion
    retrieval_count: int
    last_retrieved_at: datetime | None
    is_shown: bool


@dataclass(frozen=True, slots=True)
class DocumentFilter:
    """Which documents of a base a list shows."""

    status: str | None = None
    q: str | None = None
    external_id: str | None = None


class ViewRows:
    """The documents of one base, to be shown."""

    def __init__(self, session: AsyncSession, tenant: TenantId, base: BaseId) -> None:
        self._session = session
        self._mine = (KnowledgeDocument.tenant_id == tenant, KnowledgeDocument.base_id == base)

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
        return await self._views(part(statement, KnowledgeDocument, page))

    def _select_views(self, status: str | None = None) -> _Views:
        serving, newest = _versions()
        statement = (
            select(
                KnowledgeDocument,
                serving,
                newest,
                DocumentRetrievals.retrieval_count,
                DocumentRetrievals.last_retrieved_at,
                source_is_shown(),
            )
            .select_from(KnowledgeDocument)
            .join(newest, (newest.tenant_id == KnowledgeDocument.tenant_id) & (newest.id == newest_id()))
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
            .where(*self._mine)
            .options(
                *(
                    defer(column)
                    for version in (serving, newest)
                    for column in (version.source, version.content, version.dlp_spans)
                )
            )
            .execution_options(populate_existing=True)
        )
        if status is None:
            return statement
        return statement.where(func.coalesce(serving.status, newest.status) == literal(status))

    async def _views(self, statement: _Views) -> list[DocumentView]:
        return [
            DocumentView(document, serving, newest, count or 0, last, is_shown)
            for document, serving, newest, count, last, is_shown in await self._session.execute(statement)
        ]


@cache
def _versions() -> tuple[type[DocumentVersion], type[DocumentVersion]]:
    """The serving and the newest version of a document, as names in a statement.

    Kept, because making a name for a table takes longer than asking it.
    """
    return aliased(DocumentVersion), aliased(DocumentVersion)
