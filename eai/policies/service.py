"""The one decision that all policies come to. Each engine can only narrow what the others leave."""

import structlog

from eai.policies.errors import PolicyDenied, PolicyFailed
from eai.policies.ports import OutsidePolicies, PolicyDecision, PolicyEngine, PolicyRequest
from eai.policies.rule_sets import RuleSets

log = structlog.get_logger(__name__)


class Policies:
    """Shipped policies, the tenant's own, and the outside engine's where there is one: all must allow."""

    def __init__(self, engine: PolicyEngine, rule_sets: RuleSets, outside: OutsidePolicies | None) -> None:
        self._engine = engine
        self._rule_sets = rule_sets
        self._outside = outside

    async def require(self, request: PolicyRequest) -> None:
        """Return when every engine allows; see `ports.Policy`."""
        _require(self._engine.shipped.decide(request), request)
        own = await self._rule_sets.of(request.tenant, request.version) if request.version else None
        if own is not None:
            _require(own.decide(request), request)
        if self._outside is not None:
            _require(await self._outside.decide(request), request)


def _require(decision: PolicyDecision, request: PolicyRequest) -> None:
    if decision.errors:
        log.warning(
            "policy.failed",
            tenant=str(request.tenant),
            version=request.version,
            policies=decision.policies,
            errors=decision.errors,
        )
        raise PolicyFailed(decision.policies)
    if not decision.is_allowed:
        raise PolicyDenied(decision.policies)
