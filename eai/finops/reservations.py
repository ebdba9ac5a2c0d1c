"""What a call may cost is held before it is made; the audit's flush settles it with the event of its end."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn
from uuid import UUID, uuid4

import orjson

from eai.audit.entries import SealedEntry, UsageRow
from eai.finops.errors import QuotaExceeded, SwitchedOff
from eai.finops.repository import reserve_model_call
from eai.kernel.errors import RateLimited
from eai.kernel.ids import ApiKeyId, BaseId, GroupId, PrincipalId, TenantId
from eai.platform.database import Database


@dataclass(frozen=True, slots=True)
class Bound:
    """What a call may cost at most, who pays, and what it needs that nobody has switched off meanwhile.

    `usage` is what is recorded if nobody ever says what became of the call: its bound, not a measure.
    """

    tenant: TenantId
    principal: PrincipalId | None
    groups: Collection[GroupId]
    base: BaseId | None
    model: str
    endpoint: str | None
    operation: str
    tokens: int
    lease_s: float
    usage: UsageRow | None = None


@dataclass(frozen=True, slots=True)
class Reservation:
    """What is held. `intent_seq` is the place of its `model.invoke` in the chain, where it has one."""

    id: UUID
    tenant: TenantId
    tokens: int
    intent_seq: int | None


class Reservations:
    """Holds what calls may cost, against every quota that binds them."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def reserve(self, bound: Bound, intent: SealedEntry | None) -> Reservation:
        """Hold `bound`, and commit `intent` with it: the call may begin when this returns.

        The switches and every limit are read again in the same statement. Raises SwitchedOff,
        QuotaExceeded, RateLimited (where another minute has room) and DatabaseUnavailable; after the last
        it may be held even so, until its lease is over.
        """
        reservation = uuid4()
        refusal, detail = await reserve_model_call(self._database, _parameters(reservation, bound, intent))
        if refusal is not None:
            _refuse(refusal, detail)
        return Reservation(reservation, bound.tenant, bound.tokens, detail["intent_seq"])


def _refuse(refusal: str, detail: Mapping[str, Any]) -> NoReturn:
    if refusal == "kill_switch":
        raise SwitchedOff(detail["scope"])
    named = dict(detail)
    retry_after_s = named.pop("retry_after_s")
    # No minute has room for what is more than the limit: whoever waited would be refused for ever.
    if refusal == "rate" and named["requested"] <= named["limit"]:
        raise RateLimited(retry_after_s=retry_after_s, **named)
    raise QuotaExceeded(**named)


def _parameters(reservation: UUID, bound: Bound, intent: SealedEntry | None) -> dict[str, Any]:
    return {
        "tenant": bound.tenant,
        "id": reservation,
        "principal": bound.principal,
        "groups": list(bound.groups),
        "base": bound.base,
        "model": bound.model,
        "endpoint": bound.endpoint,
        "operation": bound.operation,
        "tokens": bound.tokens,
        "lease_s": bound.lease_s,
        "usage": orjson.dumps(stored_usage(bound.usage)).decode() if bound.usage else None,
        "body": intent and intent.body,
        "subject": intent and intent.subject,
        "key": intent and intent.key,
        "sealed": intent and intent.sealed,
    }


def stored_usage(row: UsageRow) -> dict[str, Any]:
    """A usage row as it waits beside its reservation."""
    return {
        "kind": row.kind,
        "unit": row.unit,
        "quantity": row.quantity,
        "provider": row.provider,
        "region": row.region,
        "model": row.model,
        "tokens": row.tokens,
        "cost_micros": row.cost_micros,
        "principal": row.principal,
        "api_key": row.api_key,
        "labels": dict(row.labels),
        "base": row.base,
    }


def read_usage(tenant: TenantId, stored: Mapping[str, Any]) -> UsageRow:
    """The row that `stored_usage` spelled."""
    ids = {"principal": PrincipalId, "api_key": ApiKeyId, "base": BaseId}
    typed = {name: make(UUID(stored[name])) for name, make in ids.items() if stored[name] is not None}
    return UsageRow(tenant, **{**stored, **typed})
