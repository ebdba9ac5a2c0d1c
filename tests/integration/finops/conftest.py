"""Quotas and reservations over real PostgreSQL."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import text

from eai.audit.actions import AuditAction
from eai.audit.details import Details
from eai.audit.entries import (
    Actor,
    AuditEntry,
    Evidence,
    ReservationState,
    Resource,
    SealedEntry,
    Settlement,
    UsageRow,
)
from eai.audit.service import Audit
from eai.finops.reservations import Bound, Reservation, Reservations
from eai.kernel.clock import SystemClock
from eai.kernel.ids import ApiKeyId, BaseId, GroupId, PrincipalId, TenantId
from eai.platform.database import Database
from eai.platform.keys import Keyring, MasterKey

ACTOR = Actor("user", PrincipalId(UUID(int=1)), ApiKeyId(UUID(int=2)))
MODEL = Resource("model", "m")


@dataclass(frozen=True)
class Purse:
    """One tenant's quotas and what calls do to them."""

    tenant: TenantId
    database: Database
    audit: Audit
    reservations: Reservations

    async def rows(self, statement: str, **parameters: Any) -> Sequence[Any]:
        """Raw SQL as the tenant's application."""
        async with self.database.transaction(self.tenant) as session:
            result = await session.execute(text(statement), parameters)
            return result.all() if result.returns_rows else []

    async def quota(
        self,
        limit: int,
        metric: str = "tokens",
        period: str = "month",
        *,
        group: GroupId | None = None,
    ) -> UUID:
        """The id of a new quota."""
        quota = uuid4()
        await self.rows(
            "INSERT INTO eai.quotas (tenant_id, id, group_id, metric, period, limit_value)"
            " VALUES (:tenant, :id, :group, :metric, :period, :limit)",
            tenant=self.tenant,
            id=quota,
            group=group,
            metric=metric,
            period=period,
            limit=limit,
        )
        return quota

    async def group(self) -> GroupId:
        group = GroupId(uuid4())
        await self.rows(
            "INSERT INTO eai.groups (tenant_id, id, name) VALUES (:tenant, :id, :name)",
            tenant=self.tenant,
            id=group,
            name=f"group {group}",
        )
        return group

    async def reserve(
        self,
        tokens: int = 10,
        *,
        intent: SealedEntry | None = None,
        groups: Sequence[GroupId] = (),
        base: BaseId | None = None,
        endpoint: str | None = "e",
        lease_s: float = 60,
        usage: UsageRow | None = None,
    ) -> Reservation:
        bound = Bound(
            self.tenant,
            ACTOR.principal,
            groups,
            base,
            "m",
            endpoint,
            "query",
            tokens,
            lease_s,
            usage,
        )
        return await self.reservations.reserve(bound, intent)

    async def intent(self) -> SealedEntry:
        entry = AuditEntry(self.tenant, AuditAction.MODEL_INVOKE, ACTOR, MODEL, private={"who": "Ann"})
        return await self.audit.seal(entry)

    async def end(
        self,
        *held: Reservation,
        state: ReservationState = ReservationState.SETTLED,
        tokens: int = 0,
    ) -> None:
        """Settle each with one event."""
        entry = AuditEntry(self.tenant, AuditAction.MODEL_RESULT, ACTOR, MODEL)
        settled = tuple(Settlement(each.id, state, tokens) for each in held)
        await self.audit.flush(Evidence(entries=(entry,), settled=settled))

    async def taken(self) -> dict[UUID, tuple[int, int]]:
        """Used and reserved of each quota that anybody ever took of."""
        rows = await self.rows(
            "SELECT quota_id, sum(used)::int, sum(reserved)::int FROM eai.quota_usage GROUP BY 1"
        )
        return {row[0]: (row[1], row[2]) for row in rows}

    async def states(self) -> list[str]:
        return [
            state
            for (state,) in await self.rows("SELECT state FROM eai.model_reservations ORDER BY created_at")
        ]

    async def actions(self) -> list[str]:
        return [action for (action,) in await self.rows("SELECT action FROM eai.audit_events ORDER BY seq")]


def audit_over(database: Database, *, deadline_s: float = 1.0) -> Audit:
    """An audit of its own, as every process has one."""
    keyring = Keyring(MasterKey(b"m" * 32), database)
    return Audit(database, Details(database, keyring), SystemClock(), deadline_s=deadline_s)


@pytest.fixture
async def audit(database: Database) -> AsyncIterator[Audit]:
    made = audit_over(database)
    yield made
    await made.close()


@pytest.fixture
def purse(database: Database, audit: Audit, tenant: TenantId) -> Purse:
    return Purse(tenant, database, audit, Reservations(database))


@pytest.fixture
def other_purse(database: Database, audit: Audit, other_tenant: TenantId) -> Purse:
    return Purse(other_tenant, database, audit, Reservations(database))
