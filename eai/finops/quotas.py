"""Quotas as administrators set them: how much of what an owner may take in each period."""

from collections.abc import Mapping, Sequence
from uuid import UUID

from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.subject import Subject
from eai.audit.actions import AuditAction
from eai.audit.entries import Resource
from eai.audit.service import Audit
from eai.finops.errors import OwnerUnknown
from eai.finops.holding_rows import Holding, count_bases, holdings
from eai.finops.models import Quota
from eai.finops.repository import Owner, QuotaRows, Standing
from eai.finops.schemas import Metric, NewQuota, QuotaOut, Window
from eai.kernel.canonical import Canonical
from eai.kernel.errors import InvalidInput, PreconditionFailed
from eai.kernel.paging import Page, PageRequest
from eai.platform.listing import next_key

KEPT = frozenset({Metric.KNOWLEDGE_BASES, Metric.DOCUMENTS, Metric.BYTES})


class Quotas:
    """What an administrator does with quotas. Without a row nothing is limited."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit

    async def set(
        self,
        session: AsyncSession,
        subject: Subject,
        quota: UUID,
        wanted: NewQuota,
        *,
        revision: int | None = None,
    ) -> QuotaOut:
        """Make the owner's quota of this metric and window, as `quota`, or change its limit.

        What was used and is held stays counted; a new quota begins with what its owner used in the present
        period, so that none is forgotten by making it anew. Raises OwnerUnknown, and PreconditionFailed
        unless `revision`, when given, is the current one.
        """
        owner = Owner.read(wanted.owner)
        _check_fit(owner, wanted)
        rows = QuotaRows(session, subject.tenant)
        there = await rows.of(owner, wanted.metric, wanted.period)
        if there is None:
            await rows.begin()
        if revision not in {None, there and there.revision}:
            raise PreconditionFailed
        row = await _added(rows, subject, quota, wanted) if there is None else None
        if row is None:
            # It was there, or somebody else has just made it.
            there = there or await rows.of(owner, wanted.metric, wanted.period)
            row = await rows.change(there.id if there else quota, limit_value=wanted.limit)
        (shown,) = await _shown_all(rows, [row])
        await self._record(session, subject, AuditAction.QUOTA_SET, row)
        return shown

    async def get(self, session: AsyncSession, subject: Subject, quota: UUID) -> QuotaOut:
        """One quota. Raises NotFound."""
        rows = QuotaRows(session, subject.tenant)
        (shown,) = await _shown_all(rows, [await rows.get(quota)])
        return shown

    async def page(self, session: AsyncSession, subject: Subject, request: PageRequest) -> Page[QuotaOut]:
        """The tenant's quotas, the oldest first."""
        rows = QuotaRows(session, subject.tenant)
        found = await rows.page(request)
        listed = found[: request.limit]
        return Page(await _shown_all(rows, listed), next_key(found, request))

    async def delete(
        self, session: AsyncSession, subject: Subject, quota: UUID, *, revision: int | None = None
    ) -> None:
        """Remove a quota: what it bounded is unlimited. Raises NotFound and PreconditionFailed."""
        rows = QuotaRows(session, subject.tenant)
        row = await rows.hold(quota, revision=revision)
        await rows.remove(quota)
        await self._record(session, subject, AuditAction.QUOTA_DELETE, row)

    async def _record(self, session: AsyncSession, subject: Subject, action: AuditAction, row: Quota) -> None:
        facts: dict[str, Canonical] = {
            "owner": _reference(row),
            "metric": row.metric,
            "window": row.period,
            "limit": row.limit_value,
        }
        await self._audit.record(
            session, subject, action, resource=Resource("quota", str(row.id)), facts=facts
        )


async def _added(rows: QuotaRows, subject: Subject, quota: UUID, wanted: NewQuota) -> Quota | None:
    """The new quota, unless the owner has one like it."""
    owner = Owner.read(wanted.owner)
    try:
        row = await rows.insert(
            quota,
            group_id=owner.group,
            base_id=owner.base,
            metric=wanted.metric,
            period=wanted.period,
            limit_value=wanted.limit,
            created_by=subject.principal,
        )
    except IntegrityError as error:
        # Its owner is no group and no base of this tenant.
        raise OwnerUnknown from error
    if row is not None and wanted.period is not Window.TOTAL:
        await rows.take_over(row)
    return row


def _check_fit(owner: Owner, wanted: NewQuota) -> None:
    """Raise InvalidInput for a window or an owner that the metric does not have."""
    is_kept = wanted.metric in KEPT
    if is_kept is not (wanted.period is Window.TOTAL):
        raise InvalidInput.field("window", "window_not_for_metric", "does not fit the metric")
    if wanted.metric is Metric.KNOWLEDGE_BASES and owner != Owner():
        raise InvalidInput.field("owner", "owner_not_for_metric", "does not fit the metric")


async def _shown_all(rows: QuotaRows, quotas: Sequence[Quota]) -> list[QuotaOut]:
    standings = dict(await rows.standings([row.id for row in quotas]))
    kept = [row for row in quotas if row.metric in KEPT]
    if kept:
        bases = await count_bases(rows.session, rows.tenant)
        held = await holdings(rows.session, rows.tenant, None)
        standings |= {row.id: Standing(_kept(row, bases, held), 0, None) for row in kept}
    return [_shown(row, standings[row.id]) for row in quotas]


def _kept(row: Quota, bases: int, held: Mapping[UUID, Holding]) -> int:
    """What is kept of the quota's metric: by its base, or by the fullest one."""
    if row.metric == Metric.KNOWLEDGE_BASES:
        return bases
    of = [held.get(row.base_id, Holding())] if row.base_id else held.values()
    return max((each.documents if row.metric == Metric.DOCUMENTS else each.bytes for each in of), default=0)


def _reference(row: Quota) -> str:
    return str(Owner(row.group_id, row.base_id))


def _shown(row: Quota, standing: Standing) -> QuotaOut:
    return QuotaOut(
        id=row.id,
        owner=_reference(row),
        metric=Metric(row.metric),
        window=Window(row.period),
        limit=row.limit_value,
        used=standing.used,
        reserved=standing.reserved,
        remaining=max(0, row.limit_value - standing.used - standing.reserved),
        resets_at=standing.resets_at,
        created_at=row.created_at,
        updated_at=row.updated_at,
        revision=row.revision,
    )
