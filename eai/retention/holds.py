"""Legal holds: what must not be removed, by anybody, until it is released."""

from uuid import UUID

from sqlalchemy import func
from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.subject import Subject
from eai.audit.actions import AuditAction
from eai.audit.entries import Resource
from eai.audit.service import Audit
from eai.kernel.canonical import Canonical
from eai.kernel.errors import InvalidInput, NotFound
from eai.kernel.ids import BaseId, DocumentId
from eai.kernel.paging import Page, PageRequest
from eai.knowledge.bases.access import base_of_tenant
from eai.knowledge.bases.handle import BaseHandle
from eai.knowledge.documents.access import document_id
from eai.knowledge.documents.kept import forget_kept_texts
from eai.knowledge.documents.levels import effective_level
from eai.knowledge.documents.repository import DocumentRows
from eai.knowledge.legal_hold_rows import LegalHoldRows, within_clearance
from eai.knowledge.models import KnowledgeDocument, LegalHold
from eai.platform.listing import next_key
from eai.retention.errors import HoldReleased
from eai.retention.schemas import LegalHoldOut, NewLegalHold, Release


class LegalHolds:
    """What an officer does with holds, as far as the officer is cleared for what is held."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit

    async def place(
        self, session: AsyncSession, subject: Subject, hold: UUID, new: NewLegalHold
    ) -> LegalHoldOut:
        """Keep a document or a base from being removed, from this commit on; the same id again returns it.

        Raises InvalidInput for what the tenant does not have, what is being removed already, and what lies
        above the caller's clearance.
        """
        base = await _base(session, subject, new.knowledge_base_id)
        rows = LegalHoldRows(session, subject.tenant)
        await rows.keep_removals_out(base.id)
        # Once more: its own removal may have committed during the wait.
        base = await _base(session, subject, str(base.id))
        document = await _document(session, subject, base, new.document_id)
        row = await rows.insert(
            hold,
            base_id=base.id,
            document_id=document,
            reason=new.reason,
            created_by=subject.principal,
            # After the wait: what was stored during it is kept as well.
            created_at=func.clock_timestamp(),
        )
        if row is None:
            return _shown(await rows.get(hold))
        await self._record(session, subject, AuditAction.LEGAL_HOLD_PLACE, row, new.reason)
        return _shown(row)

    async def get(self, session: AsyncSession, subject: Subject, hold: UUID) -> LegalHoldOut:
        """One hold, in force or released. Raises NotFound."""
        rows = LegalHoldRows(session, subject.tenant)
        return _shown(await rows.get(hold, within_clearance(subject.clearance)))

    async def page(self, session: AsyncSession, subject: Subject, page: PageRequest) -> Page[LegalHoldOut]:
        """The tenant's holds, released ones included, the oldest first."""
        rows = LegalHoldRows(session, subject.tenant)
        found = await rows.page(page, within_clearance(subject.clearance))
        return Page([_shown(row) for row in found[: page.limit]], next_key(found, page))

    async def release(
        self,
        session: AsyncSession,
        subject: Subject,
        hold: UUID,
        release: Release,
        *,
        revision: int | None = None,
    ) -> LegalHoldOut:
        """Let go of what was held: what is due meanwhile expires with the next look, texts that it kept now.

        Raises NotFound, PreconditionFailed and HoldReleased.
        """
        rows = LegalHoldRows(session, subject.tenant)
        held = await rows.hold(hold, within_clearance(subject.clearance), revision=revision)
        if held.released_at is not None:
            raise HoldReleased
        # Whoever keeps a text for this hold has said so before, or does not keep it any more.
        await rows.keep_removals_out(BaseId(held.base_id))
        row = await rows.change(hold, released_at=func.now(), released_by=subject.principal)
        forgotten = await forget_kept_texts(session, row)
        action = AuditAction.LEGAL_HOLD_RELEASE
        await self._record(session, subject, action, row, release.reason, texts_forgotten=forgotten)
        return _shown(row)

    async def _record(
        self,
        session: AsyncSession,
        subject: Subject,
        action: AuditAction,
        row: LegalHold,
        reason: str,
        **more: Canonical,
    ) -> None:
        facts: dict[str, Canonical] = {
            "base": str(row.base_id),
            "document": None if row.document_id is None else str(row.document_id),
            **more,
        }
        resource = Resource("legal_hold", str(row.id))
        await self._audit.record(
            session, subject, action, resource=resource, facts=facts, private={"reason": reason}
        )


async def _base(session: AsyncSession, subject: Subject, reference: str) -> BaseHandle:
    base = await base_of_tenant(session, subject.tenant, reference)
    if base is None:
        raise _unknown("knowledge_base_id", "knowledge_base_unknown")
    return base


async def _document(
    session: AsyncSession, subject: Subject, base: BaseHandle, reference: str | None
) -> DocumentId | None:
    if reference is None:
        return None
    try:
        document = document_id(reference)
    except NotFound:
        raise _unknown("document_id", "document_unknown") from None
    is_live = KnowledgeDocument.deleting_since.is_(None)
    row = await DocumentRows(session, base.tenant, base.id).find(document, is_live)
    if row is None or effective_level(base, row).exceeds(subject.clearance):
        raise _unknown("document_id", "document_unknown")
    return document


def _unknown(field: str, code: str) -> InvalidInput:
    return InvalidInput.field(field, code, "names nothing that there is")


def _shown(row: LegalHold) -> LegalHoldOut:
    return LegalHoldOut(
        id=row.id,
        knowledge_base_id=row.base_id,
        document_id=row.document_id,
        reason=row.reason,
        placed_by=row.created_by,
        created_at=row.created_at,
        released_at=row.released_at,
        released_by=row.released_by,
        revision=row.revision,
    )
