"""How fast documents come in over HTTP, beside a bare Haystack pipeline over the same kind of store.

`python -m benchmarks.ingest_throughput [--documents N] [--write]`. The same texts, the same splitter and
embedder, an engine process each; a few clients who wait for each document. With each local model.
"""

import argparse
import asyncio
import logging
import os
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import psycopg
from haystack import Pipeline

from benchmarks.bare_pipeline import bare_pipeline, ingest
from benchmarks.cpu import cpu_s, tree
from benchmarks.load import Load, raw_request, require, send
from benchmarks.product import Product, made, running_product
from benchmarks.prose import Prose
from benchmarks.report import machine, publish, table, wanted
from benchmarks.rounds import middle, note, options, turns
from benchmarks.stage import running_engine, temporary_home
from eai.gateway.catalogue import LOCAL_HASH_256, LOCAL_USE_512
from eai.gateway.ports import Embedder
from eai.gateway.registry import Model as CatalogueModel
from eai.gateway.service import space_of
from eai.integrations.local_models import HashEmbedder, SentenceEmbedder
from eai.integrations.qdrant.client import EngineVectors

WANTED = 0.85
PASSAGES = 15
_BARE, _OURS = "bare", "product"


@dataclass
class Side:
    """Chunks per second, and milliseconds of processor time a chunk by process, round by round."""

    per_second: list[float] = field(default_factory=list)
    cpu: dict[str, list[float]] = field(default_factory=dict)


@dataclass(frozen=True)
class Model:
    """A model to measure with, and how many documents make a round."""

    model: CatalogueModel
    embedder: Embedder
    documents: int


@dataclass(frozen=True)
class Bench:
    """One model's base in the product and its space in the bare store."""

    product: Product
    base: str
    pipeline: Pipeline
    bare_engine_pid: int
    clients: int


def texts(prose: Prose, documents: int) -> list[str]:
    """Documents of about fifteen passages in paragraphs; none occurs twice."""
    passages = iter(prose.passages(documents * PASSAGES))
    return ["\n\n".join(next(passages) for _ in range(PASSAGES)) for _ in range(documents)]


async def measured(models: Sequence[Model], arguments: argparse.Namespace) -> dict[str, dict[str, Side]]:
    """Both sides by model."""
    found = {}
    async with AsyncExitStack() as stack:
        home = stack.enter_context(temporary_home())
        product = await stack.enter_async_context(running_product(home))
        bare_socket = home / "bare.sock"
        bare_pid = await stack.enter_async_context(running_engine(home / "bare", bare_socket))
        vectors = EngineVectors(bare_socket, deadline_s=60)
        note("product is up")
        for model in models:
            await vectors.ensure_space(space_of(model.model))
            pipeline = bare_pipeline(vectors, space_of(model.model), model.embedder)
            base = await new_base(product, model.model.name)
            bench = Bench(product, base, pipeline, bare_pid, arguments.clients)
            found[model.model.name] = await _one_model(bench, model, arguments.rounds)
        await vectors.close()
    return found


async def _one_model(bench: Bench, model: Model, rounds: int) -> dict[str, Side]:
    prose, sides = Prose(), {_BARE: Side(), _OURS: Side()}
    warm = texts(prose, 8)
    await _bare(bench, warm, Side())
    await _product(bench, warm, Side())
    for number, order in turns([_BARE, _OURS], rounds):
        documents = texts(prose, model.documents)
        for name in order:
            await (_bare if name == _BARE else _product)(bench, documents, sides[name])
        rates = ", ".join(f"{name} {side.per_second[-1]:.0f}/s" for name, side in sides.items())
        note(f"{model.model.name}, round {number + 1}: {rates}")
    return sides


async def _bare(bench: Bench, documents: Sequence[str], side: Side) -> None:
    coming, chunks = iter(documents), 0

    async def call() -> None:
        nonlocal chunks
        for text in coming:
            written = await ingest(bench.pipeline, text)
            chunks += written

    watched = {"process": [os.getpid()], "engine": [bench.bare_engine_pid]}
    before, start = _cpu(watched), time.perf_counter()
    await asyncio.gather(*(call() for _ in range(bench.clients)))
    _note_side(side, chunks, time.perf_counter() - start, before, watched)


async def _product(bench: Bench, documents: Sequence[str], side: Side) -> None:
    bodies = [{"title": "A document", "content": text} for text in documents]
    await post(bench.product, bench.base, bodies, bench.clients, side)


async def post(
    product: Product, base: str, documents: Sequence[Mapping[str, Any]], clients: int, side: Side
) -> None:
    """Have so many clients send these documents, and note what that took."""
    headers = {"Authorization": f"Bearer {product.admin_key}"}
    path = f"/v1/knowledge-bases/{base}/documents"
    requests = [raw_request("POST", path, headers, document) for document in documents]
    watched = {
        "process": [product.api_pid],
        "engine": [product.engine_pid],
        "postgres": tree(product.postgres.pid),
    }
    had = _chunks(product, base)
    before = _cpu(watched)
    answers = require(await send(Load(product.port, requests, clients)), 201)
    _note_side(side, _chunks(product, base) - had, answers.elapsed_s, before, watched)


def _note_side(
    side: Side, chunks: int, seconds: float, before: dict[str, float], watched: dict[str, list[int]]
) -> None:
    side.per_second.append(chunks / seconds)
    for part, used in _cpu(watched).items():
        side.cpu.setdefault(part, []).append(1000 * (used - before[part]) / chunks)


def _cpu(watched: dict[str, list[int]]) -> dict[str, float]:
    return {part: cpu_s(pids) for part, pids in watched.items()}


def _chunks(product: Product, base: str) -> int:
    with psycopg.connect(product.postgres.admin_url) as connection:
        row = connection.execute("SELECT count(*) FROM eai.kb_chunks WHERE base_id = %s", [base]).fetchone()
    assert row is not None
    return int(row[0])


async def new_base(product: Product, model: str, name: str | None = None) -> str:
    """An empty base with this model; its id."""
    async with product.client(product.admin_key) as admin:
        answer = await made(admin, "/v1/knowledge-bases", {"name": name or model, "embedding_model": model})
    return str(answer["id"])


def report(found: dict[str, dict[str, Side]], arguments: argparse.Namespace) -> str:
    """The section of docs/benchmarks.md."""
    return "\n\n".join(
        [
            "## Ingest throughput",
            f"`python -m benchmarks.ingest_throughput --write`, {machine()}",
            _EXPLAINED.strip().format(clients=arguments.clients, passages=PASSAGES),
            table(_HEAD, (_row(model, sides) for model, sides in found.items())),
            *([_WHY.strip()] if any(_ratio(sides) < WANTED for sides in found.values()) else []),
            "Milliseconds of processor time a chunk, by process.",
            table(_CPU_HEAD, (_cpu_row(model, sides) for model, sides in found.items())),
        ]
    )


def _ratio(sides: dict[str, Side]) -> float:
    bare, ours = (sides[name].per_second for name in (_BARE, _OURS))
    return middle([one / other for one, other in zip(ours, bare, strict=True)])


def _row(model: str, sides: dict[str, Side]) -> list[str]:
    bare, ours = (sides[name].per_second for name in (_BARE, _OURS))
    ratios = [one / other for one, other in zip(ours, bare, strict=True)]
    return [
        model,
        *(f"{middle(rates):.0f}" for rates in (bare, ours)),
        f"{_ratio(sides):.2f}",
        f"{min(ratios):.2f}",
        wanted(f"≥ {WANTED}", holds=_ratio(sides) >= WANTED),
    ]


def _cpu_row(model: str, sides: dict[str, Side]) -> list[str]:
    parts = [values for name in (_BARE, _OURS) for values in sides[name].cpu.values()]
    return [model, *(f"{middle(values):.2f}" for values in parts)]


_HEAD = ["model", "bare chunks/s", "product chunks/s", "ratio", "worst round", "wanted"]
_CPU_HEAD = ["model", "bare pipeline", "bare engine", "product API", "product engine", "product PostgreSQL"]

_EXPLAINED = """
Chunks per second; texts of about {passages} passages, {clients} clients who each wait for their document to
be findable (`POST …/documents` with JSON, 201) before they send the next. The bare pipeline is Haystack with
the same splitter, terms, embedder and an engine process of its own, as many texts at a time, in one process
that already holds them: no HTTP, rights, rows, language detection, jobs, audit, and no count of what was
written. Medians of rounds that alternate, each with new texts.
"""


_WHY = """
Where a row is missed: `local-hash-256` takes a tenth of a millisecond for a chunk, so its floor is hardly
more than the splitter. Each document costs the product about 37 statements in three transactions, whatever
its length, and each chunk a row with its text and vector. With a model of meaning the statements hardly
count; there it is the API process, whose other work waits for the processor beside the model's own threads.
Tried: names of tables in statements made once, statements joined, terms counted in one statement, a text
checked in one call instead of by character; these took off about a third.
"""


def main(given: Sequence[str]) -> int:
    parser = options(__doc__)
    parser.add_argument("--documents", type=int, default=200, help="of a round with local-hash-256")
    parser.add_argument("--semantic-documents", type=int, default=30, help="of a round with local-use-512")
    parser.add_argument("--clients", type=int, default=4)
    arguments = parser.parse_args(given)
    logging.getLogger("haystack").setLevel(logging.WARNING)
    models = [Model(LOCAL_HASH_256, HashEmbedder(), arguments.documents)]
    if SentenceEmbedder.is_available():
        models.append(Model(LOCAL_USE_512, SentenceEmbedder(), arguments.semantic_documents))
    found = asyncio.run(measured(models, arguments))
    publish("ingest-throughput", report(found, arguments), write=arguments.write)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
