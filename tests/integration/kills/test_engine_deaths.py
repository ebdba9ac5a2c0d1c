"""The engine is killed after a change of each kind and before it says so, in the middle of everything."""

import pytest

from tests.integration.kills.dying import Order
from tests.integration.kills.dying_engine import KINDS
from tests.integration.kills.recoveries import Recoveries
from tests.integration.kills.trials import MET_WITHIN_S, Laboratory
from tests.integration.kills.workloads import DeleteBase, Ingest, MoveRights, Reindex, Replace

UNDER_WAY = [kind("worker") for kind in (Ingest, Replace, MoveRights, DeleteBase, Reindex)]


@pytest.mark.parametrize("kind", KINDS)
async def test_an_engine_that_dies_in_the_middle_loses_nothing(
    laboratory: Laboratory, recoveries: Recoveries, kind: str
) -> None:
    experiment, engine = await laboratory.experiment(), laboratory.stack.engine
    scenes = await experiment.scenes(UNDER_WAY)
    await engine.stop()
    await engine.start("tests.integration.kills.dying_engine", kind)
    try:
        for workload, scene in zip(UNDER_WAY, scenes, strict=True):
            assert (await workload.ask(experiment.company.admin, scene)).is_success
        async with laboratory.mortals.born(Order("worker")):
            await engine.dies(MET_WITHIN_S)
            await engine.start()
            async with recoveries.one("the engine") as recovery:
                await laboratory.judge.judge(experiment.company.id, within_s=recovery.left_s)
    finally:
        await engine.kill()
        await engine.start()
    for workload, scene in zip(UNDER_WAY, scenes, strict=True):
        await workload.judge(scene)
    await experiment.examine()
