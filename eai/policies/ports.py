"""What a policy is asked, and the port of each engine that answers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol
from uuid import UUID

from eai.access.classification import Classification
from eai.kernel.ids import TenantId

Context = Mapping[str, str | int | bool]


class PolicyAction(StrEnum):
    """What policies decide about."""

    MODEL_INVOKE = "model.invoke"


@dataclass(frozen=True, slots=True)
class PolicyPrincipal:
    """Who wants to act; a part of the platform has kind `system` and no id."""

    kind: str
    id: UUID | None
    roles: tuple[str, ...]
    groups: tuple[str, ...]
    clearance: Classification


@dataclass(frozen=True, slots=True)
class PolicyResource:
    """What would be acted on: `kind` "Model" and its name, with the attributes a policy may read."""

    kind: str
    id: str
    attributes: Context = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PolicyRequest:
    """One question. `version` is that of the tenant's own policies, as read with the call's other facts."""

    tenant: TenantId
    principal: PolicyPrincipal
    action: PolicyAction
    resource: PolicyResource
    context: Context
    version: int


@dataclass(frozen=True, slots=True)
class PolicyDecision:
    """`policies` names what decided; `errors` holds what could not be evaluated, which denies."""

    is_allowed: bool
    policies: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PolicyFault:
    """What is wrong with a text: the place, both counted from 1, and the engine's own words, in English."""

    line: int
    column: int
    reason: str


class Rules(Protocol):
    """A set of policies that was read once."""

    def decide(self, request: PolicyRequest) -> PolicyDecision:
        """What the set says. Never raises for what cannot be evaluated: that is among the errors."""
        ...


class PolicyEngine(Protocol):
    """The language of policies, inside this process."""

    @property
    def shipped(self) -> Rules:
        """The product's own policies; what none of them permits is denied."""
        ...

    async def faults(self, text: str) -> Sequence[PolicyFault]:
        """What keeps `text` from being put in force; nothing when it may."""
        ...

    async def narrowing(self, texts: Mapping[str, str]) -> Rules:
        """A tenant's policies by name. All is permitted that none of them forbids: they widen nothing.

        Raises PolicyFailed when a text cannot be read.
        """
        ...


class OutsidePolicies(Protocol):
    """An engine beside this process."""

    async def decide(self, request: PolicyRequest) -> PolicyDecision:
        """Raises PolicyUnavailable when it does not answer in time."""
        ...


class Policy(Protocol):
    """Every engine together, as the gateway asks them (eai/policies/service.py)."""

    async def require(self, request: PolicyRequest) -> None:
        """Return when every engine allows. Raises PolicyDenied, PolicyFailed or PolicyUnavailable."""
        ...
