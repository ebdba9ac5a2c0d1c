"""Retention policies as officers set them, and what is due and has expired under them."""

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import LEVELS, Classification, level_at
from eai.access.subject import Subject
from eai.audit.actions import AuditAction
from eai.audit.entries import Resource
from eai.audit.service import Audit
from eai.identity.grants import require_clearance
from eai.kernel.errors import InvalidInput
from eai.kernel.paging import Page, PageRequest
from eai.knowledge.bases.access import base_of_tenant
from eai.platform.listing import next_key
from eai.retention.errors import RetentionPolicyExists
from eai.retention.models import RetentionPolicy
from eai.retention.repository import Due, DueRows, ExpirationRows, RetentionPolicyRows
from eai.retention.schemas import (
    DueDocument,
    ExpiredDocument,
    NewRetentionPolicy,
    RetentionPolicyChange,
    RetentionPolicyOut,
)


class RetentionPolicies:
    """What an officer does with policies. Without one nothing expires."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit

    async def create(
        self, session: AsyncSession, subject: Subject, policy: UUID, new: NewRetentionPolicy
    ) -> RetentionPolicyOut:
        """Make a policy; the same id again returns it.

        Raises InvalidInput for a base that the tenant does not have, ClearanceExceeded, and
        RetentionPolicyExists.
        """
        base = await _base(session, subject, new.knowledge_base_id)
        _require_reach(subject, new.classification)
        rank = None if new.classification is None else new.classification.rank
        rows = RetentionPolicyRows(session, subject.tenant)
        row = await rows.insert(
            policy, base_id=base, classification=rank, keep_days=new.keep_days, created_by=subject.principal
        )
        if row is None:
            there = await rows.of(base, rank)
            if there is None or there.id != policy:
                raise RetentionPolicyExists(policy_id=None if there is None else str(there.id))
            return _shown(there)
        await self._record(session, subject, AuditAction.RETENTION_POLICY_CREATE, row)
        return _shown(row)

    async def get(self, session: AsyncSession, subject: Subject, policy: UUID) -> RetentionPolicyOut:
        """One policy. Raises NotFound."""
        return _shown(await RetentionPolicyRows(session, subject.tenant).get(policy))

    async def page(
        self, session: AsyncSession, subject: Subject, page: PageRequest
    ) -> Page[RetentionPolicyOut]:
        """The tenant's policies, the oldest first."""
        found = await RetentionPolicyRows(session, subject.tenant).page(page)
        return Page([_shown(row) for row in found[: page.limit]], next_key(found, page))

    async def update(
        self,
        session: AsyncSession,
        subject: Subject,
        policy: UUID,
        change: RetentionPolicyChange,
        *,
        revision: int | None = None,
    ) -> RetentionPolicyOut:
        """Give a policy another term. Raises NotFound, PreconditionFailed and ClearanceExceeded."""
        rows = RetentionPolicyRows(session, subject.tenant)
        held = await rows.hold(policy, revision=revision)
        _require_reach(subject, level_at(held.classification))
        row = await rows.change(policy, keep_days=change.keep_days)
        await self._record(session, subject, AuditAction.RETENTION_POLICY_UPDATE, row)
        return _shown(row)

    async def delete(
        self, session: AsyncSession, subject: Subject, policy: UUID, *, revision: int | None = None
    ) -> None:
        """Remove a policy: its documents are kept as the next one that fits says, or for ever.

        Raises NotFound, PreconditionFailed and ClearanceExceeded.
        """
        rows = RetentionPolicyRows(session, subject.tenant)
        row = await rows.hold(policy, revision=revision)
        _require_reach(subject, level_at(row.classification))
        await rows.remove(policy)
        await self._record(session, subject, AuditAction.RETENTION_POLICY_DELETE, row)

    async def due(
        self, session: AsyncSession, subject: Subject, page: PageRequest, within_days: int
    ) -> Page[DueDocument]:
        """What the policies will have removed within so many days, as far as the caller is cleared for it.

        A page may hold fewer than asked for, or none, and be followed by another.
        """
        found, upto = await DueRows(session, subject.tenant).page(page, within_days, subject.clearance)
        return Page([_due(each) for each in found], None if upto is None else (str(upto),))

    async def expired(
        self, session: AsyncSession, subject: Subject, page: PageRequest
    ) -> Page[ExpiredDocument]:
        """What the policies had removed, the oldest first, as far as the caller is cleared for it."""
        found = await ExpirationRows(session, subject.tenant).page(page, subject.clearance)
        items = [
            ExpiredDocument.model_validate(
                {
                    "document_id": row.id,
                    "knowledge_base_id": row.base_id,
                    "classification": LEVELS[row.classification],
                    "policy_id": row.policy_id,
                    "keep_days": row.keep_days,
                    "due_at": row.due_at,
                    "expired_at": row.created_at,
                    "status": status,
                }
            )
            for row, status in found[: page.limit]
        ]
        return Page(items, next_key([row for row, _ in found], page))

    async def _record(
        self, session: AsyncSession, subject: Subject, action: AuditAction, row: RetentionPolicy
    ) -> None:
        shown = _shown(row)
        await self._audit.record(
            session,
            subject,
            action,
            resource=Resource("retention_policy", str(row.id)),
            facts={
                "base": None if row.base_id is None else str(row.base_id),
                "level": None if shown.classification is None else shown.classification.value,
                "keep_days": row.keep_days,
            },
        )


def _require_reach(subject: Subject, classification: Classification | None) -> None:
    """Raise ClearanceExceeded for a policy that reaches too high: one without a level reaches every level."""
    require_clearance(subject, classification or LEVELS[-1])


async def _base(session: AsyncSession, subject: Subject, reference: str | None) -> UUID | None:
    if reference is None:
        return None
    base = await base_of_tenant(session, subject.tenant, reference)
    if base is None:
        raise InvalidInput.field("knowledge_base_id", "knowledge_base_unknown", "names no base of the tenant")
    return base.id


def _shown(row: RetentionPolicy) -> RetentionPolicyOut:
    return RetentionPolicyOut(
        id=row.id,
        knowledge_base_id=row.base_id,
        classification=None if row.classification is None else LEVELS[row.classification],
        keep_days=row.keep_days,
        created_at=row.created_at,
        updated_at=row.updated_at,
        revision=row.revision,
    )


def _due(due: Due) -> DueDocument:
    return DueDocument(
        document_id=due.document,
        knowledge_base_id=due.base,
        classification=LEVELS[due.level],
        policy_id=due.policy,
        keep_days=due.keep_days,
        due_at=due.due_at,
        is_held=due.is_held,
    )
