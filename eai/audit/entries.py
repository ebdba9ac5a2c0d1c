"""What callers hand to the audit: events, usage, and both together as evidence of one piece of work."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from uuid import UUID, uuid4

from eai.access.subject import Subject
from eai.audit.actions import AuditAction
from eai.kernel.canonical import Canonical
from eai.kernel.ids import ApiKeyId, DocumentId, PrincipalId, TenantId


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

    `facts` go into the chain for ever: ids, enums, counts and digests only. `private` is what may be
    personal (names, texts, reasons, addresses): the chain holds a salted commitment to it, the values
    lie beside it under a key that can be erased.
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
class UsageRow:
    """What a piece of work consumed, as it is charged: `quantity` in `unit`, `cost_micros` in millionths."""

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


@dataclass(frozen=True, slots=True)
class Evidence:
    """Events, usage and shown documents of one piece of work, flushed together before it is answered."""

    entries: tuple[AuditEntry, ...] = ()
    usage: tuple[UsageRow, ...] = ()
    retrieved: tuple[DocumentId, ...] = ()

    def __add__(self, other: "Evidence") -> "Evidence":
        return Evidence(
            self.entries + other.entries, self.usage + other.usage, self.retrieved + other.retrieved
        )
