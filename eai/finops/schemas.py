"""Quotas and usage as clients write and read them."""

from collections.abc import Mapping
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, AwareDatetime, Field
from pydantic_core import PydanticKnownError

from eai.kernel.canonical import nfc
from eai.tenants.schemas import Schema

LARGEST = 10**15
"""More than any tenant takes, and small enough to be added up without care."""

_EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)


def _datable(instant: datetime) -> datetime:
    if instant < _EARLIEST:
        raise PydanticKnownError("greater_than_equal", {"ge": _EARLIEST.isoformat()})
    return instant


Amount = Annotated[int, Field(ge=0, le=LARGEST, strict=True)]
Word = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[\w.:/@-]+$"), AfterValidator(nfc)]
OwnerReference = Annotated[
    str,
    Field(
        pattern=r"^(tenant|(group|knowledge_base):[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$", max_length=60
    ),
]
"""Whose quota: `tenant`, `group:<id>` or `knowledge_base:<id>`."""


class Metric(StrEnum):
    """What a quota counts: tokens that models read and wrote, calls of models, or what is kept.

    Documents and their submitted bytes are counted in each base by itself.
    """

    TOKENS = "tokens"
    REQUESTS = "requests"
    KNOWLEDGE_BASES = "knowledge_bases"
    DOCUMENTS = "documents"
    BYTES = "bytes"


class Window(StrEnum):
    """The calendar period, in UTC, with which a quota begins anew; what is kept has none."""

    MONTH = "month"
    MINUTE = "minute"
    TOTAL = "total"


_USUAL = {Metric.TOKENS: Window.MONTH, Metric.REQUESTS: Window.MINUTE}


class NewQuota(Schema):
    """A quota to be set. Without a `window`, tokens are counted per month and requests per minute.

    What is kept has the window `total`; `knowledge_bases` are the tenant's.
    """

    owner: OwnerReference
    metric: Metric
    limit: Amount
    window: Window | None = None

    @property
    def period(self) -> Window:
        """The window, given or usual."""
        return self.window or _USUAL.get(self.metric, Window.TOTAL)


class QuotaOut(Schema):
    """A quota and where it stands: `reserved` is held by calls under way, `remaining` what is left beside.

    Of documents and bytes, a tenant's or a group's stands where the fullest base does. `resets_at` is null
    for what is kept.
    """

    id: UUID
    owner: str
    metric: Metric
    window: Window
    limit: int
    used: int
    reserved: int
    remaining: int
    resets_at: datetime | None
    created_at: datetime
    updated_at: datetime
    revision: int = Field(exclude=True)


class UsageLabels(Schema):
    """What usage is charged to, besides its tenant."""

    project: Word | None = None
    agent: Word | None = None
    run: Word | None = None
    operation: Word | None = None

    def given(self) -> Mapping[str, str]:
        """The labels that were set."""
        return self.model_dump(exclude_none=True)


class NewUsage(Schema):
    """Usage that another system measured. It is shown beside the platform's own and counts to no quota."""

    kind: Word
    unit: Word
    quantity: Amount
    provider: Word | None = None
    region: Word | None = None
    model: Word | None = None
    tokens: Amount = 0
    cost_micros: Amount = 0
    labels: UsageLabels = UsageLabels()
    occurred_at: Annotated[AwareDatetime, AfterValidator(_datable)] | None = None


class UsageOut(Schema):
    """One usage event. `cost_micros` is in millionths of the installation's currency."""

    id: UUID
    occurred_at: datetime
    kind: str
    unit: str
    quantity: int
    provider: str | None
    region: str | None
    model: str | None
    tokens: int
    cost_micros: int
    labels: Mapping[str, str]
    is_external: bool


class UsageKey(StrEnum):
    """What usage can be summed up by; days are those of UTC."""

    DAY = "day"
    MODEL = "model"
    OPERATION = "operation"
    PROJECT = "project"
    AGENT = "agent"
    KNOWLEDGE_BASE = "knowledge_base"


class UsageSum(Schema):
    """Usage of one kind and unit, summed up.

    A key is null where the usage has no such value, or was not to be told apart by it. `is_external`
    marks what clients told of: nothing of it was measured here.
    """

    day: date | None = None
    model: str | None = None
    operation: str | None = None
    project: str | None = None
    agent: str | None = None
    knowledge_base: str | None = None
    kind: str
    unit: str
    is_external: bool
    events: int
    quantity: int
    tokens: int
    cost_micros: int
