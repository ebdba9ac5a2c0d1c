"""What many rights classes in one base cost a question, and whether they lose answers.

`python -m benchmarks.rights_classes [--points N] [--write]`. One base of 50,000 chunks, over HTTP, in which
10, 1,000 and 50,000 different rights occur, asked by people who may see from half of them to one in ten
thousand. Up to 1,000 permitted classes are a filter in the engine; beyond, the re-check alone decides.
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from benchmarks.class_library import ClassLibrary, filled
from benchmarks.exact_search import CUT, Postings
from benchmarks.load import Load, raw_request, require, send
from benchmarks.product import Json, Product, made, running_product
from benchmarks.report import machine, publish, table, wanted
from benchmarks.rounds import middle, note, options, quantile
from benchmarks.stage import temporary_home
from eai.access.rights_class import MAX_FILTER_CLASSES
from eai.integrations.local_models.hashing import hash_vector
from eai.knowledge.lexical import analyse_query, query_weights
from eai.knowledge.ports import Vector

SEEN = (2, 10, 45, 100, 1_000, 10_000)
"""People see one class in so many. One in 45 of 50,000 is the least share that no filter takes."""
LEAST_RECALL = 0.98
_LEGS = ("vector", "keyword")
_WARM_UP = 20
_SAME = 1e-5


@dataclass
class Cell:
    """One person: milliseconds by round, the recall at ten of either leg, and how often it was warned."""

    classes: int
    chunks: int
    p50: list[float] = field(default_factory=list)
    p99: list[float] = field(default_factory=list)
    recall: dict[str, float] = field(default_factory=dict)
    warned: float = 0.0


Cells = dict[tuple[int, int], Cell]
"""By how many classes there are, and one in how many of them is seen."""


async def measured(arguments: argparse.Namespace) -> Cells:
    """One base after the other, each in a product of its own."""
    cells: Cells = {}
    for classes in arguments.classes:
        seen = [every for every in SEEN if every <= classes]
        with temporary_home() as home:
            async with running_product(home) as product:
                library = await filled(product, classes, seen, arguments.points, arguments.questions)
                truth = Truth(library)
                for every in seen:
                    cells[classes, every] = cell = await _one_person(
                        product, library, every, truth, arguments
                    )
                    note(f"{classes:,} classes, one in {every:,}: {middle(cell.p50):.1f} ms, {cell.recall}")
    return cells


async def _one_person(
    product: Product, library: ClassLibrary, every: int, truth: "Truth", arguments: argparse.Namespace
) -> Cell:
    permitted = library.permitted(every)
    cell = Cell(-(-library.classes // every), int(permitted.sum()))
    hybrid = _requests(library, every)
    require(await send(Load(product.port, hybrid[:_WARM_UP])), 200)
    for _ in range(arguments.rounds):
        answers = require(await send(Load(product.port, hybrid)), 200)
        cell.p50.append(quantile(answers.ms, 0.5))
        cell.p99.append(quantile(answers.ms, 0.99))
    warned = [
        "partial_results" in answer["warnings"]
        for answer in await _answers(product, library, every, "hybrid")
    ]
    cell.warned = float(np.mean(warned))
    for leg in _LEGS:
        shares = [
            truth.share(leg, question, _rows(library, answer), permitted)
            for question, answer in zip(
                library.questions, await _answers(product, library, every, leg), strict=True
            )
        ]
        cell.recall[leg] = float(np.mean(shares))
    return cell


class Truth:
    """Exact search by numpy over the chunks that somebody may see."""

    def __init__(self, library: ClassLibrary) -> None:
        self._vectors = np.stack(library.vectors)
        self._postings = Postings(library.sparse)

    def share(self, leg: str, question: str, rows: Sequence[int], permitted: NDArray[np.bool_]) -> float:
        """The share of the ten best that were found; one as good as the tenth counts too."""
        scores, above = (self._near(question), -2.0) if leg == "vector" else (self._matching(question), 0.0)
        if not permitted[list(rows)].all():
            raise RuntimeError("a chunk was shown that this caller may not read")
        best = np.sort(scores[permitted])[::-1][:CUT]
        best = best[best > above]
        if len(best) == 0:
            return 1.0
        return sum(bool(scores[row] >= best[-1] - _SAME) for row in rows[: len(best)]) / len(best)

    def _near(self, question: str) -> Vector:
        return self._vectors @ hash_vector(question)

    def _matching(self, question: str) -> Vector:
        # No chunk is everybody's, so that no statistics are: every term weighs the same.
        return self._postings.scores(query_weights(analyse_query(question), {}, {}).vector)


def _rows(library: ClassLibrary, answer: Json) -> list[int]:
    return [library.chunks[result["chunk_id"]] for result in answer["results"]]


async def _answers(product: Product, library: ClassLibrary, every: int, mode: str) -> list[Json]:
    """What each question is answered."""
    path = f"/v1/knowledge-bases/{library.base}/query"
    async with product.client(library.keys[every]) as client:
        return [
            await made(client, path, {"query": question, "mode": mode, "top_k": CUT})
            for question in library.questions
        ]


def _requests(library: ClassLibrary, every: int) -> list[str]:
    path = f"/v1/knowledge-bases/{library.base}/query"
    headers = {"Authorization": f"Bearer {library.keys[every]}"}
    return [
        raw_request("POST", path, headers, {"query": question, "top_k": CUT})
        for question in library.questions
    ]


def report(cells: Cells, arguments: argparse.Namespace) -> str:
    """The section of docs/benchmarks.md."""
    floor = cells[min(cells)]
    head = [
        "classes in the base",
        "permitted",
        "chunks seen",
        "decided by",
        "p50, ms",
        "of the first",
        "p99, ms",
    ]
    return "\n\n".join(
        [
            "## Many rights classes in one base",
            f"`python -m benchmarks.rights_classes --write`, {machine()}",
            _EXPLAINED.strip().format(points=arguments.points, most=MAX_FILTER_CLASSES),
            table([*head, *(f"recall@{CUT} {leg}" for leg in _LEGS), "warned"], [
                _line(key, cell, middle(floor.p50)) for key, cell in cells.items()
            ]),
            table(["worst cell", "", "wanted"], [_worst(cells, leg) for leg in _LEGS]),
        ]
    )  # fmt: skip


def _line(key: tuple[int, int], cell: Cell, floor_ms: float) -> list[str]:
    return [
        f"{key[0]:,}",
        f"{cell.classes:,}",
        f"{cell.chunks:,}",
        "filter" if cell.classes <= MAX_FILTER_CLASSES else "re-check alone",
        f"{middle(cell.p50):.1f}",
        f"{middle(cell.p50) / floor_ms:.2f}",
        f"{middle(cell.p99):.1f}",
        *(f"{cell.recall[leg]:.3f}" for leg in _LEGS),
        f"{cell.warned:.0%}",
    ]


def _worst(cells: Cells, leg: str) -> list[str]:
    least = min(cell.recall[leg] for cell in cells.values())
    return [
        f"recall@{CUT}, {leg}",
        f"{least:.3f}",
        wanted(f"≥ {LEAST_RECALL:g}", holds=least >= LEAST_RECALL),
    ]


_EXPLAINED = """
Hybrid questions for ten passages in one base of {points:,} chunks with `local-hash-256`, one caller, one
question after the other, over HTTP: everything from the credential to the audit on disk. Every chunk has one
of so many different rights, spread over the base without a pattern. `permitted` are those that the caller
may see: up to {most:,} of them go to the engine as a filter; of more, the re-check drops what may not be
shown, and looks further. The first line, with ten classes in the base, is the floor. Recall is that of the
answers in the modes `vector` and `keyword`, against exact search by numpy over the chunks that the caller
may see. `warned` is the share of answers with `partial_results`. Medians of rounds.
"""


def main(given: Sequence[str]) -> int:
    parser = options(__doc__)
    parser.add_argument("--points", type=int, default=50_000)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--classes", type=int, nargs="+", default=[10, 1_000, 50_000])
    arguments = parser.parse_args(given)
    cells = asyncio.run(measured(arguments))
    publish("rights-classes", report(cells, arguments), write=arguments.write)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
