"""What a call leaves on record: its event in the chain, its usage, and the end of its reservation."""

from collections.abc import Mapping
from dataclasses import dataclass

from eai.audit.actions import AuditAction
from eai.audit.entries import AuditEntry, Decision, Evidence, ReservationState, Resource, Settlement, UsageRow
from eai.finops.reservations import Reservation
from eai.gateway.calls import ModelCall, Usage
from eai.gateway.controls import Intent
from eai.gateway.registry import Capability
from eai.kernel.canonical import Canonical
from eai.kernel.errors import EaiError

_KINDS = {
    Capability.EMBEDDINGS: "embeddings",
    Capability.RERANK: "reranking",
    Capability.CHAT: "chat",
}
ANSWERED = "answered"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a call ended: `code` is `answered` or says what went wrong; `state` closes what was held.

    `answer_entities` are what DLP found in the answer.
    """

    usage: Usage
    code: str = ANSWERED
    state: ReservationState = ReservationState.SETTLED
    answer_entities: tuple[str, ...] = ()


def intended(intent: Intent, bound: int) -> AuditEntry:
    """What commits before a socket opens."""
    return _entry(intent, AuditAction.MODEL_INVOKE, {**_what(intent), "bound": bound})


def denied(intent: Intent, error: EaiError) -> Evidence:
    """A call that a control refused; nothing left."""
    facts: Mapping[str, Canonical] = {**_what(intent), "code": error.code}
    return Evidence(entries=(_entry(intent, AuditAction.MODEL_INVOKE, facts, Decision.DENY),))


def ended(intent: Intent, call: ModelCall, outcome: Outcome, held: Reservation | None) -> Evidence:
    """A call that was made, whatever came of it."""
    usage = outcome.usage
    facts: dict[str, Canonical] = {**_what(intent), "tokens": usage.tokens}
    if outcome.code != ANSWERED:
        facts["code"] = outcome.code
    if outcome.answer_entities:
        facts["answer_entities"] = list(outcome.answer_entities)
    if usage.is_estimated:
        facts["is_estimated"] = True
    if held is not None and usage.tokens > held.tokens:
        facts["usage_above_reservation"] = usage.tokens - held.tokens
    action = AuditAction.MODEL_INVOKE
    if held is not None and held.intent_seq is not None:
        action = AuditAction.MODEL_RESULT
        facts["intent"] = held.intent_seq
    return Evidence(
        entries=(_entry(intent, action, facts),),
        usage=() if outcome.state is ReservationState.RELEASED else (usage_of(intent, call, usage),),
        settled=() if held is None else (Settlement(held.id, outcome.state, usage.tokens),),
    )


def _what(intent: Intent) -> dict[str, Canonical]:
    return {
        "operation": str(intent.operation),
        "level": str(intent.level),
        "texts": len(intent.texts),
        "policy_version": intent.facts.policy_version,
    }


def _entry(
    intent: Intent,
    action: AuditAction,
    facts: Mapping[str, Canonical],
    decision: Decision = Decision.ALLOW,
) -> AuditEntry:
    return AuditEntry(
        intent.tenant,
        action,
        actor=intent.caller.actor,
        resource=Resource("model", intent.name),
        decision=decision,
        facts=facts,
    )


def usage_of(intent: Intent, call: ModelCall, usage: Usage) -> UsageRow:
    """What is charged, and to whom."""
    model, actor = intent.model, intent.caller.actor
    return UsageRow(
        intent.tenant,
        kind=_KINDS[intent.capability],
        unit="tokens",
        quantity=usage.tokens,
        provider=model.provider,
        region=model.region,
        model=model.name,
        tokens=usage.tokens,
        cost_micros=model.price.of(usage.read_tokens, usage.written_tokens),
        principal=actor.principal,
        api_key=actor.api_key,
        labels={**call.labels, "operation": str(intent.operation)},
        base=call.base,
    )
