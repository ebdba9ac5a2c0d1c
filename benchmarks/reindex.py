"""What a reindex costs those who ask meanwhile, how fast it is, and how long anybody waits when it ends.

`python -m benchmarks.reindex [--chunks N] [--write]`. A whole product with one worker. A prober asks twenty
questions a second over HTTP and looks at each answer; documents of the same kind are taken in before, alone.
"""

import argparse
import asyncio
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any

import httpx2

from benchmarks.flips import WANTED_MS, WRITES_PER_SECOND, Flips, flipped
from benchmarks.ingest_throughput import Side, new_base, post, texts
from benchmarks.library import Library, filled
from benchmarks.load import Answers
from benchmarks.meter import Meter, Taken
from benchmarks.prober import PER_SECOND, Faults, Prober, prober
from benchmarks.product import Json, Product, made, running_product, running_worker
from benchmarks.prose import Prose
from benchmarks.report import machine, publish, table, wanted
from benchmarks.rounds import middle, note, options, quantile
from benchmarks.stage import temporary_home
from eai.gateway.catalogue import LOCAL_HASH_256, LOCAL_USE_512
from eai.integrations.local_models import SentenceEmbedder

RATIO = 0.8
SLOWER = 1.5
READER = "10 %"
_CLIENTS = 4
_LANDMARKS = 100
_POLL_S = 0.5
_WARM_UP = 8
_ENDED = {"completed", "failed", "cancelled"}


@dataclass(frozen=True)
class Stock:
    """A base that is to be moved, whom to ask as, and who may read what is taken in beside it."""

    base: str
    prober: Prober
    readers: Sequence[str] | None


@dataclass(frozen=True)
class Moved:
    """One base that was moved: what was taken in alone, the move, and what the prober saw of it."""

    name: str
    chunks: int
    ingest: Side
    alone: Taken
    moving: Taken
    idle: Answers
    beside: Answers
    faults: Faults
    flips: Flips | None = None

    @property
    def per_second(self) -> float:
        return self.chunks / self.moving.seconds

    @property
    def cpu_ms(self) -> list[float]:
        """Of each part for a chunk, without what the prober takes of it."""
        asking = self.moving.seconds / self.alone.seconds
        spent = [used - asking * self.alone.parts[part] for part, used in self.moving.parts.items()]
        return [1000 * each / self.chunks for each in spent]

    @property
    def ratio(self) -> float:
        return self.per_second / middle(self.ingest.per_second)

    @property
    def slower(self) -> float:
        return quantile(self.beside.ms, 0.95) / quantile(self.idle.ms, 0.95)


async def measured(arguments: argparse.Namespace) -> list[Moved]:
    """A large base with real rights, a small one that everybody reads, and one to a model of meaning."""
    found = [await _with_rights(arguments), await _open_to_all(arguments, LOCAL_HASH_256.name)]
    if SentenceEmbedder.is_available() and arguments.semantic_documents:
        found.append(await _open_to_all(arguments, LOCAL_USE_512.name))
    return found


async def _with_rights(arguments: argparse.Namespace) -> Moved:
    async with AsyncExitStack() as stack:
        product, worker = await _running(stack)
        library = await filled(product, arguments.chunks, 1)
        note("the base is filled")
        return await with_rights(product, worker, library, arguments)


async def with_rights(
    product: Product, worker: int, library: Library, arguments: argparse.Namespace
) -> Moved:
    """The base of the library, asked by somebody who sees part of it."""
    async with product.client(product.admin_key) as admin:
        groups = [group["id"] for group in (await admin.get("/v1/groups?limit=200")).json()["data"]]
    reader = library.readers[READER]
    asked = await prober(product, str(library.base), reader.key, _LANDMARKS, reader.classes)
    stock = Stock(str(library.base), asked, [f"group:{group}" for group in groups])
    name = f"{LOCAL_HASH_256.name}, real rights"
    return await _moved(product, worker, stock, (name, LOCAL_HASH_256.name), arguments)


async def _open_to_all(arguments: argparse.Namespace, model: str) -> Moved:
    async with AsyncExitStack() as stack:
        product, worker = await _running(stack)
        base = await new_base(product, LOCAL_HASH_256.name)
        documents = arguments.semantic_documents if model != LOCAL_HASH_256.name else arguments.documents
        await post(product, base, _bodies(Prose(5), 4 * documents), _CLIENTS, Side())
        note("the base is filled")
        asked = await prober(product, base, product.admin_key, _LANDMARKS)
        stock = Stock(base, asked, None)
        return await _moved(product, worker, stock, (f"{model}, open to all", model), arguments)


async def _running(stack: AsyncExitStack) -> tuple[Product, int]:
    product = await stack.enter_async_context(running_product(stack.enter_context(temporary_home())))
    worker = await stack.enter_async_context(running_worker(product))
    return product, worker


async def _moved(
    product: Product, worker: int, stock: Stock, named: tuple[str, str], arguments: argparse.Namespace
) -> Moved:
    name, model = named
    before = await stock.prober.known()
    ingest = await _ingested(product, stock, model, arguments)
    meter = Meter(product, worker)
    idle = await stock.prober.alone(arguments.idle_seconds)
    alone = meter.taken()
    note(f"{name}: idle p95 {quantile(idle.ms, 0.95):.1f} ms")
    async with product.client(product.admin_key) as admin:
        chunks = (await admin.get(f"/v1/knowledge-bases/{stock.base}")).json()["chunks_count"]
        meter = Meter(product, worker)
        job, beside = await stock.prober.beside(_reindexed(admin, stock.base, model))
        moving = meter.taken()
        note(f"{name}: {chunks / moving.seconds:.0f} chunks/s, p95 {quantile(beside.ms, 0.95):.1f} ms")
        faults = stock.prober.faults(beside, [before, await stock.prober.known()])
        flips = None
        if stock.readers:
            flips = await flipped(stock.prober, admin, job, arguments.flips, stock.readers[-1])
    return Moved(name, chunks, ingest, alone, moving, idle, beside, faults, flips)


async def _ingested(product: Product, stock: Stock, model: str, arguments: argparse.Namespace) -> Side:
    """Documents of the same kind into a base of their own, by the model that the other is moved to."""
    base, side, prose = await new_base(product, model, "Taken in"), Side(), Prose(7)
    documents = arguments.semantic_documents if model != LOCAL_HASH_256.name else arguments.documents
    await post(product, base, _bodies(prose, _WARM_UP, stock.readers), _CLIENTS, Side())
    for _ in range(arguments.rounds):
        await post(product, base, _bodies(prose, documents, stock.readers), _CLIENTS, side)
    note(f"{model} takes in {middle(side.per_second):.0f} chunks/s")
    return side


def _bodies(prose: Prose, documents: int, readers: Sequence[str] | None = None) -> list[dict[str, Any]]:
    bodies: list[dict[str, Any]] = [
        {"title": "A document", "content": text} for text in texts(prose, documents)
    ]
    for number, body in enumerate(bodies):
        if readers:
            body["readers"] = [readers[number % len(readers)]]
    return bodies


async def _reindexed(admin: httpx2.AsyncClient, base: str, model: str) -> Json:
    """Ask for it, and wait until it has ended well."""
    path = f"/v1/knowledge-bases/{base}"
    job = await made(admin, f"{path}/reindex", {"embedding_model": model})
    while job["status"] not in _ENDED:
        await asyncio.sleep(_POLL_S)
        job = (await admin.get(f"{path}/reindex-jobs/{job['job_id']}")).json()
    if job["status"] != "completed":
        raise RuntimeError(f"the reindex ended as {job['status']}: {job['error']}")
    return job


def report(found: Sequence[Moved], arguments: argparse.Namespace) -> str:
    """The section of docs/benchmarks.md."""
    parts = [
        "## What a reindex costs",
        f"`python -m benchmarks.reindex --write`, {machine()}",
        _EXPLAINED.strip().format(
            asked=PER_SECOND, reader=READER, clients=_CLIENTS, idle=arguments.idle_seconds
        ),
        table(_HEAD, [_row(moved) for moved in found]),
        "What the prober saw of it: milliseconds, and answers that were wrong.",
        table(_SEEN_HEAD, [_seen_row(moved) for moved in found]),
        "Milliseconds of processor time a chunk, by process; without what the prober takes alone.",
        table(_CPU_HEAD, [_cpu_row(moved) for moved in found]),
    ]
    for moved in found:
        if moved.flips is not None:
            parts += [_FLIPPED.strip().format(count=moved.flips.count, writes=WRITES_PER_SECOND)]
            parts += [table(_FLIP_HEAD, _flip_rows(moved.flips)), _faults_of(moved.flips.faults)]
    return "\n\n".join(parts)


def _row(moved: Moved) -> list[str]:
    return [
        moved.name,
        f"{moved.chunks:,}",
        f"{middle(moved.ingest.per_second):.0f}",
        f"{moved.per_second:.0f}",
        f"{moved.ratio:.2f}",
        wanted(f"≥ {RATIO}", holds=moved.ratio >= RATIO),
    ]


def _seen_row(moved: Moved) -> list[str]:
    faults = moved.faults
    return [
        moved.name,
        *(f"{quantile(moved.idle.ms, share):.1f}" for share in (0.5, 0.95)),
        *(f"{quantile(moved.beside.ms, share):.1f}" for share in (0.5, 0.95, 1)),
        f"{moved.slower:.2f}",
        wanted(f"≤ {SLOWER}", holds=moved.slower <= SLOWER),
        f"{len(moved.beside.ms):,}",
        wanted(f"{faults.errors}, {faults.missing}, {faults.mixed}", holds=faults == Faults(0, 0, 0)),
        f"{moved.alone.others:.1f}, {moved.moving.others:.1f}",
    ]


def _cpu_row(moved: Moved) -> list[str]:
    taken_in = [middle(moved.ingest.cpu[part]) for part in ("process", "engine", "postgres")]
    return [moved.name, *(f"{each:.2f}" for each in (*taken_in, *moved.cpu_ms))]


def _flip_rows(flips: Flips) -> list[list[str]]:
    named = {"question": flips.queries, "document written": flips.writes, "hold of the row": flips.row}
    return [
        [
            name,
            *(
                f"{each:.1f}"
                for each in [
                    waits.usual,
                    middle(waits.elsewhere),
                    max(waits.elsewhere),
                    middle(waits.around),
                    max(waits.around),
                    waits.pause,
                ]
            ),
            wanted(f"< {WANTED_MS:.0f}", holds=waits.pause < WANTED_MS),
        ]
        for name, waits in named.items()
    ]


def _faults_of(faults: Faults) -> str:
    return f"Errors, documents not found, mixed answers: {faults.errors}, {faults.missing}, {faults.mixed}."


_HEAD = ["base", "chunks", "ingest chunks/s", "reindex chunks/s", "ratio", "wanted"]
_SEEN_HEAD = [
    *("base", "idle p50", "idle p95", "beside p50", "beside p95", "longest", "p95 ratio", "wanted"),
    *("answers", "errors, missing, mixed", "others"),
]
_CPU_HEAD = [
    *("base", "ingest API", "ingest engine", "ingest PostgreSQL"),
    *("reindex worker", "reindex engine", "reindex PostgreSQL"),
]
_FLIP_HEAD = [
    *("milliseconds", "usual", "longest elsewhere", "worst", "longest at a flip", "worst", "pause", "wanted"),
]

_EXPLAINED = """
A whole product with one worker process. The first base is a large one of which the prober sees {reader}, by
groups; the others are small and everybody reads them. `ingest` is alone: {clients} clients, who each wait for
their document, of the same kind and with the same sort of readers, in a base of its own with the model that
the other base is moved to. `reindex` is from its request until its job is completed, with the prober all the
while: {asked} questions a second, whose time counts from the moment when a question was due. `idle` is
{idle:g} s of the prober before. Each of its answers must hold the document that its question was made of, and
be just what the former or the next generation answers by itself: `missing` and `mixed` count those that do
not. `others` says how many of the processors were taken by programs that have nothing to do with this, idle
and beside: with more than a few tenths, milliseconds and rates are those of a crowded machine.
"""

_FLIPPED = """
The moment of the flip: {count} rollbacks to and fro, with the prober and {writes} small documents written a
second. `usual` is the median away from any flip. `longest` is the longest of what began from half a second
before a flip to a second after it, and in as long a time elsewhere: of all such times the median, and beside
it the worst. `pause` is what the median flip adds. The last row is the row of the base that every write holds
for a moment.
"""


def main(given: Sequence[str]) -> int:
    parser = options(__doc__, rounds=2)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--documents", type=int, default=80, help="taken in each round with local-hash-256")
    parser.add_argument(
        "--semantic-documents", type=int, default=12, help="the same with local-use-512; or 0"
    )
    parser.add_argument("--idle-seconds", type=float, default=40.0)
    parser.add_argument("--flips", type=int, default=8)
    arguments = parser.parse_args(given)
    publish("reindex", report(asyncio.run(measured(arguments)), arguments), write=arguments.write)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
