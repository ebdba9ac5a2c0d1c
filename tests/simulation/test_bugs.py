"""The checker finds what it is there to find: every bug that is seeded, within so many schedules.

The suite seeds one in three, `make simulate` all of them.
"""

import os

import pytest

from tests.simulation.bugs import BUGS, Bug
from tests.simulation.playing import play
from tests.simulation.world import World

EVERY = int(os.environ.get("EVERY", "3"))


@pytest.mark.parametrize("bug", BUGS[::EVERY], ids=lambda bug: bug.name)
def test_a_seeded_bug_is_found(world: World, bug: Bug) -> None:
    seeds = range(bug.first, bug.first + bug.within)
    told = next((str(violation) for _, violation in play(world, seeds, bug.makes) if violation), "nothing")
    assert told.partition(": ")[2].removeprefix("at rest: ").startswith(bug.invariants), told
