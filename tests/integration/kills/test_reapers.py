"""Whoever takes over what the dead have left may die over that too (fault 6)."""

import asyncio

import psycopg

from tests.integration.kills.dying import Fate, Order
from tests.integration.kills.passages import Passage
from tests.integration.kills.trials import (
    Experiment,
    Laboratory,
    fates,
    met,
    read,
)
from tests.integration.kills.workloads import Ingest, RollBack, Scene

CALLED = Fate("ingestion.run", "eai/integrations/openai_compatible.py OpenAiCompatible._post", "post")
TAKEN_IN, GONE_BACK = Ingest("worker"), RollBack("api")
SWEPT = "swept"


async def left_behind(laboratory: Laboratory, *, a_generation: bool) -> tuple[Experiment, Scene]:
    """A tenant for which a worker died after it had called a model, and that may have left a generation."""
    experiment = await laboratory.experiment()
    *_, scene = await experiment.scenes([GONE_BACK, TAKEN_IN] if a_generation else [TAKEN_IN])
    await experiment.die(TAKEN_IN, scene, CALLED)
    async with await psycopg.AsyncConnection.connect(laboratory.admin_url) as connection:
        for statement in _LET_ALL_RUN_OUT:
            await connection.execute(statement, {"tenant": experiment.company.id})
    return experiment, scene


async def swept_passages(laboratory: Laboratory) -> list[Passage]:
    """Every passage of one who takes over, when nobody dies over it."""
    if SWEPT not in laboratory.recorded:
        await left_behind(laboratory, a_generation=True)
        path = laboratory.folder / f"{SWEPT}.jsonl"
        async with laboratory.mortals.born(Order("sweeper", record=str(path))) as mortal:
            await mortal.dies()
        laboratory.recorded[SWEPT] = read(path)
    return laboratory.recorded[SWEPT]


async def test_whoever_takes_over_may_die_too(laboratory: Laboratory) -> None:
    swept = [fate for fate in fates(await swept_passages(laboratory)) if fate.nth == 1]
    assert {fate.what for fate in swept} == {"retry_job", "commit", "statement"}
    left = []
    for fate in swept:
        left.append(await left_behind(laboratory, a_generation="drop_retired" in fate.site))
        async with laboratory.mortals.born(Order("sweeper", fate=fate)) as mortal:
            await met(laboratory.mortals, mortal, fate)
    await laboratory.passages(TAKEN_IN)
    within_s = laboratory.recovery_s([TAKEN_IN] * len(left))
    async with laboratory.mortals.born(Order("worker")), asyncio.timeout(within_s):
        for experiment, _ in left:
            await laboratory.judge.judge(experiment.company.id)
    for experiment, scene in left:
        await TAKEN_IN.judge(scene)
        await experiment.examine()


_LET_ALL_RUN_OUT = (
    "UPDATE eai.jobs SET lease_until = now() WHERE tenant_id = %(tenant)s AND state = 'running'",
    "UPDATE eai.model_reservations SET lease_until = now() WHERE tenant_id = %(tenant)s AND state = 'held'",
    "UPDATE eai_jobs.procrastinate_workers SET last_heartbeat = now() - interval '1 minute'",
)
