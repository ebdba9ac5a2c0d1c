"""An event loop whose time stands still until it is told to move, and which knows when nothing moves.

Nothing is left to move when every task waits for the scheduler, for a time that has not come, or for a
lock of PostgreSQL: then it is the scheduler's turn. Statements that are on their way are waited for; one
that has not come back within a moment is looked up in PostgreSQL, which knows whether it waits for a lock.

Of several that wait for one row PostgreSQL lets whichever is the quickest go on once somebody has changed it.
So before locks are given back all of them are stopped, and then go on one after the other.
"""

import asyncio
import os
import selectors
import signal
from collections.abc import Callable
from contextvars import Context, copy_context
from dataclasses import dataclass
from itertools import count
from typing import Any, Self

FIRST_LOOK_S, LAST_LOOK_S = 0.004, 0.1
"""How long a statement has before PostgreSQL is asked whether it waits for a lock, and how long later on."""
NEVER_S = 1e9
"""What a timer is set to that only exists because a library wants one."""

Events = list[tuple[selectors.SelectorKey, int]]


@dataclass(eq=False)
class Operation:
    """Something that was sent and has not come back; `backend` 0 never waits for a lock."""

    backend: int
    waits: bool = False
    waited: bool = False


class NumberedTask(asyncio.Task[Any]):
    """Has its place in a set by when it was made, not by where it lies in memory."""

    _number: int

    def __new__(cls, *_arguments: Any, loop: "StandingLoop", **_options: Any) -> Self:
        task = super().__new__(cls)
        task._number = next(loop.numbers)
        return task

    def __hash__(self) -> int:
        return self._number


class _Watched(selectors.DefaultSelector):
    """Asks the loop what to do where it would sleep."""

    loop: "StandingLoop | None" = None

    def select(self, timeout: float | None = None) -> Events:
        if self.loop is None or (timeout is not None and timeout <= 0):
            return super().select(timeout)
        return self.loop.idle(super().select)


class StandingLoop(asyncio.SelectorEventLoop):
    """`find_waiting` tells which of some backends wait for a lock, `cancel_backend` ends what one does."""

    def __init__(
        self, find_waiting: Callable[[list[int]], set[int]], cancel_backend: Callable[[int], None]
    ) -> None:
        selector = _Watched()
        super().__init__(selector)
        self._find_waiting = find_waiting
        self._cancel_backend = cancel_backend
        self.numbers = count()
        self._now = 0.0
        self._on_their_way: list[Operation] = []
        self._stopped: list[Operation] = []
        self._turn: asyncio.Future[None] | None = None
        self.on_task: Callable[[asyncio.Task[Any], Context], None] = lambda _, __: None
        self.set_task_factory(lambda loop, coro, **options: NumberedTask(coro, loop=loop, **options))
        selector.loop = self

    def forget(self) -> None:
        """Time begins anew, tasks are counted anew, and nobody is woken up who slept before."""
        for timer in self._scheduled:  # type: ignore[attr-defined]
            timer.cancel()
        self.stop_nobody()
        self._now = 0.0
        self.numbers = count()

    def time(self) -> float:
        return self._now

    def create_task(self, coro: Any, **options: Any) -> asyncio.Task[Any]:
        task = super().create_task(coro, **options)
        self.on_task(task, options.get("context") or copy_context())
        return task

    def begin(self, backend: int) -> Operation:
        """Something is sent; `end` it when its answer is there."""
        operation = Operation(backend)
        self._on_their_way.append(operation)
        return operation

    def end(self, operation: Operation) -> None:
        self._on_their_way.remove(operation)

    def is_waiting(self, operation: Operation) -> bool:
        """Whether it waits for a lock, as PostgreSQL says."""
        self._look([operation])
        return operation.waits

    def cancel(self, backends: set[int]) -> None:
        """End what those of these backends do that wait for a lock, and wait for its end."""
        for operation in self._on_their_way:
            if operation.waits and operation.backend in backends:
                if operation in self._stopped:
                    self._stopped.remove(operation)
                    os.kill(operation.backend, signal.SIGCONT)
                self._cancel_backend(operation.backend)
                # It is gone in a moment, and until then PostgreSQL may say that it waits.
                operation.backend, operation.waits = 0, False

    def locks_may_become_free(self) -> None:
        """Something is about to be given back: of several that wait none may overtake another."""
        waiting = [each for each in self._on_their_way if each.waits and each not in self._stopped]
        if len(waiting) + len(self._stopped) < 2:
            return
        for operation in waiting:
            os.kill(operation.backend, signal.SIGSTOP)
        self._stopped += waiting

    def locks_may_be_free(self) -> None:
        """Something was given back: whoever waited may go on by itself."""
        for operation in self._on_their_way:
            operation.waits = operation in self._stopped

    def stop_nobody(self) -> None:
        """Let all go on that are stopped."""
        while self._stopped:
            self._go_on()

    def _go_on(self) -> None:
        """The one that has waited longest of those that are stopped; it may have to wait again."""
        operation = self._stopped.pop(0)
        operation.waits = False
        os.kill(operation.backend, signal.SIGCONT)

    async def settled(self) -> None:
        """Return when nothing moves any more."""
        self._turn = self.create_future()
        await self._turn
        self._turn = None

    def next_time(self) -> float | None:
        """When the next timer is due, if there is one that matters."""
        times = [timer.when() for timer in self._scheduled if not timer.cancelled()]  # type: ignore[attr-defined]
        soon = [time for time in times if time < self._now + NEVER_S / 2]
        return min(soon, default=None)

    def advance(self, time: float) -> None:
        self._now = max(self._now, time)
        self.locks_may_be_free()

    def idle(self, select: Callable[[float | None], Events]) -> Events:
        if self._turn is None or self._turn.done():
            return select(0.05)
        while True:
            self._look([operation for operation in self._on_their_way if operation.waited])
            pause = FIRST_LOOK_S
            while any(not operation.waits for operation in self._on_their_way):
                if events := select(pause):
                    return events
                self._look(self._on_their_way)
                pause = min(2 * pause, LAST_LOOK_S)
            if not self._stopped:
                break
            self._go_on()
        self._turn.set_result(None)
        return select(0)

    def _look(self, operations: list[Operation]) -> None:
        open_ones = [each for each in operations if each.backend and not each.waits]
        if not open_ones:
            return
        found = self._find_waiting([each.backend for each in open_ones])
        for each in open_ones:
            each.waits = each.backend in found
            each.waited |= each.waits
