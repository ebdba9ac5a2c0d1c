"""One schedule: a seed, and everything that follows from it."""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any
from uuid import UUID

from eai.kernel.errors import EaiError
from eai.kernel.ids import TenantId
from eai.knowledge.ports import SearchHits, SearchRequest, SpaceId
from tests.simulation import rest
from tests.simulation.acts import Act, Acts
from tests.simulation.checker import Checker, Violation
from tests.simulation.outside import LOST, UNANSWERED
from tests.simulation.processes import Announcement, Process
from tests.simulation.scheduler import Actor, Gate
from tests.simulation.world import World, quiet, seeded_ids

MOST_STEPS = 4_000
MOST_WORKERS = 3
_STALLS = {"SELECT eai.recheck": 0.3, "vectors.": 0.08, "COMMIT": 0.08, "UPDATE eai.jobs": 0.08}
"""How likely it is to stall before what separates one step from the next."""

_TIME_PASSES = """
    UPDATE eai.jobs SET lease_until = lease_until - interval '1 hour'
     WHERE tenant_id = %(t)s AND id IN (
           SELECT id FROM eai.jobs WHERE tenant_id = %(t)s AND state IN ('queued', 'running')
              AND (%(job)s::uuid IS NULL OR id = %(job)s) FOR UPDATE SKIP LOCKED)"""


@dataclass
class Budget:
    """How much may go wrong, so that nothing that is right gives up."""

    deaths: int
    store_faults: int
    messages: int
    frozen: int
    stalls: int


@dataclass
class Schedule:
    """Runs once."""

    world: World
    seed: int
    trace: list[str] = field(default_factory=list)
    counted: Counter[str] = field(default_factory=Counter)

    def run(self) -> None:
        """Raises Violation, which tells the seed and what was done."""
        with quiet(self.world.loop), seeded_ids(Random(f"ids {self.seed}").randbytes):
            random.seed(self.seed)
            try:
                self.world.loop.run_until_complete(self._run())
            except (Violation, AssertionError) as error:
                raise Violation(f"seed {self.seed}: {error}\n" + "\n".join(self.trace[-400:])) from error

    async def _run(self) -> None:
        world, rng = self.world, Random(self.seed)
        self.rng = rng
        self.scheduler = world.scheduler
        self.processes: dict[int, Process] = {}
        store = world.begin()
        self.tenant = rng.choice(world.templates).copied(world.admin, store, self._new_tenant())
        self.checker = Checker(world.admin, self.tenant, store)
        world.vectors.on_search = self._on_search
        self.acts = Acts(rng, self.tenant, world.database, self.checker, self._new_id)
        deaths = rng.choice((0, 0, 1, 2))
        self.budget = Budget(
            deaths=deaths,
            store_faults=rng.choice((0, 0, 1, 2)),
            messages=rng.choice((0, 0, 1, 2)),
            # After three attempts that came to nothing a job is given up, and rightly so.
            frozen=0 if deaths == 2 else rng.choice((0, 0, 1)),
            stalls=rng.choice((0, 1, 1, 2)),
        )
        self.loyalty = rng.choice((0.0, 0.5, 0.9, 0.97))
        self.last: Actor | None = None
        self.stalled: set[Actor] = set()
        try:
            await self._play(self.acts.draw())
            await self._end()
        finally:
            await self._clean_up()

    async def _play(self, acts: list[Act]) -> None:
        for act in acts:
            self._spawn(act.name, act.body)
        for _ in range(MOST_STEPS):
            await self.scheduler.loop.settled()
            self._judge()
            if not await self._go_on():
                return
        raise Violation(f"no end after {MOST_STEPS} steps")

    async def _go_on(self) -> bool:
        """Let something happen; false when nothing is left that could."""
        ready = [gate for gate in self.scheduler.ready() if gate.actor not in self.stalled]
        if await self._goes_wrong(ready):
            return True
        match self._next(ready):
            case Gate() as gate:
                if not self._stalls(gate):
                    self._release(gate)
                return True
            case int(place):
                self._deliver(place)
                return True
        if self.stalled:
            self.stalled.clear()
            return True
        if alive := self.scheduler.alive():
            return self._wake(alive)
        return self._sweep()

    def _stalls(self, gate: Gate) -> bool:
        """Whether the actor is left standing here until everybody else is done or waits for it."""
        likely = next((each for what, each in _STALLS.items() if gate.what.startswith(what)), 0.02)
        if not self.budget.stalls or self.rng.random() > likely:
            return False
        self.budget.stalls -= 1
        self.stalled.add(gate.actor)
        self.trace.append(f"-- {gate.actor} stalls before {gate.what}")
        if self.budget.frozen:
            self.budget.frozen -= 1
            self._time_passes(None)
        return True

    def _next(self, ready: list[Gate]) -> Gate | int | None:
        """Who goes on, or the place of the message that is delivered."""
        loyal = [gate for gate in ready if gate.actor is self.last]
        if loyal and self.rng.random() < self.loyalty:
            return self.rng.choice(loyal)
        workers = sum(actor.name.startswith("works") for actor in self.scheduler.alive())
        messages = len(self.world.announced) if workers < MOST_WORKERS else 0
        if not ready and not messages:
            return None
        chosen = self.rng.randrange(len(ready) + messages)
        return ready[chosen] if chosen < len(ready) else chosen - len(ready)

    def _release(self, gate: Gate, how: str = "") -> None:
        self.last = gate.actor
        self.trace.append(f"{gate.actor}: {gate.what}{how and f' {how}'}")
        self.counted[gate.what] += 1
        if "eai.recheck" in gate.what and gate.actor.number in self.checker.asking:
            self.checker.decides(gate.actor.number)
        self.scheduler.release(gate, how)

    # -- what goes wrong

    async def _goes_wrong(self, ready: list[Gate]) -> bool:
        drawn = self.rng.random()
        if drawn > 0.06:
            return False
        budget, alive = self.budget, [a for a in self.scheduler.alive() if a.has_begun]
        if drawn < 0.015 and budget.deaths and alive:
            budget.deaths -= 1
            await self._kill(self.rng.choice(alive))
            return True
        stored = [gate for gate in ready if gate.what.startswith("vectors.")]
        if drawn < 0.03 and budget.store_faults and stored:
            budget.store_faults -= 1
            self._release(self.rng.choice(stored), self.rng.choice((LOST, UNANSWERED)))
            return True
        if drawn < 0.045 and budget.messages and self.world.announced:
            budget.messages -= 1
            place = self.rng.randrange(len(self.world.announced))
            if self.rng.random() < 0.5:
                self.trace.append(f"-- {self.world.announced.pop(place).name} is lost")
            else:
                self.trace.append(f"-- {self.world.announced[place].name} is doubled")
                self.world.announced.append(self.world.announced[place])
            return True
        return False

    async def _kill(self, actor: Actor) -> None:
        self.trace.append(f"-- {actor} dies")
        self.processes.pop(actor.number, None)
        await self.scheduler.kill(actor)
        self.checker.asking.pop(actor.number, None)

    def _time_passes(self, job: UUID | None) -> None:
        """Every lease runs out, but of those whose row somebody holds; and somebody sweeps."""
        self.trace.append("-- leases run out")
        self.world.admin.execute(_TIME_PASSES, {"t": self.tenant.id, "job": job})

        async def sweep(_: int, process: Process) -> None:
            async with self.world.database.transaction(self.tenant.id) as session:
                await process.platform.jobs.requeue_expired(session, self.tenant.id)

        self._spawn("sweeps", sweep)

    def _wake(self, alive: list[Actor]) -> bool:
        """Nobody may go on: some sleep, or all wait for locks of each other."""
        time = self.scheduler.loop.next_time()
        if time is None:
            raise Violation(f"these wait for each other: {[str(actor) for actor in alive]}")
        self.trace.append(f"-- it is {time:.3f} s")
        self.scheduler.loop.advance(time)
        return True

    def _sweep(self) -> bool:
        """Everybody is done: what is left of the jobs lost its worker or its message."""
        if not self.world.admin.execute(
            "SELECT 1 FROM eai.jobs WHERE tenant_id = %s AND state IN ('queued', 'running')", [self.tenant.id]
        ).fetchone():
            return False
        self.counted["sweeps"] += 1
        if self.counted["sweeps"] > 20:
            raise Violation("I5 there is no end of jobs")
        self._time_passes(None)
        return True

    # -- actors

    def _spawn(self, name: str, body: Callable[[int, Process], Any]) -> None:
        number = len(self.scheduler.actors)
        process = self.processes[number] = self.world.processes.take()

        async def act() -> Any:
            try:
                return await body(number, process)
            except EaiError as error:
                self.trace.append(f"{number}:{name} is refused: {error.code}")
                self._check_refusal(error)
                return error

        self.scheduler.spawn(name, act)

    def _check_refusal(self, error: EaiError) -> None:
        if error.status >= 500 and self.faultless:
            raise Violation(f"refused without a reason: {error!r}")

    @property
    def faultless(self) -> bool:
        return not any(line.endswith((LOST, UNANSWERED, "dies", " s", "run out")) for line in self.trace)

    def _deliver(self, place: int) -> None:
        message: Announcement = self.world.announced.pop(place)

        async def work(_: int, process: Process) -> None:
            await process.worker.run_one(self.tenant.id, message.job)

        self._spawn(f"works at {message.name}", work)

    def _on_search(self, actor: Actor, space: SpaceId, request: SearchRequest, hits: SearchHits) -> None:
        if actor.number in self.checker.asking:
            self.checker.searches(actor.number, space, request, hits)

    def _new_tenant(self) -> TenantId:
        """The same one each time, for keys are made of it, and things are done in their order."""
        tenant = TenantId(UUID(bytes=Random(f"tenant {self.seed}").randbytes(16), version=4))
        self.world.remove(tenant)
        return tenant

    def _new_id(self) -> UUID:
        return UUID(bytes=self.rng.randbytes(16), version=4)

    # -- judging

    def _judge(self) -> None:
        if self.world.is_changed or self.world.vectors.is_changed:
            self.world.is_changed = self.world.vectors.is_changed = False
            self.checker.look()
        for number, process in [*self.processes.items()]:
            actor = self.scheduler.actors[number]
            if process.crashes:
                error = process.crashes.pop()
                raise Violation(f"{actor} crashed: {error!r}") from error
            if actor.is_done and actor.main is not None:
                del self.processes[number]
                error = actor.main.exception()
                if error is not None:
                    raise (
                        error if isinstance(error, Violation) else Violation(f"{actor}: {error!r}")
                    ) from error
                self.world.processes.give_back(process)

    async def _end(self) -> None:
        """All is done: look at everything, and have everybody ask once more."""
        self.checker.look()
        for fault in rest.faults(self.world.admin, self.tenant, self.checker.state, self.checker.store):
            raise Violation(f"at rest: {fault}")
        name = self.rng.choice(("admin", "ann", "ben"))
        self.budget = Budget(0, 0, 0, 0, 0)
        await self._play([self.acts.query(name)])

    async def _clean_up(self) -> None:
        for actor in self.scheduler.alive():
            self.processes.pop(actor.number, None)
            await self.scheduler.kill(actor)
