"""Every query on the versions of documents."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, case, delete, func, not_, or_, select, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import aliased, defer

from eai.kernel.ids import BaseId, DocumentId, TenantId, VersionId
from eai.kernel.paging import PageRequest
from eai.knowledge.errors import VersionSuperseded
from eai.knowledge.legal_hold_rows import keeps_version, try_to_keep_holds_out
from eai.knowledge.models import DocumentVersion, KnowledgeBase, KnowledgeDocument
from eai.knowledge.visibility import text_array
from eai.platform.schema import Json

ON_ITS_WAY = ("pending", "processing")
HELD = "quarantined"
OVERTAKEN = VersionSuperseded.code
BLOCKED = "dlp_blocked"
"""Why a version failed of which nothing may be stored; what a legal hold keeps of it is never processed."""
HEAVY = (defer(DocumentVersion.source), defer(DocumentVersion.content), defer(DocumentVersion.dlp_spans))


@dataclass(frozen=True, slots=True)
class IncomingVersion:
    """A version that is to answer, the generation searched now, and the version that answers now."""

    generation: UUID
    status: str
    source_hash: bytes
    intended: Json
    serving_number: int | None


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
        return await self._session.scalar(statement.options(*HEAVY).execution_options(populate_existing=True))

    async def newest(self) -> DocumentVersion | None:
        """The newest version, without its text."""
        statement = select(DocumentVersion).where(*self._mine()).order_by(DocumentVersion.number.desc())
        return await self._session.scalar(
            statement.limit(1).options(*HEAVY).execution_options(populate_existing=True)
        )

    async def size(self, version: VersionId) -> int:
        """How many bytes were submitted as the version."""
        statement = select(func.octet_length(DocumentVersion.source)).where(*self._mine())
        return await self._session.scalar(statement.where(DocumentVersion.id == version)) or 0

    async def is_only(self, version: VersionId) -> bool:
        """Whether the document has no other version."""
        others = select(DocumentVersion.id).where(*self._mine(), DocumentVersion.id != version)
        return not await self._session.scalar(select(others.exists()))

    async def supersede(self, base: BaseId) -> None:
        """Close every version that is on its way or held: a newer text has come.

        None of them has ever answered, nor will. Of one that nobody has looked at only the hashes are left,
        but for a legal hold; one that was held is evidence, which whoever brought it does not remove.
        """
        is_kept = or_(DocumentVersion.status == HELD, _kept_by_hold(self._tenant, base))
        await self._session.execute(
            update(DocumentVersion)
            .where(*self._mine(), DocumentVersion.status.in_((*ON_ITS_WAY, HELD)))
            .values(
                status="failed",
                error={"code": OVERTAKEN, "details": {}},
                source=case((is_kept, DocumentVersion.source)),
                content=case((is_kept, DocumentVersion.content)),
            )
            .execution_options(synchronize_session=False)
        )

    async def intended(self) -> Json:
        """What the newest version is to bring, if it does not answer yet."""
        statement = select(DocumentVersion.intended).where(*self._coming())
        return await self._session.scalar(statement) or {}

    async def close_newer(self, serving: VersionId, error: Json) -> None:
        """Close every version newer than `serving` that may still answer, as failed with `error`."""
        present = aliased(DocumentVersion)
        number = select(present.number).where(
            present.tenant_id == self._tenant, present.document_id == self._document, present.id == serving
        )
        await self._session.execute(
            update(DocumentVersion)
            .where(*self._mine(), DocumentVersion.number > number.scalar_subquery())
            .where(DocumentVersion.status.in_((*ON_ITS_WAY, HELD, "failed")))
            .where(func.coalesce(DocumentVersion.error["code"].astext, "").not_in((BLOCKED, OVERTAKEN)))
            .values(status="failed", error=error)
            .execution_options(synchronize_session=False)
        )

    async def incoming(self, version: VersionId) -> IncomingVersion | None:
        """What decides whether the version may answer now; None where it or the base is gone."""
        serving = aliased(DocumentVersion)
        row = (
            await self._session.execute(
                select(
                    KnowledgeBase.vector_generation,
                    DocumentVersion.status,
                    DocumentVersion.source_hash,
                    DocumentVersion.intended,
                    serving.number,
                )
                .select_from(KnowledgeDocument)
                .join(
                    KnowledgeBase,
                    (KnowledgeBase.tenant_id == KnowledgeDocument.tenant_id)
                    & (KnowledgeBase.id == KnowledgeDocument.base_id)
                    & KnowledgeBase.deleting_since.is_(None),
                )
                .join(
                    DocumentVersion,
                    (DocumentVersion.tenant_id == KnowledgeDocument.tenant_id)
                    & (DocumentVersion.document_id == KnowledgeDocument.id),
                )
                .outerjoin(
                    serving,
                    (serving.tenant_id == KnowledgeDocument.tenant_id)
                    & (serving.id == KnowledgeDocument.serving_version_id),
                )
                .where(*self._mine(), DocumentVersion.id == version)
            )
        ).one_or_none()
        return None if row is None else IncomingVersion(*row)

    async def text_of(self, version: VersionId) -> tuple[str, Json]:
        """What the version says, and where what DLP found in it stands."""
        statement = select(DocumentVersion.content, DocumentVersion.dlp_spans)
        mine = statement.where(*self._mine(), DocumentVersion.id == version)
        content, spans = (await self._session.execute(mine)).one()
        return content or "", spans

    async def page(self, page: PageRequest) -> Sequence[DocumentVersion]:
        """Versions, newest first; one more than asked for when more follow."""
        statement = select(DocumentVersion).where(*self._mine())
        if page.after is not None:
            statement = statement.where(DocumentVersion.number < int(page.after[0]))
        ordered = statement.order_by(DocumentVersion.number.desc()).limit(page.limit + 1)
        return (await self._session.scalars(ordered.options(*HEAVY))).all()

    async def update(self, version: VersionId, values: Mapping[str, Any]) -> None:
        """Change a version's row."""
        await self._session.execute(
            update(DocumentVersion)
            .where(*self._mine(), DocumentVersion.id == version)
            .values(**values)
            .execution_options(synchronize_session=False)
        )

    async def forget_intended(self, fields: Collection[str]) -> None:
        """Drop what the newest version would change, if it does not answer yet: somebody has set it since.

        Older ones bring nothing any more, and stay what they were.
        """
        await self._session.execute(
            update(DocumentVersion)
            .where(*self._coming())
            .values(intended=DocumentVersion.intended.op("-")(text_array(fields)))
            .execution_options(synchronize_session=False)
        )

    async def delete(self, version: VersionId) -> None:
        """Remove a version that has no chunks."""
        await self._session.execute(
            delete(DocumentVersion).where(*self._mine(), DocumentVersion.id == version)
        )

    def _coming(self) -> Sequence[ColumnElement[bool]]:
        of_document = aliased(DocumentVersion)
        newest = select(func.max(of_document.number)).where(
            of_document.tenant_id == self._tenant, of_document.document_id == self._document
        )
        return (
            *self._mine(),
            DocumentVersion.number == newest.scalar_subquery(),
            DocumentVersion.status != "ready",
        )

    def _mine(self) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
        return DocumentVersion.tenant_id == self._tenant, DocumentVersion.document_id == self._document


def _kept_by_hold(tenant: TenantId, base: BaseId) -> ColumnElement[bool]:
    """Whether a hold that was placed since the version was stored keeps it, or one is being placed now."""
    # Whoever places one has the lock: what they commit this statement may be too old to see.
    return or_(keeps_version(tenant, base), not_(try_to_keep_holds_out(tenant, base)))


async def find_live(
    session: AsyncSession, tenant: TenantId, base: BaseId, version: VersionId
) -> DocumentVersion | None:
    """The version, without its text, of a live document of the base."""
    statement = (
        select(DocumentVersion)
        .join(
            KnowledgeDocument,
            (KnowledgeDocument.tenant_id == DocumentVersion.tenant_id)
            & (KnowledgeDocument.id == DocumentVersion.document_id),
        )
        .where(DocumentVersion.tenant_id == tenant, DocumentVersion.id == version)
        .where(KnowledgeDocument.base_id == base, KnowledgeDocument.deleting_since.is_(None))
    )
    return await session.scalar(statement.options(*HEAVY).execution_options(populate_existing=True))


async def set_status(
    session: AsyncSession, tenant: TenantId, version: VersionId, status: str, error: Json | None
) -> bool:
    """Set the status of a version that is still on its way; whether it was."""
    changed = await session.scalars(
        update(DocumentVersion)
        .where(DocumentVersion.tenant_id == tenant, DocumentVersion.id == version)
        .where(DocumentVersion.status.in_(ON_ITS_WAY))
        .values(status=status, error=error)
        .returning(DocumentVersion.id)
        .execution_options(synchronize_session=False)
    )
    return changed.one_or_none() is not None


@cache
def newest_id(*, is_sound: bool = False) -> Any:
    """The id of the newest version of the document at hand, as part of a query on documents.

    With `is_sound` of those that have not failed.
    """
    version = aliased(DocumentVersion)
    of_document = select(version.id).where(
        version.tenant_id == KnowledgeDocument.tenant_id, version.document_id == KnowledgeDocument.id
    )
    return (
        (of_document.where(version.status != "failed") if is_sound else of_document)
        .order_by(version.number.desc())
        .limit(1)
        .correlate(KnowledgeDocument)
        .scalar_subquery()
    )
