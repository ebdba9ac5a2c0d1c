"""Lets one actor go on at a time, from gate to gate, and lets actors die at any gate."""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from tests.simulation.clock import StandingLoop

_MOST_TURNS_TO_DIE = 20


class Died(BaseException):
    """What every gate answers to an actor whose process is dead: none of its clearing up has an effect."""


@dataclass(eq=False)
class Actor:
    """One request, or one job in a worker: everything that dies with it."""

    number: int
    name: str
    body: Callable[[], Awaitable[Any]]
    is_dead: bool = False
    has_begun: bool = False
    tasks: list[asyncio.Task[Any]] = field(default_factory=list)
    backends: set[int] = field(default_factory=set)
    main: asyncio.Task[Any] | None = None
    on_end: Callable[["Actor"], None] = lambda _: None

    @property
    def is_done(self) -> bool:
        return self.main is not None and self.main.done()

    def __str__(self) -> str:
        return f"{self.number}:{self.name}"


@dataclass(eq=False)
class Gate:
    """Where an actor stands, and what it is about to do."""

    actor: Actor
    what: str
    order: int
    open: asyncio.Future[str]


_current: ContextVar[Actor | None] = ContextVar("actor", default=None)


def current_actor() -> Actor | None:
    return _current.get()


def _place(gate: Gate) -> tuple[int, int]:
    return gate.actor.number, gate.order


class Scheduler:
    """Gates and actors of one schedule at a time."""

    def __init__(self, loop: StandingLoop) -> None:
        self.loop = loop
        self.actors: list[Actor] = []
        self._gates: list[Gate] = []
        self._orders = count()
        loop.on_task = self._adopt

    def _adopt(self, task: asyncio.Task[Any], context: Context) -> None:
        if (actor := context.get(_current)) is not None:
            actor.tasks.append(task)

    async def step(self, what: str) -> str:
        """Return once it is this actor's turn to do `what`; tells how that shall go. Raises Died."""
        actor = _current.get()
        if actor is None:
            return ""
        if actor.is_dead:
            raise Died
        gate = Gate(actor, what, next(self._orders), self.loop.create_future())
        self._gates.append(gate)
        try:
            how = await gate.open
        finally:
            if gate in self._gates:
                self._gates.remove(gate)
        if actor.is_dead:
            raise Died
        return how

    def spawn(self, name: str, body: Callable[[], Awaitable[Any]]) -> Actor:
        """A new actor, which waits at its first gate."""
        actor = Actor(len(self.actors), name, body)
        self.actors.append(actor)

        async def act() -> Any:
            await self.step("begin")
            actor.has_begun = True
            return await body()

        context = copy_context()
        context.run(_current.set, actor)
        actor.main = self.loop.create_task(act(), context=context)
        return actor

    def ready(self) -> list[Gate]:
        """Who may go on, in one order for every run."""
        return sorted((gate for gate in self._gates if not gate.open.done()), key=_place)

    def alive(self) -> list[Actor]:
        return [actor for actor in self.actors if not actor.is_done]

    def release(self, gate: Gate, how: str = "") -> None:
        """Let it do what it is about to do."""
        self._gates.remove(gate)
        gate.open.set_result(how)

    async def kill(self, actor: Actor) -> None:
        """End an actor as `kill -9` ends its process: nothing that it does from here on has an effect."""
        actor.is_dead = True
        self.loop.cancel(actor.backends)
        self.loop.locks_may_be_free()
        for _ in range(_MOST_TURNS_TO_DIE):
            for gate in [gate for gate in self._gates if gate.actor is actor and not gate.open.done()]:
                gate.open.set_exception(Died())
            await self.loop.settled()
            self.loop.locks_may_be_free()
            if all(task.done() for task in actor.tasks):
                return
            for task in actor.tasks:
                task.cancel()
        raise AssertionError(f"{actor} does not die: {[t for t in actor.tasks if not t.done()]}")

    def forget(self) -> None:
        self.loop.forget()
        self.actors.clear()
        self._gates.clear()
        self._orders = count()
