"""Whoever takes over what the dead have left may die over that too (fault 6)."""

from dataclasses import dataclass

import psycopg
import pytest

from tests.integration.kills.dying import Fate, Order
from tests.integration.kills.passages import Passage
from tests.integration.kills.recoveries import Recoveries
from tests.integration.kills.trials import Experiment, Laboratory, fates, met, read
from tests.integration.kills.workloads import Ingest, RollBack, Scene

CALLED = Fate("ingestion.run", "eai/integrations/openai_compatible.py OpenAiCompatible._post", "post")
TAKEN_IN, GONE_BACK = Ingest("worker"), RollBack("api")
SWEPT = "swept"


@dataclass(frozen=True)
class Legacy:
    """What a tenant's dead have left, for somebody to take over."""

    experiment: Experiment
    scene: Scene

    @classmethod
    async def prepare(cls, laboratory: Laboratory, *, a_generation: bool) -> "Legacy":
        """Before anybody dies, and perhaps with a generation that is not searched any more."""
        experiment = await laboratory.experiment()
        *_, scene = await experiment.scenes([GONE_BACK, TAKEN_IN] if a_generation else [TAKEN_IN])
        return cls(experiment, scene)

    async def leave(self, laboratory: Laboratory) -> None:
        """Have a worker die after it has called a model, and its time run out.

        What others have left and is queued again is held back from it: it would die over that as well, and
        whatever dies three times is given up.
        """
        async with await psycopg.AsyncConnection.connect(laboratory.admin_url) as connection:
            await connection.execute(_HOLD_BACK)
        await self.experiment.die(TAKEN_IN, self.scene, CALLED)
        async with await psycopg.AsyncConnection.connect(laboratory.admin_url) as connection:
            for statement in _LET_ALL_RUN_OUT:
                await connection.execute(statement, {"tenant": self.experiment.company.id})


async def swept_passages(laboratory: Laboratory) -> list[Passage]:
    """Every passage of one who takes over, when nobody dies over it."""
    if SWEPT not in laboratory.recorded:
        await (await Legacy.prepare(laboratory, a_generation=True)).leave(laboratory)
        path = laboratory.folder / f"{SWEPT}.jsonl"
        async with laboratory.mortals.born(Order("sweeper", record=str(path))) as mortal:
            await mortal.dies()
        laboratory.recorded[SWEPT] = read(path)
    return laboratory.recorded[SWEPT]


@pytest.mark.timeout(300)
async def test_whoever_takes_over_may_die_too(laboratory: Laboratory, recoveries: Recoveries) -> None:
    swept = [fate for fate in fates(await swept_passages(laboratory)) if fate.nth == 1]
    assert {fate.what for fate in swept} == {"retry_job", "commit", "statement"}
    legacies = [await Legacy.prepare(laboratory, a_generation="drop_retired" in fate.site) for fate in swept]
    for fate, legacy in zip(swept, legacies, strict=True):
        await legacy.leave(laboratory)
        async with laboratory.mortals.born(Order("sweeper", fate=fate)) as mortal:
            await met(laboratory.mortals, mortal, fate)
    async with await psycopg.AsyncConnection.connect(laboratory.admin_url) as connection:
        await connection.execute(_LET_GO)
    async with recoveries.one("who takes over") as recovery, laboratory.mortals.born(Order("worker")):
        for legacy in legacies:
            await laboratory.judge.judge(legacy.experiment.company.id, within_s=recovery.left_s)
    for legacy in legacies:
        await TAKEN_IN.judge(legacy.scene)
        await legacy.experiment.examine()


_LET_ALL_RUN_OUT = (
    "UPDATE eai.jobs SET lease_until = now() WHERE tenant_id = %(tenant)s AND state = 'running'",
    "UPDATE eai.model_reservations SET lease_until = now() WHERE tenant_id = %(tenant)s AND state = 'held'",
    "UPDATE eai_jobs.procrastinate_workers SET last_heartbeat = now() - interval '1 minute'",
)
_HOLD_BACK = "UPDATE eai_jobs.procrastinate_jobs SET scheduled_at = 'infinity' WHERE status = 'todo'"
_LET_GO = "UPDATE eai_jobs.procrastinate_jobs SET scheduled_at = NULL WHERE status = 'todo'"
