"""The audit as auditors read it."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from eai.audit.scan import Reason

DetailsState = Literal["none", "readable", "erased", "altered"]


class _Schema(BaseModel):
    model_config = ConfigDict(frozen=True)


class ActorOut(_Schema):
    """Who acted, by ids; a part of the platform has the kind `system` and none."""

    kind: str
    principal: str | None
    api_key: str | None


class ResourceOut(_Schema):
    """What was acted on."""

    kind: str
    id: str


class EventOut(_Schema):
    """One entry of the chain.

    `details` are the private values: null when there are none or after their erasure, which
    `details_state` tells apart; `altered` means they are not what the chain commits to.
    """

    seq: int
    hash: str
    occurred_at: datetime
    action: str
    decision: Literal["allow", "deny"]
    actor: ActorOut | None
    resource: ResourceOut | None
    request_id: str | None
    trace_id: str | None = None
    facts: dict[str, Any]
    details_state: DetailsState
    details: dict[str, Any] | None = None


class HeadOut(_Schema):
    """The last entry: its seq and hash; seq 0 is the empty chain."""

    seq: int
    hash: str


class VerificationOut(_Schema):
    """Whether the chain is what it was.

    `events` entries were found good, up to `head`. On a fault, `first_bad_seq` is the entry it is at or,
    where `bad_until` is given, the first of those among which it lies. From `unanchored_since` on,
    entries rest on the chain alone; null means that everything is anchored. `clock_back_at` is a remark:
    the first entry a minute or more older than one before it.
    """

    valid: bool
    events: int
    head: HeadOut
    first_bad_seq: int | None
    bad_until: int | None
    reason: Reason | None
    checkpoints: int
    anchored_seq: int
    anchor_reachable: bool
    unanchored_since: datetime | None
    clock_back_at: int | None


class CheckpointOut(_Schema):
    """A signed checkpoint. `body` is the canonical JSON that was signed, after a fixed prefix."""

    seq: int
    head: str
    root: str
    issued_at: datetime
    key_id: str
    public_key: str
    body: str
    signature: str
    anchored_at: datetime | None
