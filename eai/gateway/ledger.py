"""Holds what a call may cost before it is made, and says afterwards what it did."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

import structlog

from eai.audit.entries import Evidence, ReservationState, SealedEntry
from eai.audit.errors import AuditUnavailable
from eai.audit.service import Audit
from eai.finops.errors import SwitchedOff
from eai.finops.reservations import Bound, Reservation, Reservations
from eai.gateway.calls import ModelCall, Operation, Usage
from eai.gateway.controls import Intent
from eai.gateway.errors import KillSwitchEngaged
from eai.gateway.evidence import ANSWERED, Outcome, denied, ended, intended, usage_of
from eai.gateway.failures import was_sent
from eai.gateway.open_calls import OpenCalls
from eai.kernel.errors import EaiError, RateLimited
from eai.platform import metrics

log = structlog.get_logger(__name__)

LEASE_S = 180.0
"""How long a reservation may be held: longer than any call with all its attempts and its answer's record."""
_OF_JOBS = frozenset({Operation.INGEST, Operation.REINDEX})
CANCELLED = "cancelled"
DISCONNECTED = "client_disconnected"
CRASHED = "internal_error"


@dataclass(slots=True)
class Open:
    """A call that is being made. `measured` is set once the model has said what it took.

    `answer_entities` are what was found in its answer.
    """

    intent: Intent
    call: ModelCall
    held: Reservation | None
    bound: Usage
    measured: Usage | None = field(default=None)
    answer_entities: set[str] = field(default_factory=set)

    def evidence(self, usage: Usage) -> Evidence:
        """That the call was answered and took this much; to be flushed before the answer is used."""
        return ended(self.intent, self.call, self._outcome(usage), self.held)

    def failure(self, error: BaseException) -> Outcome:
        """How a call ended that brought no answer: charged as measured, at its bound, or not at all."""
        code = error.code if isinstance(error, EaiError) else CRASHED
        if isinstance(error, asyncio.CancelledError):
            # A client's own call ends early only when the client leaves.
            code = DISCONNECTED if self.intent.operation is Operation.CLIENT else CANCELLED
        if self.measured is not None:
            return self._outcome(self.measured, code)
        if not self.intent.model.is_local and was_sent(error):
            return Outcome(self.bound, code, ReservationState.UNKNOWN)
        return Outcome(Usage(0), code, ReservationState.RELEASED)

    def _outcome(self, usage: Usage, code: str = ANSWERED) -> Outcome:
        return Outcome(usage, code, answer_entities=tuple(sorted(self.answer_entities)))


class Ledger:
    """One per process."""

    def __init__(self, reservations: Reservations, audit: Audit, open_calls: OpenCalls) -> None:
        self._reservations = reservations
        self._audit = audit
        self._open_calls = open_calls

    async def refuse(self, intent: Intent, error: EaiError) -> None:
        """Put a refusal on record."""
        await self._audit.flush(denied(intent, error))

    async def record(self, evidence: Evidence) -> None:
        """Return once `evidence` is durable."""
        await self._audit.flush(evidence)

    @asynccontextmanager
    async def opened(self, intent: Intent, call: ModelCall, bound: Usage) -> AsyncIterator[Open]:
        """Reserve `bound`, and settle what was held if the call fails inside.

        A call that succeeds hands its evidence on; nobody but its caller settles it. Raises QuotaExceeded,
        RateLimited and KillSwitchEngaged, each on record.
        """
        async with self._place(intent):
            entry = Open(intent, call, await self._hold(intent, call, bound), bound)
            try:
                yield entry
            except BaseException as error:
                if entry.held is not None or entry.measured is not None:
                    await self._settle(entry, error)
                raise

    @asynccontextmanager
    async def _place(self, intent: Intent) -> AsyncIterator[None]:
        """One of the tenant's open calls of providers, counted until the block ends."""
        async with AsyncExitStack() as place:
            if not intent.model.is_local:
                # Whoever takes documents in has nobody to be told, and its jobs are few.
                may_wait = intent.operation in _OF_JOBS
                try:
                    await place.enter_async_context(self._open_calls.one_of(intent.tenant, may_wait=may_wait))
                except RateLimited as error:
                    metrics.GATEWAY_REFUSALS.labels(control="open_calls", code=error.code).inc()
                    await self.refuse(intent, error)
                    raise
            yield

    async def _settle(self, entry: Open, error: BaseException) -> None:
        """Put the end of a call that brought no answer on record; whoever went away, it stays charged."""
        lost = ended(entry.intent, entry.call, entry.failure(error), entry.held)
        try:
            await asyncio.shield(self._audit.flush(lost))
        except AuditUnavailable:
            # What is held is closed by the sweep; the caller is told what went wrong first.
            log.warning("model_call.not_settled", tenant=str(entry.intent.tenant))

    async def _hold(self, intent: Intent, call: ModelCall, bound: Usage) -> Reservation | None:
        if intent.model.is_local and not intent.facts.has_quota:
            return None
        is_local = intent.model.is_local
        sealed = None if is_local else await self._audit.seal(intended(intent, bound.tokens))
        reserving = asyncio.create_task(self._reserve(_wanted(intent, call, bound), sealed))
        try:
            return await asyncio.shield(reserving)
        except EaiError as error:
            metrics.GATEWAY_REFUSALS.labels(control="reservation", code=error.code).inc()
            await self.refuse(intent, error)
            raise
        except asyncio.CancelledError as left:
            # The statement may have committed all the same, and nobody is left to use what it holds.
            await asyncio.wait({reserving})
            if reserving.exception() is None:
                await self._settle(Open(intent, call, reserving.result(), bound), left)
            raise

    async def _reserve(self, bound: Bound, sealed: SealedEntry | None) -> Reservation:
        try:
            return await self._reservations.reserve(bound, sealed)
        except SwitchedOff as switch:
            raise KillSwitchEngaged(scope=switch.scope) from None


def _wanted(intent: Intent, call: ModelCall, bound: Usage) -> Bound:
    endpoint = intent.model.endpoint
    return Bound(
        tenant=intent.tenant,
        principal=intent.caller.actor.principal,
        groups=intent.caller.groups,
        base=call.base,
        model=intent.model.name,
        endpoint=endpoint.name if endpoint else None,
        operation=str(intent.operation),
        tokens=bound.tokens,
        lease_s=LEASE_S,
        usage=usage_of(intent, call, bound),
    )
