import asyncio
import math
import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from eai.integrations.qdrant import shard
from eai.integrations.qdrant.edge import AlreadyOwned, EdgeShards, UnknownSpace
from eai.integrations.qdrant.layout import EXACT, GRAPH
from eai.integrations.qdrant.requests import Request
from eai.integrations.qdrant.schedule import Schedule
from eai.integrations.qdrant.wire import Outcome
from eai.knowledge.ports import Point, SearchFilter, SearchRequest, Selector, SpaceId
from tests.factories.vectors import (
    DOCUMENT_2,
    EAST,
    GENERATION,
    MINE,
    NORTH_EAST,
    identity,
    point,
    sparse,
)

SPACE = SpaceId("space_a", 3)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "engine"


@pytest.fixture
def shards(folder: Path) -> Iterator[EdgeShards]:
    shards = EdgeShards(folder)
    shards.ensure_space(SPACE)
    yield shards
    shards.close()


def search(rights: str = f"{MINE}:1", limit: int = 10) -> SearchRequest:
    return SearchRequest(SearchFilter(MINE, (rights,)), limit, dense=EAST, sparse=sparse({7: 2.0}))


def test_whose_the_folder_is_outlives_its_process(folder: Path, shards: EdgeShards) -> None:
    assert shards.owner() is None
    shards.take("one")
    shards.take("another")
    shards.close()
    again = EdgeShards(folder)
    assert (again.owner(), again.spaces) == ("another", [SPACE])
    again.close()


class Writer:
    """Whoever asked for one write; stops the engine's loop once it is answered."""

    is_waiting = True

    def __init__(self, schedule: Schedule) -> None:
        self.outcome: tuple[Outcome, Any] = (Outcome.FAILED, "never answered")
        self._schedule = schedule

    def answer(self, request: Request, outcome: Outcome, value: Any) -> None:
        self.outcome = (outcome, value)
        self._schedule.stop()


def write(shards: EdgeShards, operation: str, *arguments: Any, space: SpaceId = SPACE) -> None:
    """Have the engine's own loop make one write. Raises ValueError where it refuses, OSError if it fails."""
    schedule = Schedule(shards)
    writer = Writer(schedule)
    schedule.submit(Request(writer, 1, math.inf, operation, space, arguments, 0))
    asyncio.run(schedule.run())
    outcome, told = writer.outcome
    if outcome is not Outcome.DONE:
        raise ValueError(told) if outcome is Outcome.REFUSED else OSError(told)


def killed(work: Callable[[EdgeShards], None], folder: Path) -> None:
    """Do `work` in a process that is killed the moment it returns, with nothing closed or flushed."""
    process = multiprocessing.get_context("spawn").Process(target=_work_and_die, args=(work, folder))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL


def _work_and_die(work: Callable[[EdgeShards], None], folder: Path) -> None:
    work(EdgeShards(folder))
    os.kill(os.getpid(), signal.SIGKILL)


def insert(shards: EdgeShards) -> None:
    shards.ensure_space(SPACE)
    write(shards, "upsert", [point(number, NORTH_EAST, {7: 1.5}) for number in range(1, 201)])


def test_an_acknowledged_upsert_survives_kill_9(folder: Path) -> None:
    killed(insert, folder)
    survivor = EdgeShards(folder)
    assert survivor.count(SPACE, GENERATION) == 200
    ((dense, sparse),) = survivor.search(SPACE, [search(limit=1)])
    assert dense == [(identity(1), pytest.approx(0.70710678))]
    assert sparse == [(identity(1), 3.0)]
    survivor.close()


def change(shards: EdgeShards) -> None:
    shards.ensure_space(SPACE)
    write(shards, "upsert", [point(1), point(2, document=DOCUMENT_2), point(3)])
    shards.flush()
    write(shards, "set_rights", Selector(MINE, document=DOCUMENT_2), f"{MINE}:2")
    write(shards, "set_sparse", {identity(1): sparse({7: 4.0})})
    write(shards, "delete", Selector(MINE, ids=(identity(3),)))


def test_every_other_acknowledged_write_survives_kill_9(folder: Path) -> None:
    killed(change, folder)
    survivor = EdgeShards(folder)
    assert survivor.search(SPACE, [search(), search(f"{MINE}:2")]) == [
        ([(identity(1), 1.0)], [(identity(1), 8.0)]),
        ([(identity(2), 1.0)], [(identity(2), 2.0)]),
    ]
    survivor.close()


def fail(shards: EdgeShards) -> None:
    shards.ensure_space(SPACE)
    write(shards, "upsert", [point(1)])
    with pytest.raises(ValueError, match="a vector"):
        write(shards, "upsert", [point(2), replace(point(3), dense=EAST[:2])])
    write(shards, "set_sparse", {identity(99): sparse({7: 4.0})})
    write(shards, "upsert", [point(4)])


def test_a_write_that_fails_leaves_a_log_that_can_be_replayed(folder: Path) -> None:
    killed(fail, folder)
    survivor = EdgeShards(folder)
    assert survivor.count(SPACE, GENERATION) == 2
    survivor.close()


def optimize(shards: EdgeShards) -> None:
    space = SpaceId("space_wide", 256)
    shards.ensure_space(space)
    write(shards, "upsert", random_points(3_000, 256), space=space)
    shards.shard(space).optimize()
    write(shards, "upsert", random_points(3_100, 256)[3_000:], space=space)
    write(shards, "delete", Selector(MINE, ids=(identity(1),)), space=space)


def test_writes_after_the_segments_were_rearranged_survive_kill_9(folder: Path) -> None:
    killed(optimize, folder)
    survivor = EdgeShards(folder)
    assert survivor.count(SpaceId("space_wide", 256), GENERATION) == 3_099
    survivor.close()


def test_a_second_owner_is_refused_until_the_first_is_gone(folder: Path, shards: EdgeShards) -> None:
    with pytest.raises(AlreadyOwned, match=f"owned by process {os.getpid()}"):
        EdgeShards(folder)
    shards.close()
    EdgeShards(folder).close()


def test_a_space_that_was_half_made_is_made_anew(folder: Path) -> None:
    (folder / ".space_a-3" / "segments").mkdir(parents=True)
    shards = EdgeShards(folder)
    assert shards.spaces == []
    with pytest.raises(UnknownSpace):
        shards.search(SPACE, [search()])
    shards.ensure_space(SPACE)
    write(shards, "upsert", [point(1)])
    assert shards.spaces == [SPACE]
    shards.close()


def test_reopening_knows_every_space_and_its_dimensions(folder: Path, shards: EdgeShards) -> None:
    shards.ensure_space(SpaceId("space_b", 256))
    shards.close()
    again = EdgeShards(folder)
    assert again.spaces == [SPACE, SpaceId("space_b", 256)]
    with pytest.raises(ValueError, match="space_b has 256 dimensions, not 3"):
        again.ensure_space(SpaceId("space_b", 3))
    again.close()


@pytest.mark.parametrize("name", ["", "../outside", "a/b", "a-3", ".hidden", "x" * 81])
def test_a_space_name_cannot_leave_the_folder(folder: Path, shards: EdgeShards, name: str) -> None:
    with pytest.raises(ValueError, match="cannot be a space"):
        shards.ensure_space(SpaceId(name, 3))
    assert sorted(path.name for path in folder.iterdir()) == ["owner.lock", "space_a-3"]


def test_writes_are_cut_into_steps_of_64_points(shards: EdgeShards) -> None:
    opened = shards.shard(SPACE)
    points = [point(number) for number in range(1, 131)]
    assert sum(1 for _ in opened.upsert(points)) == 3
    assert sum(1 for _ in opened.set_rights(GENERATION, f"{MINE}:2")) == 3
    assert sum(1 for _ in opened.set_sparse({each.id: sparse({1: 1.0}) for each in points})) == 3
    deleting = opened.delete(GENERATION)
    next(deleting)
    assert opened.count(GENERATION) == 130 - 64
    assert sum(1 for _ in deleting) == 2
    assert opened.count(GENERATION) == 0


def test_selections_longer_than_a_page_are_changed_whole(
    shards: EdgeShards, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shard, "PAGE_POINTS", 70)
    write(shards, "upsert", [point(number) for number in range(1, 301)])
    write(shards, "set_rights", GENERATION, f"{MINE}:2")
    ((before, _), (after, _)) = shards.search(SPACE, [search(limit=500), search(f"{MINE}:2", limit=500)])
    assert (len(before), len(after)) == (0, 300)
    write(shards, "delete", GENERATION)
    assert shards.count(SPACE, GENERATION) == 0


def test_new_points_are_refused_before_the_disk_is_full_and_deleting_is_not(
    shards: EdgeShards, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(shards, "upsert", [point(1)])
    monkeypatch.setattr(shard, "RESERVE_BYTES", 2**62)
    with pytest.raises(OSError, match="are free under"):
        write(shards, "upsert", [point(2)])
    with pytest.raises(OSError, match="are free under"):
        write(shards, "set_sparse", {identity(1): sparse({1: 1.0})})
    with pytest.raises(OSError, match="are free under"):
        shards.ensure_space(SpaceId("another", SPACE.dimensions))
    assert shards.spaces == [SPACE]
    write(shards, "delete", GENERATION)
    assert shards.count(SPACE, GENERATION) == 0


def random_points(count: int, dimensions: int) -> list[Point]:
    random = np.random.default_rng(7)
    return [
        replace(
            point(number, weights={number % 50: 1.0 + number / 1000}, rights=f"{MINE}:{number % 5}"),
            dense=random.standard_normal(dimensions, dtype=np.float32),
        )
        for number in range(1, count + 1)
    ]


def nearest(points: list[Point], query: SearchRequest) -> list[int]:
    """The exact answer of the dense leg, by brute force."""
    assert query.dense is not None
    assert query.filter.rights_keys is not None
    scored = [
        (-float(each.dense @ query.dense / np.linalg.norm(each.dense)), each.id.int)
        for each in points
        if each.rights_key in query.filter.rights_keys
    ]
    return [number for _, number in sorted(scored)[: query.limit]]


def test_rearranging_the_segments_keeps_search_exact(folder: Path) -> None:
    space = SpaceId("space_wide", 256)
    shards = EdgeShards(folder, replace(EXACT, optimize_after=2_000))
    shards.ensure_space(space)
    points = random_points(3_000, 256)
    write(shards, "upsert", points, space=space)
    write(shards, "upsert", points[:10], space=space)
    assert not shards.is_arranged
    shards.arrange()
    assert shards.is_arranged
    keys = (f"{MINE}:1", f"{MINE}:3")
    for query in (points[5].dense, points[2_900].dense):
        request = SearchRequest(SearchFilter(MINE, keys), 20, dense=query, sparse=sparse({3: 1.0}))
        ((dense, keyword),) = shards.search(space, [request])
        assert [each.int for each, _ in dense] == nearest(points, request)
        assert [each.int for each, _ in keyword] == list(range(2_953, 2_953 - 20 * 50, -50))[:20]
    shards.close()


def test_a_graph_is_built_when_asked_and_finds_nearly_everything(folder: Path) -> None:
    space = SpaceId("space_graph", 64)
    shards = EdgeShards(folder, replace(GRAPH, scan_below_kb=10, optimize_after=None))
    shards.ensure_space(space)
    points = random_points(4_500, 64)
    write(shards, "upsert", points, space=space)
    shards.shard(space).optimize()
    found = 0
    for number in range(20):
        request = SearchRequest(SearchFilter(MINE, (f"{MINE}:1",)), 10, dense=points[number].dense)
        ((dense, _),) = shards.search(space, [request])
        found += len({each.int for each, _ in dense} & set(nearest(points, request)))
    assert found >= 190
    shards.close()
