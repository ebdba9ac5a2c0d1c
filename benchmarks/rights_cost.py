"""What filtering by rights costs in the engine, and whether it loses answers.

`python -m benchmarks.rights_cost [--layout graph] [--write]`. One base of 100,000 points, both legs, over a
grid of how much of the base a caller may see and of how many rights classes that is made. Against the same
question filtered by tenant and generation only, in the same run; answers against exact search by numpy.
"""

import argparse
import asyncio
import shutil
import sys
import tempfile
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

import numpy as np

from benchmarks.cloud import DIMENSIONS, Cloud, Query
from benchmarks.exact_search import Truth, share_found
from benchmarks.report import machine, publish, table, wanted
from benchmarks.rounds import middle, note, options
from benchmarks.stage import running_engine
from eai.access.rights_class import generation_key, rights_key, rights_keys
from eai.integrations.qdrant.client import EngineVectors
from eai.integrations.qdrant.edge import EdgeShards
from eai.integrations.qdrant.layout import EXACT, GRAPH
from eai.kernel.ids import GenerationId, TenantId
from eai.knowledge.ports import SearchFilter, SearchRequest, SpaceId

SELECTIVITIES = (0.5, 0.1, 0.01, 0.001, 0.0001)
LAYOUTS = {"exact": EXACT, "graph": GRAPH}
FETCHED = 50
"""Hits fetched from each leg, as the product's first pass does."""
MOST_RATIO, LEAST_RECALL = 2.0, 0.98

_TENANT, _GENERATION = TenantId(UUID(int=1)), GenerationId(UUID(int=2))
_SPACE = SpaceId("benchmark", DIMENSIONS)
_ALL = SearchFilter(generation_key(_TENANT, _GENERATION), None)
_OTHERS = 100
_WARM_UP = 10

Rows = list[int]
Search = Callable[[SearchRequest], Awaitable[tuple[Rows, Rows]]]


class Cell(NamedTuple):
    """One caller: how many classes it may see, and which of the points those hold."""

    classes: int
    selectivity: float
    scope: SearchFilter
    rows: slice


@dataclass
class Measured:
    """A cell's medians in milliseconds, one for each round, and its recall at ten of either leg."""

    bare: list[float] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)
    recall: tuple[float, float] = (1.0, 1.0)

    @property
    def ratio(self) -> float:
        return middle([ours / bare for ours, bare in zip(self.ours, self.bare, strict=True)])


@dataclass
class Comparison:
    """What one layout shows, cell by cell: called in this process, and over the engine's socket."""

    in_process: dict[tuple[int, float], Measured] = field(default_factory=dict)
    over_socket: dict[tuple[int, float], Measured] = field(default_factory=dict)
    arranged_s: list[float] = field(default_factory=list)


def divided(size: int, classes: int) -> tuple[list[str], list[Cell]]:
    """The rights key of each point, and the callers. Rights follow topics: neighbours share theirs.

    The points of each selectivity are a stretch of the cloud, dealt out to `classes` classes; what no
    caller may see belongs to a hundred others. Where there are more classes than points the rest of the
    caller's classes are empty, and are still sent with every search.
    """
    numbers = np.zeros(size, dtype=np.int64)
    cells, start = [], 0
    for place, selectivity in enumerate(SELECTIVITIES):
        end = start + max(1, round(size * selectivity))
        own = range(1 + place * classes, 1 + (place + 1) * classes)
        numbers[start:end] = own.start + np.arange(end - start) % classes
        scope = SearchFilter(_ALL.generation_key, rights_keys(_TENANT, _GENERATION, own))
        cells.append(Cell(classes, selectivity, scope, slice(start, end)))
        start = end
    numbers[start:] = 1 + len(SELECTIVITIES) * classes + np.arange(size - start) % _OTHERS
    return [rights_key(_TENANT, _GENERATION, number) for number in numbers.tolist()], cells


async def measure(
    search: Search, cell: Cell, queries: Sequence[Query], truth: Truth | None, rounds: int
) -> Measured:
    """Each question with rights and without, one after the other, who goes first alternating."""
    measured = Measured()
    for query in queries[:_WARM_UP]:
        await search(_request(_ALL, query))
        await search(_request(cell.scope, query))
    for number in range(rounds):
        bare: list[float] = []
        ours: list[float] = []
        for turn, query in enumerate(queries):
            for scope in (_ALL, cell.scope) if (turn + number) % 2 else (cell.scope, _ALL):
                start = time.perf_counter()
                await search(_request(scope, query))
                (bare if scope is _ALL else ours).append(1000 * (time.perf_counter() - start))
        measured.bare.append(middle(bare))
        measured.ours.append(middle(ours))
    if truth is not None:
        measured.recall = await _recall(search, cell, queries, truth)
    return measured


async def compare(
    name: str, class_counts: Sequence[int], cloud: Cloud, arguments: argparse.Namespace
) -> Comparison:
    """The whole grid in one layout; one base after the other, each with its own division into classes."""
    comparison, queries, truth = Comparison(), cloud.queries(arguments.queries), Truth(cloud)
    for classes in class_counts:
        home = Path(tempfile.mkdtemp(prefix="eai-bench-"))
        try:
            keys, cells = divided(cloud.size, classes)
            note(f"{name}, {classes} classes: loading {cloud.size:,} points")
            shards = EdgeShards(home / "engine", LAYOUTS[name])
            comparison.arranged_s.append(_load(shards, cloud, keys))
            note(f"{name}, {classes} classes: arranged in {comparison.arranged_s[-1]:.0f} s; measuring")
            for cell in cells:
                comparison.in_process[cell[:2]] = await measure(
                    _within(shards), cell, queries, truth, arguments.rounds
                )
            shards.close()
            async with running_engine(home / "engine", home / "engine.sock", graph=name == "graph"):
                vectors = EngineVectors(home / "engine.sock", deadline_s=60)
                for cell in cells:
                    comparison.over_socket[cell[:2]] = await measure(
                        _over(vectors), cell, queries, None, arguments.rounds
                    )
                await vectors.close()
        finally:
            shutil.rmtree(home, ignore_errors=True)
    return comparison


def _load(shards: EdgeShards, cloud: Cloud, keys: Sequence[str]) -> float:
    shards.ensure_space(_SPACE)
    shard = shards.shard(_SPACE)
    points = cloud.points(keys, _ALL.generation_key)
    for start in range(0, len(points), 5_000):
        deque(shard.upsert(points[start : start + 5_000]), maxlen=0)
        shard.tidy()
    start_s = time.perf_counter()
    shard.optimize()
    return time.perf_counter() - start_s


def _within(shards: EdgeShards) -> Search:
    async def search(request: SearchRequest) -> tuple[Rows, Rows]:
        ((dense, sparse),) = shards.search(_SPACE, [request])
        return [point.int for point, _ in dense], [point.int for point, _ in sparse]

    return search


def _over(vectors: EngineVectors) -> Search:
    async def search(request: SearchRequest) -> tuple[Rows, Rows]:
        hits = await vectors.search(_SPACE, request)
        return [hit.id.int for hit in hits.dense], [hit.id.int for hit in hits.sparse]

    return search


def _request(scope: SearchFilter, query: Query) -> SearchRequest:
    return SearchRequest(scope, FETCHED, query.dense, query.sparse)


async def _recall(search: Search, cell: Cell, queries: Sequence[Query], truth: Truth) -> tuple[float, float]:
    dense, sparse = [], []
    for query in queries:
        found = await search(_request(cell.scope, query))
        near, matching = truth.scores(query)
        dense.append(share_found(found[0], near, cell.rows))
        sparse.append(share_found(found[1], matching, cell.rows, above=0.0))
    return float(np.mean(dense)), float(np.mean(sparse))


def report(comparisons: dict[str, Comparison], arguments: argparse.Namespace) -> str:
    """The section of docs/benchmarks.md."""
    parts = [
        "## What rights cost in the engine",
        f"`python -m benchmarks.rights_cost --layout {arguments.layout} --write`, {machine()}",
        _EXPLAINED.strip().format(points=arguments.points, dimensions=DIMENSIONS, fetched=FETCHED),
    ]
    for name, comparison in comparisons.items():
        parts += [*_summary(name, comparison), table(_HEAD, _lines(comparison, arguments.points))]
    return "\n\n".join(parts)


def _summary(name: str, comparison: Comparison) -> list[str]:
    """What the layout is, and its worst cells."""
    links, breadth = GRAPH.links, GRAPH.search_breadth
    graph = f"With the engine's graph ({links} links a node, search breadth {breadth:,})"
    layout = "Exact, without a graph" if name == "exact" else graph
    arranged = f"{layout}; arranged in {middle(comparison.arranged_s):.0f} s, outside the timed part."
    rows = []
    for how, cells in (("in process", comparison.in_process), ("over the socket", comparison.over_socket)):
        at, cell = max(cells.items(), key=lambda item: item[1].ratio)
        aim = wanted(f"≤ {MOST_RATIO:g}", holds=cell.ratio <= MOST_RATIO)
        rows.append([f"rights against tenant-only, {how}", f"{cell.ratio:.2f}", _where(at), aim])
    for leg, what in enumerate(("vector", "keyword")):
        at, cell = min(comparison.in_process.items(), key=lambda item: item[1].recall[leg])
        aim = wanted(f"≥ {LEAST_RECALL:g}", holds=cell.recall[leg] >= LEAST_RECALL)
        rows.append([f"recall@10, {what}", f"{cell.recall[leg]:.3f}", _where(at), aim])
    return [arranged, table(["worst cell", "", "caller may see", "wanted"], rows)]


def _where(at: tuple[int, float]) -> str:
    classes, selectivity = at
    return f"{selectivity:.2%} in {classes:,} classes"


def _lines(comparison: Comparison, points: int) -> list[list[str]]:
    return [
        [
            f"{selectivity:.2%}",
            f"{max(1, round(points * selectivity)):,}",
            f"{classes:,}",
            *_times(inside),
            *_times(comparison.over_socket[classes, selectivity]),
            *(f"{share:.3f}" for share in inside.recall),
        ]
        for (classes, selectivity), inside in sorted(
            comparison.in_process.items(), key=lambda item: (-item[0][1], item[0][0])
        )
    ]


def _times(cell: Measured) -> tuple[str, str, str]:
    return f"{middle(cell.bare):.2f}", f"{middle(cell.ours):.2f}", f"{cell.ratio:.2f}"


_HEAD = [
    *("may see", "points", "classes"),
    *("tenant-only, ms", "rights, ms", "ratio", "socket: tenant-only, ms", "rights, ms", "ratio"),
    *("recall@10 vector", "recall@10 keyword"),
]

_EXPLAINED = """
One base of {points:,} points of {dimensions} dimensions; both legs, {fetched} hits each, one question at a
time. `tenant-only` is the floor: the same question filtered by tenant and generation alone, right before or
after, over the same points. Medians of the rounds' medians; recall against exact search by numpy over the
points that the caller may see. Questions come from anywhere in the base and rights follow topics, so most
of a question's neighbours are things that its caller may not see.
"""


def main(given: Sequence[str]) -> int:
    parser = options(__doc__)
    parser.add_argument("--points", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--classes", type=int, nargs="+", default=[1, 30, 200, 1_000])
    parser.add_argument("--graph-classes", type=int, nargs="+", default=[1, 30, 200, 1_000])
    parser.add_argument("--layout", choices=[*LAYOUTS, "both"], default="both")
    arguments = parser.parse_args(given)
    cloud = Cloud(arguments.points)
    chosen = list(LAYOUTS) if arguments.layout == "both" else [arguments.layout]
    counts = {"exact": arguments.classes, "graph": arguments.graph_classes}
    comparisons = {name: asyncio.run(compare(name, counts[name], cloud, arguments)) for name in chosen}
    publish("rights-cost", report(comparisons, arguments), write=arguments.write)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
