"""Values of a reservation: what is held before a call, and how it is given back or spent."""

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from eai.kernel.ids import BaseId, GroupId, PrincipalId, TenantId


class ReservationState(StrEnum):
    """`held` until exactly one of the others closes it."""

    HELD = "held"
    SETTLED = "settled"
    RELEASED = "released"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Bound:
    """What a call may cost at most, who pays, and what it needs that nobody has switched off meanwhile."""

    tenant: TenantId
    principal: PrincipalId | None
    groups: Collection[GroupId]
    base: BaseId | None
    model: str
    endpoint: str | None
    operation: str
    tokens: int
    lease_s: float


@dataclass(frozen=True, slots=True)
class Reservation:
    """What is held. `intent_seq` is the place of its `model.invoke` in the chain, where it has one."""

    id: UUID
    tenant: TenantId
    tokens: int
    intent_seq: int | None


@dataclass(frozen=True, slots=True)
class Settlement:
    """How a reservation ends; it joins the flush of the event that tells of it."""

    reservation: UUID
    state: ReservationState
    tokens: int
