"""Groups what all waiting requests of this process have to write into one flush at a time.

While a flush is in flight the next one gathers; each caller returns once its own part is durable. A
tenant whose chain somebody holds is passed over and tried again, without holding up the others, until
the caller's deadline: then the caller is refused, because what is not recorded must not be answered.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field

import structlog

from eai.audit.errors import AuditUnavailable
from eai.audit.repository import Portion
from eai.kernel.ids import TenantId

MAX_PORTIONS = 256
"""Portions per flush: more would keep the first of them waiting for the last."""

FIRST_PAUSE_S = 0.005
LONGEST_PAUSE_S = 0.25
LOCKED = "locked"

# SQLSTATE classes of what lies in the data itself, and is no better the next time.
_LASTING_CLASSES = {"22", "23", "42", "P0"}

_log = structlog.get_logger(__name__)

Write = Callable[[Sequence[Portion]], Awaitable[Mapping[TenantId, str | None]]]


@dataclass(slots=True, eq=False)
class _Waiting:
    portion: Portion
    deadline: float
    done: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    tries: int = 0
    goes_alone: bool = False


class ReadLog:
    """One per process."""

    def __init__(self, write: Write, *, deadline_s: float) -> None:
        self._write = write
        self._deadline_s = deadline_s
        self._waiting: list[_Waiting] = []
        self._flusher: asyncio.Task[None] | None = None

    async def write(self, portion: Portion) -> None:
        """Return once `portion` is durable. Raises AuditUnavailable; it may have been written even so.

        Whoever is cancelled meanwhile leaves it behind to be written: what happened has happened.
        """
        now = asyncio.get_running_loop().time()
        waiting = _Waiting(portion, now + self._deadline_s)
        self._enqueue(waiting)
        await asyncio.shield(waiting.done)

    async def drain(self) -> None:
        """Return when nothing is in flight."""
        while self._flusher is not None:
            await asyncio.wait([self._flusher])

    def _enqueue(self, waiting: _Waiting) -> None:
        self._waiting.append(waiting)
        if self._flusher is None:
            self._flusher = asyncio.create_task(self._flush_all())

    async def _flush_all(self) -> None:
        try:
            while self._waiting:
                await self._flush(self._next_group())
        finally:
            self._flusher = None

    def _next_group(self) -> list[_Waiting]:
        """The next portions to write; one that failed before has its tenant's part of a flush to itself."""
        chosen: list[_Waiting] = []
        left: list[_Waiting] = []
        crowded: set[TenantId] = set()
        reserved: set[TenantId] = set()
        for waiting in self._waiting:
            tenant = waiting.portion.tenant
            taken = tenant in reserved or (waiting.goes_alone and tenant in crowded)
            if len(chosen) == MAX_PORTIONS or taken:
                left.append(waiting)
                continue
            chosen.append(waiting)
            (reserved if waiting.goes_alone else crowded).add(tenant)
        self._waiting = left
        return chosen

    async def _flush(self, group: list[_Waiting]) -> None:
        try:
            async with asyncio.timeout(self._deadline_s):
                failures = await self._write([waiting.portion for waiting in group])
        # Whatever it was, these callers must be told; nobody else would ever wake them.
        except Exception as error:  # noqa: BLE001
            _log.error("audit_flush_failed", portions=len(group), error=type(error).__name__)
            for waiting in group:
                _refuse(waiting, error)
            return
        for waiting in group:
            self._conclude(waiting, failures.get(waiting.portion.tenant, LOCKED))

    def _conclude(self, waiting: _Waiting, failure: str | None) -> None:
        if waiting.done.done():
            return
        if failure is None:
            waiting.done.set_result(None)
            return
        if waiting.goes_alone and failure[:2] in _LASTING_CLASSES:
            self._give_up(waiting, failure)
            return
        loop = asyncio.get_running_loop()
        waiting.tries += 1
        waiting.goes_alone = failure != LOCKED
        pause = min(FIRST_PAUSE_S * 2**waiting.tries, LONGEST_PAUSE_S) * random.uniform(0.5, 1.0)  # noqa: S311
        if loop.time() + pause >= waiting.deadline:
            self._give_up(waiting, failure)
            return
        loop.call_later(pause, self._enqueue, waiting)

    @staticmethod
    def _give_up(waiting: _Waiting, failure: str) -> None:
        _log.error("audit_entry_refused", tenant=str(waiting.portion.tenant), why=failure)
        _refuse(waiting, None)


def _refuse(waiting: _Waiting, cause: Exception | None) -> None:
    if not waiting.done.done():
        refusal = AuditUnavailable()
        refusal.__cause__ = cause
        waiting.done.set_exception(refusal)
