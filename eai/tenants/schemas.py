"""Tenants and their settings as clients write and read them."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from eai.tenants.names import Name, Slug


class Schema(BaseModel):
    """Immutable, and strict about field names."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class NewTenant(Schema):
    """A tenant to be made."""

    name: Name
    slug: Slug


class TenantOut(Schema):
    """A tenant."""

    id: UUID
    name: str
    slug: str
    created_at: datetime
    updated_at: datetime


class RateLimits(Schema):
    """How much the tenant's credentials may ask for together; null is no limit."""

    requests_per_minute: Annotated[int, Field(ge=1, le=10_000_000, strict=True)] | None = None


class SettingsOut(Schema):
    """The tenant's settings."""

    rate_limits: RateLimits
    updated_at: datetime
    revision: int = Field(exclude=True)


class SettingsPatch(Schema):
    """What to change; a setting that is not named keeps its value."""

    rate_limits: RateLimits = RateLimits()
