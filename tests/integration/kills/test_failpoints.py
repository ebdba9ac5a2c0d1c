"""A process is killed at every passage to the outside of every workload, and nobody helps afterwards.

Where it is killed is found by watching the workload when nobody dies (faults 1, 2, 3 and 27). The suite tries
one passage in eight, `make kills` all of them.
"""

import pytest

from tests.integration.kills.recoveries import EVERY, Recoveries
from tests.integration.kills.trials import SCENES_AT_ONCE, Laboratory
from tests.integration.kills.workloads import WORKLOADS, Workload

OVER = {
    "api": ("api", ""),
    "worker that takes in": ("worker", "ingest ingest refused"),
    "worker that holds": ("worker", "hold release"),
    "worker that changes": ("worker", "replace overtake acl recut cancel"),
    "worker that removes": ("worker", "delete base erase"),
    "worker that reindexes": ("worker", "reindex"),
}


def workloads_of(over: str) -> list[Workload]:
    role, names = OVER[over]
    return [each for each in WORKLOADS if each.role == role and (each.name in names or not names)]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("over", OVER)
async def test_whoever_dies_wherever_it_ends_well(
    laboratory: Laboratory, recoveries: Recoveries, over: str
) -> None:
    trials = [(each, fate) for each in workloads_of(over) for fate in await laboratory.fates(each)]
    trials = trials[::EVERY]
    for start in range(0, len(trials), SCENES_AT_ONCE):
        # A tenant of their own: what is measured is not how long it takes to judge those before.
        experiment = await laboratory.experiment()
        await experiment.try_all(trials[start : start + SCENES_AT_ONCE], recoveries, over)
        await experiment.examine()
