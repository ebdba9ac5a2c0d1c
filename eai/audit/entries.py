"""What callers hand to the audit: events, usage, and both together as evidence of one piece of work."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID, uuid4

from eai.access.subject import Subject
from eai.audit.actions import AuditAction
from eai.kernel.canonical import Canonical
from eai.kernel.ids import ApiKeyId, BaseId, DocumentId, PrincipalId, TenantId


class Decision(StrEnum):
    """Whether what was attempted was permitted."""

    ALLOW = "allow"
    DENY = "deny"


@dataclass(frozen=True, slots=True)
class Actor:
    """Who acted: a principal through one of its keys, or a part of the platform (`kind` "system")."""

    kind: str
    principal: PrincipalId | None = None
    api_key: ApiKeyId | None = None

    @classmethod
    def of(cls, subject: Subject) -> "Actor":
        """The subject as the chain names it: by ids only."""
        return cls(str(subject.kind), subject.principal, subject.api_key)


SYSTEM = Actor("system")


@dataclass(frozen=True, slots=True)
class Resource:
    """What was acted on. `id` is an id or another stable name that says nothing personal."""

    kind: str
    id: str


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One event before it has a place in a chain.

    `facts` go into the chain for ever: ids, enums and counts only, and of texts what `Audit.fingerprint`
    makes of their digests. `private` is what may be personal (names, texts, reasons, addresses): the chain
    holds a salted commitment to it, the values lie beside it under a key that can be erased.
    """

    tenant: TenantId
    action: AuditAction
    actor: Actor | None = None
    resource: Resource | None = None
    decision: Decision = Decision.ALLOW
    facts: Mapping[str, Canonical] = field(default_factory=dict)
    private: Mapping[str, Canonical] = field(default_factory=dict)
    occurred_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SealedEntry:
    """An event in its final bytes, as `eai.audit_append` takes it within a SQL function that acts too.

    `sealed` holds the private values, `subject` and `key` say whose and under which key; None without any.
    """

    body: bytes
    subject: UUID | None = None
    key: UUID | None = None
    sealed: bytes | None = None


@dataclass(frozen=True, slots=True)
class UsageRow:
    """What a piece of work consumed, as it is charged: `quantity` in `unit`, `cost_micros` in millionths.

    `base` is the knowledge base that it was for. `is_external`: a client told of it, nobody here measured
    it. `occurred_at` is the time of the flush where it is not given.
    """

    tenant: TenantId
    kind: str
    unit: str
    quantity: int
    provider: str | None = None
    region: str | None = None
    model: str | None = None
    tokens: int = 0
    cost_micros: int = 0
    principal: PrincipalId | None = None
    api_key: ApiKeyId | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    id: UUID = field(default_factory=uuid4)
    base: BaseId | None = None
    is_external: bool = False
    occurred_at: datetime | None = None


class ReservationState(StrEnum):
    """`held` until exactly one of the others closes it.

    `settled` on what was measured, `released` without a call, `unknown` when a call was made and nobody
    can say what it took: it is charged at its bound.
    """

    HELD = "held"
    SETTLED = "settled"
    RELEASED = "released"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Settlement:
    """How a reservation ends; it joins the flush of the event that tells of it, and can end once only."""

    reservation: UUID
    state: ReservationState
    tokens: int


@dataclass(frozen=True, slots=True)
class Evidence:
    """Events, usage and shown documents of one piece of work, flushed together before it is answered.

    `settled` are the reservations that end with it; if one of them is not held, nothing is written.
    """

    entries: tuple[AuditEntry, ...] = ()
    usage: tuple[UsageRow, ...] = ()
    retrieved: tuple[DocumentId, ...] = ()
    settled: tuple[Settlement, ...] = ()

    def __add__(self, other: "Evidence") -> "Evidence":
        return Evidence(
            self.entries + other.entries,
            self.usage + other.usage,
            self.retrieved + other.retrieved,
            self.settled + other.settled,
        )
