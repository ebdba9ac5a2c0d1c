"""Tenants and their settings as clients write and read them."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from eai.access.classification import Classification
from eai.tenants.dlp_rules import DlpAction, DlpEntity
from eai.tenants.names import Name, Region, Slug
from eai.tenants.quarantine_threshold import QuarantineThreshold


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


class DlpRulesPatch(Schema):
    """What is to follow when a text holds such an entity; null: what does anyway.

    `record` notes it, `raise` treats the text as confidential at least, `redact` puts `[<entity>]` in its
    place, `quarantine` holds a document for a data steward and refuses anything else, `block` refuses all.
    Anyway, cards, IBANs, NIRs, passports and identity cards raise, keys are quarantined, and the rest is
    recorded.
    """

    payment_card: DlpAction | None = None
    iban: DlpAction | None = None
    nir: DlpAction | None = None
    private_key: DlpAction | None = None
    api_key: DlpAction | None = None
    email: DlpAction | None = None
    phone: DlpAction | None = None
    siren: DlpAction | None = None
    siret: DlpAction | None = None
    vat: DlpAction | None = None
    passport: DlpAction | None = None
    identity_card: DlpAction | None = None


class QuarantineRules(Schema):
    """A document waits for a data steward where a finding in it is at least as grave as `threshold`."""

    threshold: QuarantineThreshold = QuarantineThreshold.HIGH


class CacheRules(Schema):
    """Questions and what they found are cached up to this level, both of them; null: nothing is."""

    max_classification: Classification | None = Classification.INTERNAL


Regions = Annotated[
    list[Region], Field(min_length=1, max_length=100), AfterValidator(lambda regions: sorted(set(regions)))
]


class SettingsOut(Schema):
    """The tenant's settings.

    `regions` null accepts every region. From the level `retention_required_from` on, only models whose
    provider retains nothing are called. `dlp` holds what the tenant decided differently.
    """

    rate_limits: RateLimits
    regions: list[str] | None
    retention_required_from: Classification
    dlp: dict[DlpEntity, DlpAction]
    quarantine: QuarantineRules
    cache: CacheRules
    updated_at: datetime
    revision: int = Field(exclude=True)


class SettingsPatch(Schema):
    """What to change; a setting that is not named keeps its value.

    `regions` lists where models may run that see the tenant's texts, parts of a region included; null is
    everywhere. Models inside the platform's own processes are in no region.
    """

    rate_limits: RateLimits = RateLimits()
    regions: Regions | None = None
    retention_required_from: Classification = Classification.CONFIDENTIAL
    dlp: DlpRulesPatch = DlpRulesPatch()
    quarantine: QuarantineRules = QuarantineRules()
    cache: CacheRules = CacheRules()
