"""Every query on what waits for a steward."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import ColumnElement, Select, cast, func, select, tuple_
from sqlalchemy.dialects.postgresql import JSONPATH
from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import Classification
from eai.kernel.errors import BadRequest
from eai.kernel.ids import BaseId, DocumentId, TenantId
from eai.kernel.paging import PageRequest
from eai.knowledge.documents.fields import ShownFields
from eai.knowledge.documents.version_rows import HELD
from eai.knowledge.models import DocumentVersion, KnowledgeBase, KnowledgeDocument
from eai.knowledge.visibility import document_level
from eai.platform.schema import Json
from eai.quarantine.judgement import masked
from eai.quarantine.models import Hold
from eai.quarantine.ports import Place
from eai.quarantine.schemas import FINDINGS_TOLD
from eai.quarantine.specimen import Specimen


class Held(NamedTuple):
    """A held version with what a steward is told of it."""

    version: UUID
    document: UUID
    base: UUID
    number: int
    title: str
    source_uri: str | None
    content_type: str
    submitted_by: UUID | None
    held_at: datetime
    threshold: str
    level: int
    findings_count: int
    findings: list[dict[str, Any]]


class ReviewRows:
    """What one steward may see of a tenant's holds."""

    def __init__(self, session: AsyncSession, tenant: TenantId, clearance: Classification) -> None:
        self._session = session
        self._tenant = tenant
        self._clearance = clearance

    async def page(self, page: PageRequest, base: BaseId | None = None) -> list[Held]:
        """What waits, the longest first; one more than asked for when more follow."""
        some = func.jsonb_path_query_array(Hold.findings, cast(f"$[0 to {FINDINGS_TOLD - 1}]", JSONPATH))
        statement = self._select(some).where(DocumentVersion.status == HELD)
        if base is not None:
            statement = statement.where(Hold.base_id == base)
        if page.after is not None:
            statement = statement.where(tuple_(Hold.held_at, Hold.version_id) > tuple_(*_key(page.after)))
        ordered = statement.order_by(Hold.held_at, Hold.version_id).limit(page.limit + 1)
        return [Held(*row) for row in await self._session.execute(ordered)]

    async def find(self, base: BaseId, document: DocumentId) -> Held | None:
        """The version of the document that waits."""
        mine = (Hold.base_id == base, Hold.document_id == document, DocumentVersion.status == HELD)
        row = (await self._session.execute(self._select(Hold.findings).where(*mine))).one_or_none()
        return None if row is None else Held(*row)

    async def was_held(self, base: BaseId, document: DocumentId) -> bool:
        """Whether any version of the document has ever been held."""
        mine = (Hold.base_id == base, Hold.document_id == document)
        return bool(await self._session.scalar(self._select(Hold.findings).where(*mine).limit(1)))

    async def specimen(self, version: UUID) -> Specimen:
        """What a version says, what it was made of, and what is shown with it."""
        return (await self._specimen(version))[0]

    async def shown(self, version: UUID) -> Specimen:
        """The same without what the tenant's rules took out of it when it was held."""
        specimen, spans = await self._specimen(version)
        blackened = spans.get("blackened", {})
        text = masked(specimen.text, blackened.get(Place.TEXT, ()))
        return replace(specimen, text=text, source=masked(specimen.source, blackened.get(Place.SOURCE, ())))

    async def _specimen(self, version: UUID) -> tuple[Specimen, Json]:
        row, content, source, content_type, intended, spans = (
            await self._session.execute(
                select(
                    KnowledgeDocument,
                    DocumentVersion.content,
                    DocumentVersion.source,
                    DocumentVersion.content_type,
                    DocumentVersion.intended,
                    DocumentVersion.dlp_spans,
                )
                .join(
                    DocumentVersion,
                    (DocumentVersion.tenant_id == KnowledgeDocument.tenant_id)
                    & (DocumentVersion.document_id == KnowledgeDocument.id),
                )
                .where(DocumentVersion.tenant_id == self._tenant, DocumentVersion.id == version)
            )
        ).one()
        beside = dict(ShownFields.of(row, intended).texts)
        return Specimen(content or "", (source or b"").decode("utf-8-sig"), content_type, beside), spans

    def _select(self, findings: Any) -> Select[*tuple[Any, ...]]:
        level = _level()
        return (
            select(
                Hold.version_id,
                Hold.document_id,
                Hold.base_id,
                DocumentVersion.number,
                KnowledgeDocument.title,
                KnowledgeDocument.source_uri,
                DocumentVersion.content_type,
                DocumentVersion.created_by,
                Hold.held_at,
                Hold.threshold,
                level,
                func.jsonb_array_length(Hold.findings),
                findings,
            )
            .select_from(Hold)
            .join(
                DocumentVersion,
                (DocumentVersion.tenant_id == Hold.tenant_id) & (DocumentVersion.id == Hold.version_id),
            )
            .join(
                KnowledgeDocument,
                (KnowledgeDocument.tenant_id == Hold.tenant_id) & (KnowledgeDocument.id == Hold.document_id),
            )
            .join(
                KnowledgeBase,
                (KnowledgeBase.tenant_id == Hold.tenant_id) & (KnowledgeBase.id == Hold.base_id),
            )
            .where(
                Hold.tenant_id == self._tenant,
                KnowledgeDocument.deleting_since.is_(None),
                KnowledgeBase.deleting_since.is_(None),
                level <= self._clearance.rank,
            )
        )


def next_key(found: Sequence[Held], page: PageRequest) -> tuple[str, ...] | None:
    """The sort key of the page's last item when more were found than fit."""
    if len(found) <= page.limit:
        return None
    last = found[page.limit - 1]
    return (last.held_at.isoformat(), str(last.version))


def _level() -> ColumnElement[int]:
    """What the text was worth when it was held, or what its document is worth now, if that is more."""
    return func.greatest(Hold.classification, document_level(KnowledgeBase.classification))


def _key(after: tuple[str, ...]) -> tuple[datetime, UUID]:
    try:
        instant, version = after
        return datetime.fromisoformat(instant), UUID(version)
    except ValueError as error:
        raise BadRequest from error
