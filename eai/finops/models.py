"""The tables of quotas, of what is used and held of them, and of usage."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from eai.identity.models import RevisedRow
from eai.platform.schema import Json, Row


class Quota(RevisedRow):
    """How much of `metric` its owner may take in each calendar `period` (UTC).

    The owner is a group, a knowledge base or, without either, the tenant.
    """

    __tablename__ = "quotas"

    group_id: Mapped[UUID | None]
    base_id: Mapped[UUID | None]
    metric: Mapped[str]
    period: Mapped[str]
    limit_value: Mapped[int] = mapped_column(BigInteger)


class QuotaUsage(Row):
    """What was taken of a quota in one period, and what calls hold of it."""

    __tablename__ = "quota_usage"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    quota_id: Mapped[UUID] = mapped_column(primary_key=True)
    period_start: Mapped[datetime] = mapped_column(primary_key=True)
    used: Mapped[int] = mapped_column(BigInteger, server_default="0")
    reserved: Mapped[int] = mapped_column(BigInteger, server_default="0")


class ModelReservation(Row):
    """What one call holds, until exactly one outcome closes it."""

    __tablename__ = "model_reservations"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    id: Mapped[UUID] = mapped_column(primary_key=True)
    model: Mapped[str]
    endpoint: Mapped[str | None]
    operation: Mapped[str]
    principal: Mapped[UUID | None]
    tokens_bound: Mapped[int] = mapped_column(BigInteger)
    quotas: Mapped[list[Json]] = mapped_column(JSONB)
    usage: Mapped[Json | None] = mapped_column(JSONB)
    state: Mapped[str]
    intent_seq: Mapped[int | None] = mapped_column(BigInteger)
    lease_until: Mapped[datetime]
    created_at: Mapped[datetime]
    settled_at: Mapped[datetime | None]
    tokens_used: Mapped[int | None] = mapped_column(BigInteger)


class UsageEvent(Row):
    """What one piece of work consumed. Rows come through the audit's flush only."""

    __tablename__ = "usage_events"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    id: Mapped[UUID] = mapped_column(primary_key=True)
    occurred_at: Mapped[datetime]
    kind: Mapped[str]
    unit: Mapped[str]
    quantity: Mapped[int] = mapped_column(BigInteger)
    provider: Mapped[str | None]
    region: Mapped[str | None]
    model: Mapped[str | None]
    tokens: Mapped[int] = mapped_column(BigInteger, server_default="0")
    cost_micros: Mapped[int] = mapped_column(BigInteger, server_default="0")
    principal: Mapped[UUID | None]
    api_key: Mapped[UUID | None]
    request_id: Mapped[str | None]
    labels: Mapped[Json] = mapped_column(JSONB)
    base_id: Mapped[UUID | None]
    is_external: Mapped[bool] = mapped_column(server_default="false")
