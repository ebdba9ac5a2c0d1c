import asyncio
import math
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from eai.integrations.qdrant.edge import EdgeShards
from eai.integrations.qdrant.layout import EXACT
from eai.integrations.qdrant.requests import Request
from eai.integrations.qdrant.schedule import Schedule
from eai.integrations.qdrant.wire import Outcome, read_hits
from eai.knowledge.ports import SearchFilter, SearchRequest, SpaceId
from tests.factories.vectors import EAST, GENERATION, MINE, dense, point

SPACE, OTHER = SpaceId("space_a", 3), SpaceId("space_b", 3)
SEARCH = SearchRequest(SearchFilter(MINE, None), 10, dense=EAST)


class Callers:
    """Everybody who asks; remembers who was answered, in which order, and how."""

    def __init__(self, schedule: Schedule) -> None:
        self.is_waiting = True
        self.answered: list[int] = []
        self.outcomes: dict[int, tuple[Outcome, Any]] = {}
        self.then: Callable[[int], None] = lambda _: None
        self._schedule = schedule
        self._progress = asyncio.Event()

    def ask(
        self,
        number: int,
        operation: str,
        *arguments: Any,
        space: SpaceId = SPACE,
        expires_at: float = math.inf,
    ) -> None:
        self._schedule.submit(Request(self, number, expires_at, operation, space, arguments, 0))

    def answer(self, request: Request, outcome: Outcome, value: Any) -> None:
        self.answered.append(request.id)
        self.outcomes[request.id] = (outcome, value)
        self._progress.set()
        self.then(request.id)

    async def settled(self, count: int) -> None:
        async with asyncio.timeout(30):
            while len(self.answered) < count:
                self._progress.clear()
                await self._progress.wait()


@pytest.fixture
async def shards(tmp_path: Path) -> AsyncIterator[EdgeShards]:
    shards = EdgeShards(tmp_path / "engine")
    shards.ensure_space(SPACE)
    shards.ensure_space(OTHER)
    yield shards
    shards.close()


@pytest.fixture
async def schedule(shards: EdgeShards) -> AsyncIterator[Schedule]:
    """Runs while the test runs; what a test submits before it awaits waits together."""
    schedule = Schedule(shards)
    running = asyncio.create_task(schedule.run())
    yield schedule
    schedule.stop()
    await running


@pytest.fixture
def callers(schedule: Schedule) -> Callers:
    return Callers(schedule)


async def test_reads_are_answered_between_the_steps_of_a_long_write(callers: Callers) -> None:
    def ask_again(number: int) -> None:
        if number < 6:
            callers.ask(number + 1, "search", SEARCH)

    callers.then = ask_again
    callers.ask(100, "upsert", [point(number) for number in range(1, 64 * 9)])
    callers.ask(1, "search", SEARCH)
    await callers.settled(7)
    assert callers.answered == [1, 2, 3, 4, 5, 6, 100]


async def test_a_long_write_goes_on_under_constant_reading(callers: Callers) -> None:
    callers.then = lambda number: callers.ask(number + 1, "search", SEARCH) if number < 99 else None
    callers.ask(100, "upsert", [point(number) for number in range(1, 64 * 3)])
    callers.ask(1, "search", SEARCH)
    await callers.settled(100)
    assert callers.answered.index(100) < 6


async def test_searches_of_one_space_that_wait_are_answered_together(callers: Callers) -> None:
    callers.ask(1, "search", SEARCH)
    callers.ask(2, "search", SEARCH, space=OTHER)
    callers.ask(3, "count", GENERATION)
    callers.ask(4, "search", SEARCH)
    await callers.settled(4)
    assert callers.answered == [1, 4, 2, 3]


async def test_writes_are_done_whole_and_in_order(callers: Callers) -> None:
    callers.ask(1, "upsert", [point(number, rights=f"{MINE}:1") for number in range(1, 200)])
    callers.ask(2, "set_rights", GENERATION, f"{MINE}:2")
    callers.ask(3, "upsert", [point(500, rights=f"{MINE}:3")])
    await callers.settled(3)
    callers.ask(4, "search", SearchRequest(SearchFilter(MINE, (f"{MINE}:1",)), 10, dense=EAST))
    callers.ask(5, "search", SearchRequest(SearchFilter(MINE, (f"{MINE}:2",)), 500, dense=EAST))
    await callers.settled(5)
    assert callers.answered == [1, 2, 3, 4, 5]
    assert read_hits(callers.outcomes[4][1]).dense == ()
    assert len(read_hits(callers.outcomes[5][1]).dense) == 199


async def test_one_bad_search_does_not_spoil_the_batch(callers: Callers) -> None:
    callers.ask(1, "search", SEARCH)
    callers.ask(2, "search", SearchRequest(SearchFilter(MINE, None), 10, dense=dense(1, 0)))
    callers.ask(3, "search", SearchRequest(SearchFilter(MINE, None), -100, dense=EAST))
    callers.ask(4, "search", SEARCH)
    await callers.settled(4)
    assert [callers.outcomes[number][0] for number in (1, 2, 3, 4)] == [
        Outcome.DONE,
        Outcome.REFUSED,
        Outcome.FAILED,
        Outcome.DONE,
    ]


async def test_a_failed_write_is_answered_and_the_next_one_served(callers: Callers) -> None:
    callers.ask(1, "upsert", [point(1)], space=SpaceId("space_unknown", 3))
    callers.ask(2, "ensure_space", space=SpaceId(SPACE.name, 4))
    callers.ask(3, "upsert", [point(1)])
    await callers.settled(3)
    assert [callers.outcomes[number][0] for number in (1, 2, 3)] == [
        Outcome.FAILED,
        Outcome.REFUSED,
        Outcome.DONE,
    ]


async def test_what_waited_past_its_deadline_is_not_begun(callers: Callers) -> None:
    callers.ask(1, "upsert", [point(1)], expires_at=0.0)
    callers.ask(2, "search", SEARCH, expires_at=0.0)
    callers.ask(3, "search", SEARCH)
    await callers.settled(3)
    assert callers.outcomes[1][0] == callers.outcomes[2][0] == Outcome.FAILED
    assert read_hits(callers.outcomes[3][1]).dense == ()


async def test_what_nobody_waits_for_is_not_begun(callers: Callers, shards: EdgeShards) -> None:
    callers.is_waiting = False
    callers.ask(1, "upsert", [point(1)])
    await callers.settled(1)
    assert shards.count(SPACE, GENERATION) == 0


async def test_an_idle_engine_folds_in_its_log(
    callers: Callers, shards: EdgeShards, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eai.integrations.qdrant.schedule.FLUSH_WHEN_IDLE_S", 0.01)
    callers.ask(1, "upsert", [point(1)])
    await callers.settled(1)
    assert not shards.is_flushed
    async with asyncio.timeout(10):
        while not shards.is_flushed:  # noqa: ASYNC110 - flushing tells nobody
            await asyncio.sleep(0.01)


@pytest.fixture
async def busy(tmp_path: Path) -> AsyncIterator[EdgeShards]:
    """So small that one point is worth rearranging for."""
    shards = EdgeShards(tmp_path / "busy", replace(EXACT, optimize_after=1))
    shards.ensure_space(SPACE)
    yield shards
    shards.close()


async def test_segments_are_rearranged_when_nobody_asks(
    busy: EdgeShards, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Never while somebody writes and asks: everybody would wait for it."""
    monkeypatch.setattr("eai.integrations.qdrant.schedule.FLUSH_WHEN_IDLE_S", 0.01)
    monkeypatch.setattr("eai.integrations.qdrant.schedule.ARRANGE_WHEN_IDLE_S", 0.01)
    schedule = Schedule(busy)
    callers = Callers(schedule)
    was_arranged = list[bool]()

    def go_on(number: int) -> None:
        was_arranged.append(busy.is_arranged)
        if number < 20:
            callers.ask(number + 1, "upsert", [point(number)])

    callers.then = go_on
    running = asyncio.create_task(schedule.run())
    callers.ask(1, "upsert", [point(1)])
    await callers.settled(20)
    assert was_arranged == [False] * 20
    async with asyncio.timeout(10):
        while not busy.is_arranged:  # noqa: ASYNC110 - rearranging tells nobody
            await asyncio.sleep(0.01)
    callers.ask(21, "search", SEARCH)
    await callers.settled(21)
    schedule.stop()
    await running


async def test_stopping_ends_it_after_the_present_step(shards: EdgeShards) -> None:
    schedule = Schedule(shards)
    callers = Callers(schedule)
    callers.ask(1, "upsert", [point(number) for number in range(1, 64 * 9)])
    running = asyncio.create_task(schedule.run())
    await asyncio.sleep(0)
    schedule.stop()
    await asyncio.wait_for(running, 10)
    assert callers.answered == []
    assert shards.count(SPACE, GENERATION) == 64
