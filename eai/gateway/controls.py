"""What stands before every call of a model. Each control has an error of its own and can only refuse.

Ceiling, switches, retention, region and egress are code: no policy can switch them off. What they go by
was read in one snapshot; the switches and every limit are read again in the statement that reserves.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from eai.access.classification import Classification
from eai.dlp.errors import DlpBlocked
from eai.dlp.ports import DlpAction, DlpRules, Scanner, Verdict
from eai.gateway.answer_screen import AnswerScreen
from eai.gateway.calls import Caller, ModelCall, Operation
from eai.gateway.context import excess
from eai.gateway.errors import (
    CapabilityMissing,
    ContextExceeded,
    KillSwitchEngaged,
    ModelDisabled,
    ModelNotAllowed,
    ModelNotFound,
    RegionRefused,
    RetentionRefused,
)
from eai.gateway.facts import Facts
from eai.gateway.regions import lies_in
from eai.gateway.registry import Capability, Endpoint, Model
from eai.kernel.errors import EaiError
from eai.kernel.ids import TenantId
from eai.knowledge.errors import ClassificationExceeded
from eai.platform import metrics
from eai.policies.ports import Policy, PolicyAction, PolicyPrincipal, PolicyRequest, PolicyResource

REDACTED = "dlp_redacted"
"""The warning of a call whose text was sent without what may not leave."""


class Egress(Protocol):
    """Says where calls may go."""

    async def vet(self, endpoint: Endpoint) -> None:
        """Return when the endpoint's host resolves to addresses that may be reached. Raises EgressDenied."""
        ...


@dataclass(frozen=True, slots=True)
class Intent:
    """A call on its way through the controls: `level` and `texts` are what would really leave.

    `searched_by` are the rules by which these very texts were looked through; None where nobody has yet.
    `raised_by` are the entities for which `level` is higher than it was said to be. `call` is what was asked,
    and None for whoever only wants to know.
    """

    caller: Caller
    name: str
    capability: Capability
    operation: Operation
    level: Classification
    texts: Sequence[str]
    facts: Facts
    warnings: tuple[str, ...] = ()
    searched_by: DlpRules | None = None
    raised_by: tuple[str, ...] = ()
    call: ModelCall | None = None

    @classmethod
    def of(cls, call: ModelCall, facts: Facts, searched_by: DlpRules | None = None) -> "Intent":
        return cls(
            call.caller,
            call.model,
            call.capability,
            call.operation,
            call.level,
            call.texts,
            facts,
            searched_by=searched_by,
            call=call,
        )

    @property
    def tenant(self) -> TenantId:
        return self.caller.tenant

    @property
    def model(self) -> Model:
        """The model; only `known` may be asked before there is one."""
        assert self.facts.model is not None
        return self.facts.model


Control = Callable[[Intent], Awaitable[Intent]]


class Controls:
    """The chain. `before_texts` is what can be decided without them, for whoever only wants to know."""

    def __init__(self, scanner: Scanner, policy: Policy, egress: Egress, *, is_production: bool) -> None:
        self._scanner = scanner
        self._policy = policy
        self._egress = egress
        self._is_production = is_production
        self._before_texts = (
            self._known, self._enabled, self._not_stopped, self._ceiling, self._retention, self._region,
        )  # fmt: skip
        self._before_egress = (*self._before_texts, self._fits, self._dlp, self._policies)

    def screen(self, intent: Intent) -> AnswerScreen:
        """What the answer to an admitted call goes through before any of it is told."""
        return AnswerScreen(self._scanner, intent.facts.dlp, intent.caller.clearance)

    async def admit(self, intent: Intent) -> Intent:
        """Return what may be sent. Raises the first refusal; a reservation is still to come."""
        return await self.vet_egress(await self.permit(intent))

    async def permit(self, intent: Intent) -> Intent:
        """Return what may be asked, by every control but egress: for what may be answered without leaving."""
        return await self._passed(intent, self._before_egress)

    async def vet_egress(self, intent: Intent) -> Intent:
        """The rest of the controls, for what was permitted and is to be sent."""
        return await self._passed(intent, (self._reachable,))

    async def _passed(self, intent: Intent, controls: Sequence[Control]) -> Intent:
        for control in controls:
            try:
                intent = await control(intent)
            except EaiError as error:
                metrics.GATEWAY_REFUSALS.labels(control=control.__name__.strip("_"), code=error.code).inc()
                raise
        return intent

    async def foresee(self, intent: Intent) -> Intent:
        """Raise what would be refused whatever the text."""
        for control in self._before_texts:
            intent = await control(intent)
        return intent

    async def _known(self, intent: Intent) -> Intent:
        model = intent.facts.model
        if model is None:
            raise ModelNotFound(model=intent.name)
        if model.capability is not intent.capability:
            raise CapabilityMissing(model=model.name, capability=intent.capability)
        return intent

    async def _enabled(self, intent: Intent) -> Intent:
        if self._is_production and not intent.model.allowed_in_production:
            raise ModelNotAllowed(model=intent.name)
        if not intent.model.is_enabled:
            raise ModelDisabled(model=intent.name)
        return intent

    async def _not_stopped(self, intent: Intent) -> Intent:
        if intent.facts.engaged:
            raise KillSwitchEngaged(scope=intent.facts.engaged[0])
        return intent

    async def _ceiling(self, intent: Intent) -> Intent:
        ceiling = intent.model.classification_ceiling
        if intent.level.exceeds(ceiling):
            raise ClassificationExceeded(
                model=intent.name, classification=intent.level, ceiling=ceiling, **_raised(intent)
            )
        return intent

    async def _retention(self, intent: Intent) -> Intent:
        kept, bound = intent.model.retention, intent.facts.retention_required_from
        if kept.days != 0 and not bound.exceeds(intent.level):
            raise RetentionRefused(
                model=intent.name, retention=str(kept), classification=intent.level, **_raised(intent)
            )
        return intent

    async def _region(self, intent: Intent) -> Intent:
        accepted = intent.facts.regions
        region = intent.model.region
        if (
            not intent.model.is_local
            and accepted is not None
            and not any(lies_in(region, each) for each in accepted)
        ):
            raise RegionRefused(model=intent.name, region=region)
        return intent

    async def _fits(self, intent: Intent) -> Intent:
        # The models of this process read what is longer in parts, and lose nothing of it.
        most = None if intent.model.is_local else intent.model.context_tokens
        fewest = None if most is None or intent.call is None else excess(intent.call, most)
        if most is not None and fewest is not None:
            raise ContextExceeded(model=intent.name, tokens=fewest, context_tokens=most)
        return intent

    async def _dlp(self, intent: Intent) -> Intent:
        if intent.searched_by == intent.facts.dlp:
            return intent
        verdict = await self._scanner.scan(intent.texts, intent.facts.dlp)
        if entities := _entities(verdict, *_BLOCKING[intent.operation]):
            raise DlpBlocked(entities=entities)
        intent = replace(intent, searched_by=intent.facts.dlp)
        if verdict.action is DlpAction.REDACT:
            intent = replace(intent, texts=verdict.texts, warnings=(*intent.warnings, REDACTED))
        if verdict.level is None or not verdict.level.exceeds(intent.level):
            return intent
        # What was found weighs more than what was declared, and must pass again what weighs it.
        raising = tuple(_entities(verdict, DlpAction.RAISE))
        raised = replace(intent, level=verdict.level, raised_by=raising)
        return await self._retention(await self._ceiling(raised))

    async def _policies(self, intent: Intent) -> Intent:
        await self._policy.require(_question(intent))
        return intent

    async def _reachable(self, intent: Intent) -> Intent:
        if intent.model.endpoint is not None:
            await self._egress.vet(intent.model.endpoint)
        return intent


_SENT_ONLY = (DlpAction.BLOCK, DlpAction.QUARANTINE)
_BLOCKING: Mapping[Operation, Sequence[DlpAction]] = {
    # Nothing here can wait for a steward.
    Operation.CLIENT: _SENT_ONLY,
    Operation.QUERY: _SENT_ONLY,
    # Their text stays: a vector of other words than the stored ones would be a silent change.
    Operation.INGEST: (*_SENT_ONLY, DlpAction.REDACT),
    # What answers already was judged when it came, perhaps by a steward who let it pass.
    Operation.REINDEX: (DlpAction.BLOCK, DlpAction.REDACT),
}


def _entities(verdict: Verdict, *actions: DlpAction) -> list[str]:
    return sorted({finding.entity for finding in verdict.findings if finding.action in actions})


def _raised(intent: Intent) -> dict[str, Any]:
    """A detail of the refusal: whoever declared a lower level would not know why it is another."""
    return {"entities": list(intent.raised_by)} if intent.raised_by else {}


def _question(intent: Intent) -> PolicyRequest:
    caller, model = intent.caller, intent.model
    return PolicyRequest(
        tenant=intent.tenant,
        principal=PolicyPrincipal(
            kind=caller.actor.kind,
            id=caller.actor.principal,
            roles=tuple(map(str, caller.roles)),
            groups=tuple(map(str, sorted(caller.groups))),
            clearance=caller.clearance,
        ),
        action=PolicyAction.MODEL_INVOKE,
        resource=PolicyResource(
            "Model",
            model.name,
            {
                "provider": model.provider,
                "region": model.region,
                "capability": str(model.capability),
                "ceiling": model.classification_ceiling.rank,
                "is_local": model.is_local,
            },
        ),
        context={
            "operation": str(intent.operation),
            "level": intent.level.rank,
            "texts": len(intent.texts),
        },
        version=intent.facts.policy_version,
    )
