"""Kills a process at each passage of a workload, and judges what becomes of it."""

import asyncio
import json
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from uuid import UUID, uuid4

import httpx2
import psycopg

from eai.cli.fsck import CLEAN, Examiner, code_of
from eai.kernel.ids import TenantId
from tests.integration.faults.outages import eventually
from tests.integration.kills.dying import Fate, Order
from tests.integration.kills.mortals import Mortal, Mortals
from tests.integration.kills.passages import Passage
from tests.integration.kills.recoveries import Recoveries
from tests.integration.kills.workloads import Scene, Workload
from tests.invariants import Judge
from tests.stack import Caller, Company, Stack

MET_WITHIN_S = 20.0
SCENES_AT_ONCE = 12
"""As many as one worker can be expected to recover in the time that was promised for one."""
ALIKE = ("carrier", "Worker.run_one")
"""How a job is brought and claimed, whatever it does: tried where a text is taken in."""
PERIODIC = ("Worker._keep_lease", "Idempotency._renew")
"""What happens whenever its time has come, and so not at the same place of every run."""
TOGETHER = "flush_portions"
"""What several have to say goes in one statement, or in some: how many there are depends on the hurry."""


@dataclass
class Laboratory:
    """Where processes are killed."""

    stack: Stack
    mortals: Mortals
    admin_url: str
    folder: Path
    recorded: dict[str, list[Passage]] = field(default_factory=dict)

    @cached_property
    def examiner(self) -> Examiner:
        """Who does what `eai fsck` does."""
        return Examiner(self.stack.platform)

    @property
    def judge(self) -> Judge:
        return Judge(self.admin_url, self.stack.platform.vectors)

    async def passages(self, workload: Workload) -> list[Passage]:
        """Every passage of the workload when nobody dies, in their order."""
        if str(workload) not in self.recorded:
            self.recorded[str(workload)] = await self._record(workload)
        return self.recorded[str(workload)]

    async def fates(self, workload: Workload) -> list[Fate]:
        """Where a process can die over this workload, as far as that was not tried with another."""
        found = fates(await self.passages(workload))
        if workload.begins_as is not None:
            before = await self.fates(workload.begins_as)
            return [fate for fate in found if fate not in before]
        if str(workload) == "ingest (worker)":
            return found
        return [fate for fate in found if not fate.site.endswith(ALIKE)]

    async def _record(self, workload: Workload) -> list[Passage]:
        experiment = await self.experiment()
        (scene,) = await experiment.scenes([workload])
        path = self.folder / f"{workload}.jsonl"
        if workload.role == "worker":
            await workload.ask(scene.company.admin, scene)
        order = Order(workload.role, scene.mark, record=str(path))
        async with self.mortals.born(order) as mortal:
            if workload.role == "api":
                async with experiment.caller(mortal.url) as caller:
                    await workload.ask(caller, scene)
            else:
                await eventually(experiment.is_carried_out)
        return read(path)

    async def experiment(self) -> "Experiment":
        """A tenant of its own, with a model that is outside."""
        company = await self.stack.company()
        # The first answer that is kept for a tenant makes the key it is kept under.
        keyed = {"idempotency-key": str(uuid4())}
        await company.admin.post("/v1/groups", json={"name": "first"}, headers=keyed)
        model = await company.model(await company.answering(), capability="embeddings", dimensions=[8])
        return Experiment(self, company, model)


class Experiment:
    """What is tried with one tenant."""

    def __init__(self, laboratory: Laboratory, company: Company, model: str) -> None:
        self.company = company
        self._laboratory = laboratory
        self._mortals = laboratory.mortals
        self._model = model

    async def try_all(
        self, trials: Sequence[tuple[Workload, Fate]], recoveries: Recoveries, kind: str
    ) -> None:
        """Have a process die over each of them, one after the other, and then see what becomes of it all."""
        scenes = await self.scenes([workload for workload, _ in trials])
        for scene, (workload, fate) in zip(scenes, trials, strict=True):
            await self.die(workload, scene, fate)
        await self.recover([workload for workload, _ in trials], scenes, recoveries, kind)

    async def scenes(self, workloads: Sequence[Workload]) -> list[Scene]:
        """A scene for each, on which it can begin."""
        turn = asyncio.Semaphore(4)

        async def prepare(workload: Workload) -> Scene:
            async with turn:
                return await workload.prepare(self.company, self._model)

        made: dict[int, Scene] = {}
        # What has to be settled comes first: whoever settles it would carry out what others wait for.
        for settles in (True, False):
            chosen = [at for at, workload in enumerate(workloads) if workload.needs_settling is settles]
            scenes = await asyncio.gather(*(prepare(workloads[at]) for at in chosen))
            made |= dict(zip(chosen, scenes, strict=True))
            if settles and chosen:
                async with self._mortals.born(Order("worker")):
                    await eventually(self.is_carried_out)
        return [made[at] for at in range(len(workloads))]

    async def examine(self) -> None:
        """Fail unless `eai fsck --deep` has nothing to say of the tenant."""
        tenant = TenantId(UUID(self.company.id))
        outcome = await self._laboratory.examiner.examine(tenant, repairs=False, is_deep=True)
        assert code_of([outcome]) == CLEAN, outcome

    async def die(self, workload: Workload, scene: Scene, fate: Fate) -> None:
        if workload.role == "worker":
            await workload.ask(self.company.admin, scene)
        async with self._mortals.born(Order(workload.role, scene.mark, fate=fate)) as mortal:
            if workload.role == "api":
                async with self.caller(mortal.url) as caller:
                    with suppress(httpx2.TransportError):
                        await workload.ask(caller, scene)
            await met(self._mortals, mortal, fate)
        await scene.look()

    async def recover(
        self, workloads: Sequence[Workload], scenes: Sequence[Scene], recoveries: Recoveries, kind: str
    ) -> None:
        """Let a worker find by itself what the dead have left."""
        async with recoveries.one(kind) as recovery, self._mortals.born(Order("worker")):
            looking = asyncio.create_task(_look(scenes))
            await asyncio.gather(*map(repeat, workloads, scenes))
            await self._laboratory.judge.judge(self.company.id, within_s=recovery.left_s)
            looking.cancel()
        for workload, scene in zip(workloads, scenes, strict=True):
            await workload.judge(scene)

    def caller(self, url: str) -> Caller:
        return Caller(url, self.company.admin.key)

    async def is_carried_out(self) -> bool:
        """Whether nothing is queued or under way for the tenant, and no message about it."""
        async with await psycopg.AsyncConnection.connect(self._laboratory.admin_url) as connection:
            found = await connection.execute(
                "SELECT FROM eai_jobs.procrastinate_jobs WHERE args ->> 'tenant' = %s LIMIT 1",
                [self.company.id],
            )
            return await found.fetchone() is None


async def repeat(workload: Workload, scene: Scene) -> None:
    """A client that was not answered asks until it is: with something else than 'wait'."""
    while workload.role == "api":
        answer = await workload.ask(scene.company.admin, scene)
        code = None if answer.is_success else answer.json()["error"]["code"]
        if code != "idempotency_in_progress":
            # What was asked for may be done, or on its way, by then.
            known = code in {None, "nothing_to_retry"} or answer.status_code in {404, 422}
            assert known, answer.text
            return
        await asyncio.sleep(1)


async def met(mortals: Mortals, mortal: Mortal, fate: Fate) -> None:
    """Return once it is dead; fail unless that was its fate."""
    try:
        await mortal.dies(MET_WITHIN_S)
    except TimeoutError:
        raise AssertionError(f"nobody ever came to {fate}") from None
    assert mortals.has_met_its_fate(mortal), f"somebody died before {fate}"


async def _look(scenes: Sequence[Scene]) -> None:
    while True:
        for scene in scenes:
            await scene.look()
            await asyncio.sleep(0.5)


def read(path: Path) -> list[Passage]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [Passage(**json.loads(line)) for line in lines]


def fates(passages: Sequence[Passage]) -> list[Fate]:
    """Where a process that passes there can die: after each that left something, and before a commit.

    What is outside before a passage is what was there after the one before it; only a transaction that is
    open then is something that PostgreSQL has to undo.
    """
    times: Counter[tuple[str, str, str]] = Counter()
    found = []
    for passage in passages:
        if not passage.is_effect or passage.site.endswith(PERIODIC):
            continue
        kind = (passage.whose, passage.site, passage.what)
        times[kind] += 1
        if passage.site.endswith(TOGETHER) and times[kind] > 1:
            continue
        is_first_commit = passage.what == "commit" and times[kind] == 1
        moments = ("before", "after") if is_first_commit else ("after",)
        found += [Fate(*kind, moment=moment, nth=times[kind]) for moment in moments]
    return found
