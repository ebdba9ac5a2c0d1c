"""What a policy is asked, and the port of each engine that answers."""

from collections.abc import Mapping
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


class OutsidePolicies(Protocol):
    """An engine beside this process."""

    async def decide(self, request: PolicyRequest) -> PolicyDecision:
        """Raises PolicyUnavailable when it does not answer in time."""
        ...


class Policy(Protocol):
    """Every engine together, as the gateway asks them (eai/policies/service.py)."""

    async def require(self, request: PolicyRequest) -> None:
        """Return when every engine allows. Raises PolicyDenied, PolicyFailed (code policy_error) or PolicyUnavailable."""
        ...
