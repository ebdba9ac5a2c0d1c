"""Every query on quotas, reservations and usage. Reservations are made by one SQL function."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from sqlalchemy import ColumnElement, Text, case, func, literal, select, text, tuple_
from sqlalchemy import cast as sql_cast
from sqlalchemy.dialects.postgresql import INTERVAL
from sqlalchemy.ext.asyncio import AsyncSession

from eai.finops.models import ModelReservation, Quota, QuotaUsage, UsageEvent
from eai.finops.schemas import UsageKey
from eai.identity.repository import Rows
from eai.kernel.ids import TenantId
from eai.platform.database import Database

BATCH = 1_000


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose quota: a group's, a knowledge base's or, with neither, the tenant's."""

    group: UUID | None = None
    base: UUID | None = None

    @classmethod
    def read(cls, reference: str) -> "Owner":
        """From `tenant`, `group:<id>` or `knowledge_base:<id>`."""
        kind, _, owner = reference.partition(":")
        return cls(**{_OWNERS[kind]: UUID(owner)}) if owner else cls()

    def __str__(self) -> str:
        owned = [f"{kind}:{owner}" for kind, name in _OWNERS.items() if (owner := getattr(self, name))]
        return owned[0] if owned else "tenant"


_OWNERS = {"group": "group", "knowledge_base": "base"}


@dataclass(frozen=True, slots=True)
class Standing:
    """What was taken of a quota in the present period, what is held of it, and when the period ends."""

    used: int
    reserved: int
    resets_at: datetime | None


class QuotaRows(Rows[Quota]):
    """Quotas."""

    model = Quota

    async def of(self, owner: Owner, metric: str, period: str) -> Quota | None:
        """The owner's quota of this metric and period, held until the transaction ends."""
        statement = select(Quota).where(
            Quota.tenant_id == self.tenant,
            Quota.group_id.is_not_distinct_from(owner.group),
            Quota.base_id.is_not_distinct_from(owner.base),
            Quota.metric == metric,
            Quota.period == period,
        )
        return await self.session.scalar(
            statement.with_for_update(key_share=True), execution_options={"populate_existing": True}
        )

    async def begin(self) -> None:
        """Wait for every reservation that is about to commit; the next ones wait for this transaction."""
        await self.session.execute(_BEGIN, {"tenant": self.tenant})

    async def take_over(self, quota: Quota) -> None:
        """Count what was used in the present period before there was this quota; what is held, at its bound.

        Of a group, it is what its present members used. No reservation commits meanwhile: see `begin`.
        """
        parameters = {
            "tenant": self.tenant, "quota": quota.id, "period": quota.period, "metric": quota.metric,
            "group": quota.group_id, "base": quota.base_id,
        }  # fmt: skip
        await self.session.execute(_TAKE_OVER, parameters)

    async def standings(self, quotas: Sequence[UUID]) -> Mapping[UUID, Standing]:
        """Where each of these quotas stands now, by the database's clock."""
        is_periodic = Quota.period != "total"
        starts = case((is_periodic, func.date_trunc(Quota.period, func.now(), "UTC")))
        length = case((Quota.period == "month", "1 month"), else_="1 minute")
        ends = func.timezone("UTC", func.timezone("UTC", starts) + sql_cast(length, INTERVAL))
        statement = (
            select(Quota.id, func.coalesce(QuotaUsage.used, 0), func.coalesce(QuotaUsage.reserved, 0), ends)
            .outerjoin(
                QuotaUsage,
                (QuotaUsage.tenant_id == Quota.tenant_id)
                & (QuotaUsage.quota_id == Quota.id)
                & (QuotaUsage.period_start == starts),
            )
            .where(Quota.tenant_id == self.tenant, Quota.id.in_(quotas))
        )
        return {row[0]: Standing(*row[1:]) for row in await self.session.execute(statement)}


class ReservationRows:
    """The reservations of one tenant, as far as they are not made or settled."""

    def __init__(self, session: AsyncSession, tenant: TenantId) -> None:
        self._session = session
        self._tenant = tenant

    async def expired(self, limit: int) -> Sequence[ModelReservation]:
        """Up to `limit` that are still held past their lease, the oldest first."""
        statement = (
            select(ModelReservation)
            .where(
                ModelReservation.tenant_id == self._tenant,
                ModelReservation.state == "held",
                ModelReservation.lease_until <= func.now(),
            )
            .order_by(ModelReservation.lease_until, ModelReservation.id)
            .limit(limit)
        )
        return (await self._session.scalars(statement)).all()

    async def forget(self) -> None:
        """Remove a thousand that were closed a week ago, and as many rows of usage that no quota asks about.

        One process at a time; whoever comes second leaves it to the first.
        """
        if await self._session.scalar(_TAKE_TURN):
            for each in (_OLD_CALLS, _OLD_USAGE):
                await self._session.execute(each, {"batch": BATCH})


class UsageRows:
    """Usage events of one tenant."""

    def __init__(self, session: AsyncSession, tenant: TenantId) -> None:
        self._session = session
        self._tenant = tenant

    async def find(self, event: UUID) -> UsageEvent | None:
        """The event, if it is there."""
        return await self._session.get(UsageEvent, (self._tenant, event))

    async def sums(
        self,
        keys: Sequence[UsageKey],
        since: datetime | None,
        until: datetime | None,
        after: tuple[str, ...] | None,
        limit: int,
    ) -> Sequence[Mapping[str, Any]]:
        """Up to `limit` sums, in the order of their keys and beyond `after`; absent values are empty texts.

        `since` is the beginning of the present month where it is not given.
        """
        begin = func.date_trunc("month", func.now(), "UTC") if since is None else literal(since)
        events = (
            select(
                *(_KEYS[key].label(key.value) for key in keys),
                UsageEvent.kind,
                UsageEvent.unit,
                sql_cast(UsageEvent.is_external, Text).label("external"),
                UsageEvent.quantity,
                UsageEvent.tokens,
                UsageEvent.cost_micros,
            )
            .where(UsageEvent.tenant_id == self._tenant, UsageEvent.occurred_at >= begin)
            .where(*(() if until is None else (UsageEvent.occurred_at < until,)))
            .subquery()
        )
        group = [events.c[name] for name in (*(key.value for key in keys), "kind", "unit", "external")]
        sums = [func.sum(events.c[name]).label(name) for name in ("quantity", "tokens", "cost_micros")]
        statement = select(*group, func.count().label("events"), *sums).group_by(*group).order_by(*group)
        if after is not None:
            statement = statement.where(tuple_(*group) > tuple_(*after))
        return [dict(row) for row in (await self._session.execute(statement.limit(limit))).mappings()]


async def reserve_model_call(
    database: Database, parameters: Mapping[str, Any]
) -> tuple[str | None, Mapping[str, Any]]:
    """Hold what one call may cost: why not, or None, and what there is to say of it.

    One statement, which binds the tenant itself; see the function in migration 0008.
    """
    ((refusal, detail),) = await database.waiting_statement(parameters["tenant"], _RESERVE, parameters)
    return refusal, cast("Mapping[str, Any]", detail)


async def tenants_with_expired_calls(database: Database) -> list[TenantId]:
    """Tenants of which a reservation is held past its lease: a named cross-tenant step that tells ids."""
    rows = await database.statement("SELECT eai.tenants_with_expired_calls()", {}, is_repeatable=True)
    return [TenantId(tenant) for (tenant,) in rows]


def _label(name: str) -> ColumnElement[str]:
    return func.coalesce(UsageEvent.labels[name].astext, "")


_KEYS: Mapping[UsageKey, ColumnElement[str]] = {
    UsageKey.DAY: func.to_char(func.timezone("UTC", UsageEvent.occurred_at), "YYYY-MM-DD"),
    UsageKey.MODEL: func.coalesce(UsageEvent.model, ""),
    UsageKey.OPERATION: _label("operation"),
    UsageKey.PROJECT: _label("project"),
    UsageKey.AGENT: _label("agent"),
    UsageKey.KNOWLEDGE_BASE: func.coalesce(sql_cast(UsageEvent.base_id, Text), ""),
}
_RESERVE = """
    SELECT refusal, detail
      FROM eai.reserve_model_call(
           %(tenant)s::uuid, %(id)s::uuid, %(principal)s::uuid, %(groups)s::uuid[], %(base)s::uuid,
           %(model)s::text, %(endpoint)s::text, %(operation)s::text, %(tokens)s::bigint,
           %(lease_s)s::double precision, %(usage)s::jsonb,
           %(body)b::bytea, %(subject)s::uuid, %(key)s::uuid, %(sealed)b::bytea)"""
_BEGIN = text("SELECT pg_advisory_xact_lock(eai.kill_switch_lock(:tenant))")
# Calls that are held tell of themselves once they end, but to the quotas that held them only.
_TAKE_OVER = text("""
    WITH period AS (
         SELECT date_trunc(:period, now(), 'UTC') AS starts),
    calls AS (
         SELECT e.tokens, e.principal, e.base_id
           FROM eai.usage_events e, period p
          WHERE e.tenant_id = :tenant AND e.occurred_at >= p.starts AND NOT e.is_external
            AND e.kind IN ('embeddings', 'reranking', 'chat')
         UNION ALL
         SELECT r.tokens_bound, r.principal, (r.usage ->> 'base')::uuid
           FROM eai.model_reservations r, period p
          WHERE r.tenant_id = :tenant AND r.state = 'held' AND r.created_at >= p.starts)
    INSERT INTO eai.quota_usage (tenant_id, quota_id, period_start, used)
    SELECT :tenant, :quota, p.starts,
           COALESCE(sum(CASE :metric WHEN 'tokens' THEN c.tokens ELSE 1 END), 0)
      FROM period p LEFT JOIN calls c
        ON (CAST(:base AS uuid) IS NULL OR c.base_id = :base)
       AND (CAST(:group AS uuid) IS NULL
            OR c.principal IN (SELECT m.principal_id FROM eai.group_members m
                                WHERE m.tenant_id = :tenant AND m.group_id = :group))
     GROUP BY p.starts""")
_TAKE_TURN = text("SELECT pg_try_advisory_xact_lock(hashtextextended('eai.finops.forget', 0))")
_OLD_CALLS = text("""
    WITH due AS MATERIALIZED (
         SELECT id FROM eai.model_reservations
          WHERE state <> 'held' AND settled_at <= now() - interval '7 days'
          ORDER BY settled_at LIMIT :batch)
    DELETE FROM eai.model_reservations AS call USING due WHERE call.id = due.id""")
# Months are kept for a year, minutes for a day; of a quota that was deleted, nothing that no call holds.
_OLD_USAGE = text("""
    WITH due AS MATERIALIZED (
         SELECT u.quota_id, u.period_start
           FROM eai.quota_usage u
           LEFT JOIN eai.quotas q ON q.tenant_id = u.tenant_id AND q.id = u.quota_id
          WHERE u.reserved = 0
            AND (q.id IS NULL OR u.period_start < now() - interval '13 months'
                 OR (q.period = 'minute' AND u.period_start < now() - interval '1 day'))
          LIMIT :batch FOR UPDATE OF u SKIP LOCKED)
    DELETE FROM eai.quota_usage AS taken USING due
     WHERE (taken.quota_id, taken.period_start) = (due.quota_id, due.period_start)""")
