"""Writes the audit: a mutation's event within its transaction, everything else in groups."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import partial
from types import MappingProxyType
from typing import Any

from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.subject import Subject
from eai.audit.actions import AuditAction
from eai.audit.body import PrivateValues, entry_body
from eai.audit.details import Details
from eai.audit.entries import (
    Actor,
    AuditEntry,
    Decision,
    Evidence,
    Resource,
    SealedEntry,
    Settlement,
    UsageRow,
)
from eai.audit.errors import AuditUnavailable
from eai.audit.read_log import ReadLog
from eai.audit.repository import AuditRows, Portion, SealedDetails, flush_portions
from eai.audit.timestamps import timestamp
from eai.kernel.canonical import Canonical
from eai.kernel.clock import Clock
from eai.kernel.ids import TenantId
from eai.platform.context import WorkContext, current_work
from eai.platform.database import Database

DEADLINE_S = 5.0
_NOTHING: Mapping[str, Canonical] = MappingProxyType({})


class Audit:
    """The audit as the other slices use it. One per process."""

    def __init__(
        self, database: Database, details: Details, clock: Clock, *, deadline_s: float = DEADLINE_S
    ) -> None:
        self._details = details
        self._clock = clock
        self._log = ReadLog(partial(flush_portions, database), deadline_s=deadline_s)

    async def record(
        self,
        session: AsyncSession,
        by: Subject | Actor | None,
        action: AuditAction,
        *,
        tenant: TenantId | None = None,
        resource: Resource | None = None,
        decision: Decision = Decision.ALLOW,
        facts: Mapping[str, Canonical] = _NOTHING,
        private: Mapping[str, Canonical] = _NOTHING,
    ) -> int:
        """Add a mutation's event to its own transaction, and return the event's seq.

        Call it last: it holds the head of the tenant's chain until the commit. `tenant` is needed where
        `by` is no subject; it is the tenant that `session` is bound to. Raises AuditUnavailable, and
        then the transaction is lost.
        """
        owner = by.tenant if isinstance(by, Subject) and tenant is None else tenant
        if owner is None:
            raise ValueError("an event without a subject must name its tenant")
        actor = Actor.of(by) if isinstance(by, Subject) else by
        entry = AuditEntry(owner, action, actor, resource, decision, facts, private)
        return await self.append(session, entry)

    async def has_recorded(
        self, session: AsyncSession, tenant: TenantId, action: AuditAction, resource: Resource
    ) -> bool:
        """Whether the chain of `tenant`, to which `session` is bound, tells that this was done.

        It reads the chain: for what is rare, and must not be told twice.
        """
        return await AuditRows(session, tenant).tells_of(action, resource.kind, resource.id)

    async def append(self, session: AsyncSession, entry: AuditEntry) -> int:
        """Like `record`, for an event that is already put together."""
        private = PrivateValues.of(entry.private) if entry.private else None
        body = entry_body(entry, self._moment(entry), current_work(), private)
        try:
            sealed = await self._details.seal_within(session, entry, private) if private else None
            return await AuditRows(session, entry.tenant).append(body, sealed)
        except DBAPIError as error:
            raise AuditUnavailable from error

    def fingerprint(self, tenant: TenantId, digest: bytes) -> str:
        """What facts say of a text with this SHA-256: it confirms no guess without the tenant's key."""
        return self._details.fingerprint(tenant, digest)

    async def seal(self, entry: AuditEntry) -> SealedEntry:
        """`entry` as it will be stored, for a SQL function that appends it together with what it does.

        What it says of the time is now. Such a function holds the head of the chain until it commits.
        """
        (body,), (details,) = await self._sealed([entry], current_work())
        if details is None:
            return SealedEntry(body)
        return SealedEntry(body, details.subject, details.key_id, details.sealed)

    async def flush(self, evidence: Evidence) -> None:
        """Return once all of `evidence` is durable, together with that of whoever else waits.

        Each tenant's part is written whole or not at all; documents shown and reservations closed are of
        the tenant of the first entry. Raises AuditUnavailable, and then what it tells of must not be
        answered.
        """
        portions = await self._portions(evidence, current_work())
        if len(portions) == 1:
            await self._log.write(portions[0])
        elif portions:
            await asyncio.gather(*(self._log.write(portion) for portion in portions))

    async def close(self) -> None:
        """Wait for what is being written."""
        await self._log.drain()

    async def _portions(self, evidence: Evidence, work: WorkContext) -> list[Portion]:
        tenants = dict.fromkeys([*(e.tenant for e in evidence.entries), *(u.tenant for u in evidence.usage)])
        if evidence.retrieved and not evidence.entries:
            raise ValueError("documents were shown without an event that says so")
        if evidence.settled and not evidence.entries:
            raise ValueError("a reservation was closed without an event that says so")
        first = evidence.entries[0].tenant if evidence.entries else None
        portions = []
        for tenant in tenants:
            entries = [entry for entry in evidence.entries if entry.tenant == tenant]
            usage = [_usage_fields(u, self._clock.now(), work) for u in evidence.usage if u.tenant == tenant]
            bodies, details = await self._sealed(entries, work)
            shown = evidence.retrieved if tenant == first else ()
            settled = [_settlement(each) for each in evidence.settled] if tenant == first else ()
            portions.append(Portion(tenant, bodies, details, usage, shown, settled))
        return portions

    async def _sealed(
        self, entries: Sequence[AuditEntry], work: WorkContext
    ) -> tuple[list[bytes], list[SealedDetails | None]]:
        bodies: list[bytes] = []
        details: list[SealedDetails | None] = []
        for entry in entries:
            private = PrivateValues.of(entry.private) if entry.private else None
            bodies.append(entry_body(entry, self._moment(entry), work, private))
            details.append(await self._details.seal(entry, private) if private else None)
        return bodies, details

    def _moment(self, entry: AuditEntry) -> datetime:
        return entry.occurred_at or self._clock.now()


def _usage_fields(row: UsageRow, at: datetime, work: WorkContext) -> dict[str, Any]:
    return {
        "id": row.id,
        "occurred_at": timestamp(row.occurred_at or at),
        "kind": row.kind,
        "unit": row.unit,
        "quantity": row.quantity,
        "provider": row.provider,
        "region": row.region,
        "model": row.model,
        "tokens": row.tokens,
        "cost_micros": row.cost_micros,
        "principal": row.principal,
        "api_key": row.api_key,
        "request_id": work.request_id,
        "labels": dict(row.labels),
        "base_id": row.base,
        "is_external": row.is_external,
    }


def _settlement(each: Settlement) -> dict[str, Any]:
    return {"reservation": each.reservation, "state": each.state, "tokens": each.tokens}
