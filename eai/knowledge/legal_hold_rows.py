"""Every query on legal holds, and the one question that each removal asks first."""

from datetime import datetime

from sqlalchemy import ColumnElement, and_, exists, func, not_, or_, select, text

from eai.access.classification import Classification
from eai.identity.repository import Rows
from eai.kernel.ids import BaseId, DocumentId, TenantId
from eai.knowledge.errors import UnderLegalHold
from eai.knowledge.models import (
    DeletionReceipt,
    DocumentVersion,
    KnowledgeBase,
    KnowledgeDocument,
    LegalHold,
)
from eai.knowledge.visibility import document_level


class LegalHoldRows(Rows[LegalHold]):
    """The legal holds of one tenant."""

    model = LegalHold

    async def keep_removals_out(self, base: BaseId) -> None:
        """Wait for removals in this base that are about to commit; the next ones wait for this transaction.

        Whoever calls this may wait for no document afterwards: a removal has its document when it waits.
        """
        await self.session.execute(_EXCLUSIVE, {"lock": self._lock(base)})

    async def refuse_removal(
        self, base: BaseId, document: DocumentId | None = None, *, stored_at: datetime | None = None
    ) -> None:
        """Raise UnderLegalHold if the document, or anything in the base, is held.

        With `stored_at` only by what was placed after that: a hold keeps what was there from those rules that
        let nothing stay of a text, and nothing that comes later. No hold on it commits from here on until the
        transaction ends.
        """
        if await self.is_held(base, document, stored_at=stored_at):
            raise UnderLegalHold

    async def is_held(
        self, base: BaseId, document: DocumentId | None = None, *, stored_at: datetime | None = None
    ) -> bool:
        """What `refuse_removal` asks, for those who go on with another document."""
        await self.session.execute(_SHARED, {"lock": self._lock(base)})
        # A statement of its own: what the wait for the lock made visible must be seen.
        found = select(LegalHold.id).where(
            LegalHold.tenant_id == self.tenant, LegalHold.base_id == base, LegalHold.released_at.is_(None)
        )
        if document is not None:
            found = found.where(or_(LegalHold.document_id.is_(None), LegalHold.document_id == document))
        if stored_at is not None:
            found = found.where(LegalHold.created_at >= stored_at)
        return await self.session.scalar(found.limit(1)) is not None

    def _lock(self, base: BaseId) -> str:
        return _lock(self.tenant, base)


def keeps_version(tenant: TenantId, base: BaseId) -> ColumnElement[bool]:
    """Whether a hold that was placed since a version was stored keeps it, as part of a query on versions."""
    return exists().where(
        LegalHold.tenant_id == tenant,
        LegalHold.base_id == base,
        LegalHold.document_id.is_(None) | (LegalHold.document_id == DocumentVersion.document_id),
        LegalHold.released_at.is_(None),
        LegalHold.created_at >= DocumentVersion.created_at,
    )


def try_to_keep_holds_out(tenant: TenantId, base: BaseId) -> ColumnElement[bool]:
    """Whether none is about to commit in the base; if so none does until the transaction ends."""
    return func.pg_try_advisory_xact_lock_shared(func.hashtextextended(_lock(tenant, base), 0))


def _lock(tenant: TenantId, base: BaseId) -> str:
    return f"legal-hold:{tenant}:{base}"


def within_clearance(clearance: Classification) -> ColumnElement[bool]:
    """Holds of bases, and of documents that are, or when they were removed were, no higher than that."""
    document = and_(
        KnowledgeDocument.tenant_id == LegalHold.tenant_id,
        KnowledgeDocument.id == LegalHold.document_id,
        KnowledgeBase.tenant_id == KnowledgeDocument.tenant_id,
        KnowledgeBase.id == KnowledgeDocument.base_id,
        document_level(KnowledgeBase.classification) > clearance.rank,
    )
    removed = and_(
        DeletionReceipt.tenant_id == LegalHold.tenant_id,
        DeletionReceipt.id == LegalHold.document_id,
        DeletionReceipt.classification > clearance.rank,
    )
    return and_(not_(exists().where(document)), not_(exists().where(removed)))


_EXCLUSIVE = text("SELECT pg_advisory_xact_lock(hashtextextended(:lock, 0))")
_SHARED = text("SELECT pg_advisory_xact_lock_shared(hashtextextended(:lock, 0))")
