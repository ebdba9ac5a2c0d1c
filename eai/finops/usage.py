"""The ledger of usage: summed up for whoever pays, and open for what other systems measured."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.subject import Subject
from eai.audit.actions import AuditAction
from eai.audit.entries import Actor, AuditEntry, Evidence, Resource, UsageRow
from eai.audit.service import Audit
from eai.finops.models import UsageEvent
from eai.finops.repository import UsageRows
from eai.finops.schemas import NewUsage, UsageKey, UsageOut, UsageSum
from eai.kernel.clock import Clock
from eai.kernel.errors import InvalidInput
from eai.kernel.paging import Page, PageRequest
from eai.platform.database import Database


class UsageLedger:
    """Reads usage, and takes what clients tell of; what they tell counts to no quota."""

    def __init__(self, database: Database, audit: Audit, clock: Clock) -> None:
        self._database = database
        self._audit = audit
        self._clock = clock

    async def sums(
        self,
        session: AsyncSession,
        subject: Subject,
        request: PageRequest,
        *,
        keys: tuple[UsageKey, ...],
        since: datetime | None,
        until: datetime | None,
    ) -> Page[UsageSum]:
        """Usage from `since` (the present month's beginning) until before `until` (now), by `keys`."""
        rows = UsageRows(session, subject.tenant)
        found = await rows.sums(keys, since, until, request.after, request.limit + 1)
        shown = found[: request.limit]
        names = [*(key.value for key in keys), "kind", "unit", "external"]
        more = tuple(str(shown[-1][name]) for name in names) if len(found) > len(shown) else None
        return Page([_sum(row) for row in shown], more)

    async def record(
        self, subject: Subject, event: UUID, told: NewUsage, *, is_repeated: bool = False
    ) -> UsageOut:
        """Add what a client tells of, as `event`, with its audit event; returns once both are durable.

        `is_repeated`: it may have been added before, and then is not added again. Raises InvalidInput for
        what has not happened yet, and AuditUnavailable.
        """
        now = self._clock.now()
        if told.occurred_at is not None and told.occurred_at > now:
            raise InvalidInput.field("occurred_at", "datetime_past", "lies in the future")
        if is_repeated and (found := await self._found(subject, event)):
            return found
        row = UsageRow(
            subject.tenant,
            principal=subject.principal,
            api_key=subject.api_key,
            labels=told.labels.given(),
            id=event,
            is_external=True,
            occurred_at=told.occurred_at or now,
            **told.model_dump(exclude={"labels", "occurred_at"}),
        )
        await self._audit.flush(Evidence(entries=(_told(subject, row),), usage=(row,)))
        return _shown(row)

    async def _found(self, subject: Subject, event: UUID) -> UsageOut | None:
        async with self._database.transaction(subject.tenant) as session:
            row = await UsageRows(session, subject.tenant).find(event)
        return _shown(row) if row is not None else None


def _told(subject: Subject, row: UsageRow) -> AuditEntry:
    return AuditEntry(
        subject.tenant,
        AuditAction.USAGE_RECORD,
        Actor.of(subject),
        Resource("usage", str(row.id)),
        facts={"quantity": row.quantity, "tokens": row.tokens, "cost_micros": row.cost_micros},
        private={"kind": row.kind, "unit": row.unit, "labels": dict(row.labels)},
    )


def _shown(row: UsageRow | UsageEvent) -> UsageOut:
    return UsageOut.model_validate(row, from_attributes=True)


def _sum(row: Any) -> UsageSum:
    named = {name: value or None for name, value in row.items() if name in set(UsageKey)}
    return UsageSum(
        **named,
        kind=row["kind"],
        unit=row["unit"],
        is_external=row["external"] == "true",
        events=row["events"],
        quantity=int(row["quantity"]),
        tokens=int(row["tokens"]),
        cost_micros=int(row["cost_micros"]),
    )
