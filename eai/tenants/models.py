"""The table of tenants."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import ARRAY, SmallInteger, Text, func
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from eai.access.classification import Classification
from eai.platform.schema import Row


class Tenant(Row):
    """One customer. Not a `TenantRow`: the tenant is the row itself, so there is no second id."""

    __tablename__ = "tenants"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    slug: Mapped[str]
    name: Mapped[str]
    rate_limit_per_minute: Mapped[int | None]
    regions: Mapped[list[str] | None] = mapped_column(ARRAY(Text))
    retention_required_from: Mapped[int] = mapped_column(
        SmallInteger, server_default=str(Classification.CONFIDENTIAL.rank)
    )
    dlp: Mapped[dict[str, str]] = mapped_column(JSONB, server_default="{}")
    quarantine_threshold: Mapped[str] = mapped_column(server_default="high")
    cache_max_classification: Mapped[int | None] = mapped_column(
        SmallInteger, server_default=str(Classification.INTERNAL.rank)
    )
    revision: Mapped[int] = mapped_column(server_default="1")
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    updated_at: Mapped[datetime] = mapped_column(server_default=func.now(), onupdate=func.now())
