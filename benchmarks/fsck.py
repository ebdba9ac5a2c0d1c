"""How long `eai fsck` takes on a large base, and how fast a lost index is made of its rows again.

`python -m benchmarks.fsck [--chunks N] [--write]`. The command itself, from its start to its exit, beside the
floor that nothing can go below: counting the rows and the points, each by who keeps them.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import psycopg

from benchmarks.library import SPACE, Library, filled
from benchmarks.product import Product, running_product
from benchmarks.report import machine, publish, table, wanted
from benchmarks.rounds import middle, note
from benchmarks.stage import temporary_home
from eai.access.rights_class import generation_key
from eai.integrations.qdrant.client import EngineVectors
from eai.kernel.ids import PointId
from eai.knowledge.ports import Selector
from eai.platform.conninfo import libpq_conninfo

WANTED_S = 10.0
LOST = 1_000
UNTOLD = {"audit_event_missing"}
"""Rows are copied into the tables without their events, which is found, too."""


@dataclass(frozen=True)
class Timed:
    """Seconds of a command, and the kinds that it found."""

    seconds: float
    kinds: set[str]


async def fsck(product: Product, *options: str) -> Timed:
    started = time.perf_counter()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "eai.cli", "fsck", "--json", *options),
        env=dict(product.environ),
        stdout=asyncio.subprocess.PIPE,
    )
    output, _ = await process.communicate()
    seconds = time.perf_counter() - started
    told = json.loads(output)
    return Timed(seconds, {f["kind"] for each in told["tenants"] for f in each["findings"]} - UNTOLD)


async def measured(chunks: int, rounds: int) -> dict[str, Timed]:
    with temporary_home() as home:
        async with running_product(home) as product:
            library = await filled(product, chunks, 1)
            return {**await examined(product, library, rounds), **await repaired(product, library)}


async def examined(product: Product, library: Library, rounds: int) -> dict[str, Timed]:
    """The floor, and the command on a whole base."""
    async with _vectors(product) as vectors:
        found = {"count rows and points": await _counted(product, vectors, _key(library))}
    runs = [await fsck(product) for _ in range(rounds)]
    found["fsck"] = Timed(middle([run.seconds for run in runs]), set().union(*(r.kinds for r in runs)))
    note(f"fsck takes {found['fsck'].seconds:.1f} s")
    return found


async def repaired(product: Product, library: Library) -> dict[str, Timed]:
    """The command on an index that lost points, and on one that is lost whole."""
    async with _vectors(product) as vectors:
        await _lose(product, vectors, library, _key(library))
        note("some points are lost")
        found = {f"fsck, {LOST:,} points lost": await fsck(product)}
        found[f"fsck --repair, {LOST:,} points lost"] = await fsck(product, "--repair")
        note("the index is lost")
        await vectors.delete(SPACE, _key(library))
        found["fsck --repair, the index lost"] = await fsck(product, "--repair")
        return found


@asynccontextmanager
async def _vectors(product: Product) -> AsyncIterator[EngineVectors]:
    vectors = EngineVectors(product.settings.engine_socket, 60)
    yield vectors
    await vectors.close()


def _key(library: Library) -> Selector:
    return Selector(generation_key(library.tenant, library.generation))


async def _counted(product: Product, vectors: EngineVectors, key: Selector) -> Timed:
    started = time.perf_counter()
    async with await psycopg.AsyncConnection.connect(libpq_conninfo(product.postgres.admin_url)) as admin:
        await admin.execute("SELECT count(*) FROM eai.kb_chunks")
    await vectors.count(SPACE, key)
    return Timed(time.perf_counter() - started, set())


async def _lose(product: Product, vectors: EngineVectors, library: Library, key: Selector) -> None:
    async with await psycopg.AsyncConnection.connect(libpq_conninfo(product.postgres.admin_url)) as admin:
        rows = await admin.execute(
            "SELECT id FROM eai.kb_chunks WHERE tenant_id = %s ORDER BY id LIMIT %s", [library.tenant, LOST]
        )
        lost = [PointId(found) for (found,) in await rows.fetchall()]
    await vectors.delete(SPACE, Selector(key.generation_key, ids=tuple(lost)))


def report(found: dict[str, Timed], chunks: int) -> str:
    seconds = found["fsck"].seconds
    rows = [
        [
            name,
            f"{timed.seconds:.1f}",
            f"{chunks / timed.seconds:,.0f}",
            ", ".join(sorted(timed.kinds)) or "nothing",
        ]
        for name, timed in found.items()
    ]
    return f"""\
## How long an examination takes

`python -m benchmarks.fsck --write`, {machine()}

`eai fsck` from its start to its exit on {chunks:,} chunks, beside engine and PostgreSQL on the same
cores. It holds every point against its row, and rows against each other; it does not load vectors. A lost
index is made of the rows without a model: their terms are analysed anew, their vectors are read.

{table(["what", "seconds", "chunks/s", "finds in the end"], rows)}

| | found | wanted |
| --- | ---: | ---: |
| fsck of {chunks:,} chunks | {seconds:.1f} s | {wanted(f"< {WANTED_S:.0f} s", holds=seconds < WANTED_S)} |
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    arguments = parser.parse_args()
    found = asyncio.run(measured(arguments.chunks, arguments.rounds))
    publish("fsck", report(found, arguments.chunks), write=arguments.write)


if __name__ == "__main__":
    main()
