"""Plays schedules by the hundreds, and says how each can be played again."""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, nullcontext
from functools import cache
from pathlib import Path
from typing import Any

from tests.conftest import fresh_database
from tests.simulation.checker import Violation
from tests.simulation.schedule import Schedule
from tests.simulation.world import World

Patch = Callable[[], Any]


def play(
    world: World, seeds: Iterable[int], bug: Patch = nullcontext
) -> Iterator[tuple[int, Violation | None]]:
    """Each seed with what its schedule broke."""
    for seed in seeds:
        with bug():
            try:
                Schedule(world, seed).run()
            except Violation as violation:
                yield seed, violation
                continue
        yield seed, None


def batch(seeds: range) -> list[str | None]:
    """What each of these schedules broke, played in a world of this process."""
    return [None if violation is None else str(violation) for _, violation in play(_world(), seeds)]


def traces(seeds: Iterable[int]) -> list[list[str]]:
    """What was done in each of these schedules, step by step, in a world of this process."""
    schedules = [Schedule(_world(), seed) for seed in seeds]
    for schedule in schedules:
        schedule.run()
    return [schedule.trace for schedule in schedules]


@cache
def _world() -> World:
    # It ends with its process, and its database with the server.
    urls = ExitStack().enter_context(fresh_database())
    return World(urls, Path(tempfile.mkdtemp()))
