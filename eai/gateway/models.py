"""The tables of the registry: endpoints, models and kill switches."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, BigInteger, Integer, LargeBinary, SmallInteger, Uuid, func
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from eai.identity.models import RevisedRow
from eai.platform.schema import Row


class EndpointRow(Row):
    """A provider. Tenants see those that serve them; operators write. `tenants` null serves everybody."""

    __tablename__ = "provider_endpoints"

    id: Mapped[UUID] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(unique=True)
    kind: Mapped[str]
    template: Mapped[str | None]
    url: Mapped[str | None]
    region: Mapped[str]
    retention: Mapped[str]
    classification_ceiling: Mapped[int] = mapped_column(SmallInteger)
    tenants: Mapped[list[UUID] | None] = mapped_column(ARRAY(Uuid))
    sealed_key: Mapped[bytes | None] = mapped_column(LargeBinary)
    revision: Mapped[int] = mapped_column(server_default="1")
    created_by: Mapped[UUID | None]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    updated_at: Mapped[datetime] = mapped_column(server_default=func.now())


class BindingRow(Row):
    """Where calls of a shipped model go; one that has no row goes nowhere."""

    __tablename__ = "platform_models"

    name: Mapped[str] = mapped_column(primary_key=True)
    endpoint_id: Mapped[UUID]
    is_enabled: Mapped[bool]
    revision: Mapped[int] = mapped_column(server_default="1")
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    updated_at: Mapped[datetime] = mapped_column(server_default=func.now())


class ModelRow(RevisedRow):
    """A tenant's own model. A ceiling or region that is null is the endpoint's.

    `revision` counts changes of the row; `model_revision` is the owner's word for the weights behind it.
    """

    __tablename__ = "models"

    name: Mapped[str]
    endpoint_id: Mapped[UUID]
    provider_model: Mapped[str]
    capability: Mapped[str]
    dimensions: Mapped[list[int] | None] = mapped_column(ARRAY(Integer))
    context_tokens: Mapped[int | None]
    price_input_micros: Mapped[int] = mapped_column(BigInteger, server_default="0")
    price_output_micros: Mapped[int] = mapped_column(BigInteger, server_default="0")
    classification_ceiling: Mapped[int | None] = mapped_column(SmallInteger)
    region: Mapped[str | None]
    roles: Mapped[dict[str, Any]] = mapped_column(JSONB, server_default="{}")
    fusion: Mapped[dict[str, Any] | None] = mapped_column(JSONB(none_as_null=True))
    model_revision: Mapped[str] = mapped_column(server_default="1")
    is_enabled: Mapped[bool] = mapped_column(server_default="true")


class KillSwitchRow(Row):
    """A switch that a tenant has engaged: `tenant`, or `model:<name>`."""

    __tablename__ = "kill_switches"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    scope: Mapped[str] = mapped_column(primary_key=True)
    reason: Mapped[str]
    engaged_by: Mapped[UUID | None]
    engaged_at: Mapped[datetime] = mapped_column(server_default=func.now())
    updated_at: Mapped[datetime] = mapped_column(server_default=func.now())


class PlatformKillSwitchRow(Row):
    """A switch that an operator has engaged: `instance`, or `provider:<endpoint name>`."""

    __tablename__ = "platform_kill_switches"

    scope: Mapped[str] = mapped_column(primary_key=True)
    reason: Mapped[str]
    engaged_by: Mapped[UUID | None]
    engaged_at: Mapped[datetime] = mapped_column(server_default=func.now())
    updated_at: Mapped[datetime] = mapped_column(server_default=func.now())
