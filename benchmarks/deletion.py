"""How soon a deleted document is found no more, and whether a right that ended is honoured at once.

`python -m benchmarks.deletion [--chunks N] [--write]`. Over HTTP in a large base with real rights, while
nothing else goes on and while a prober asks twenty questions a second. Somebody else than who deletes asks.
"""

import argparse
import asyncio
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from benchmarks.library import Library, filled
from benchmarks.load import Connection, connected, raw_request
from benchmarks.meter import Meter
from benchmarks.prober import PER_SECOND, Landmark, landmarks, prober, query_requests
from benchmarks.product import Product, running_product
from benchmarks.report import machine, publish, table, wanted
from benchmarks.revocation import Revocation, revocations
from benchmarks.rounds import note, options, quantile
from benchmarks.stage import temporary_home

WANTED_MS = 100.0
READER = "50 %"
IDLE, BUSY = "idle", f"beside {PER_SECOND} questions/s"
_PROBED = 50


@dataclass
class Deletions:
    """Milliseconds of each DELETE, and until an answer no longer showed it; answers that showed it late."""

    took: list[float] = field(default_factory=list)
    gone: list[float] = field(default_factory=list)
    stale: int = 0


@dataclass
class Found:
    """What was measured while one thing or the other went on beside."""

    deletions: Deletions = field(default_factory=Deletions)
    revocations: list[Revocation] = field(default_factory=list)
    others: float = 0.0
    """Processors that whatever else runs on the machine took meanwhile."""


async def measured(arguments: argparse.Namespace) -> dict[str, Found]:
    """Both, alone and beside the prober."""
    with temporary_home() as home:
        async with running_product(home) as product:
            library = await filled(product, arguments.chunks, 1)
            note("the base is filled")
            return await tried(product, library, arguments)


async def tried(product: Product, library: Library, arguments: argparse.Namespace) -> dict[str, Found]:
    """The same in a base that is filled."""
    found = {IDLE: Found(), BUSY: Found()}
    reader, base = library.readers[READER], str(library.base)
    asking = await prober(product, base, reader.key, _PROBED, reader.classes)
    kept = {landmark.document for landmark in asking.landmarks}
    # Some are not found by their words among so many passages, and are passed over.
    likely = await landmarks(product, base, reader.classes, 3 * arguments.trials + _PROBED)
    coming = iter([each for each in likely if each.document not in kept])
    await asking.alone(1.0)
    await _tried(product, library, coming, found[IDLE], arguments)
    _, answers = await asking.beside(_tried(product, library, coming, found[BUSY], arguments))
    _require_all(answers.statuses)
    return found


def _require_all(statuses: dict[str, int]) -> None:
    if set(statuses) != {"200"}:
        raise RuntimeError(f"the prober's answers had statuses {statuses}")


async def _tried(
    product: Product,
    library: Library,
    coming: Iterator[Landmark],
    found: Found,
    arguments: argparse.Namespace,
) -> None:
    meter = Meter(product)
    asker, deleter = await connected(product.port), await connected(product.port)
    key, base = library.readers[READER].key, str(library.base)
    headers = {"Authorization": f"Bearer {product.admin_key}"}
    for landmark in coming:
        if len(found.deletions.took) == arguments.trials:
            break
        (question,) = query_requests(base, key, [landmark.question])
        path = f"/v1/knowledge-bases/{base}/documents/{landmark.document}"
        deletion = raw_request("DELETE", path, headers)
        if await _shows(asker, question, landmark.document):
            await _deleted(found.deletions, asker, deleter, landmark.document, (question, deletion))
    else:
        raise RuntimeError("there are not enough documents in the base")
    note(f"{len(found.deletions.took)} deletions, p99 {quantile(found.deletions.gone, 0.99):.0f} ms")
    found.revocations += await revocations(product, library, key, arguments.revocations)
    found.others = meter.taken().others
    for connection in (asker, deleter):
        connection.close()


async def _deleted(
    found: Deletions, asker: Connection, deleter: Connection, document: str, requests: tuple[str, str]
) -> None:
    """Send the DELETE, and ask one question after the other from then on."""
    question, deletion = requests
    start = time.perf_counter()
    deleting = asyncio.create_task(deleter.ask(deletion.encode()))
    await asyncio.sleep(0)  # it is on its way before the first question is
    while await _shows(asker, question, document):
        pass
    found.gone.append(1000 * (time.perf_counter() - start))
    seconds, answer = await deleting
    if answer[9:12] != b"200":
        raise RuntimeError(f"a deletion was answered with {answer.decode()}")
    found.took.append(1000 * seconds)
    found.stale += await _shows(asker, question, document)


async def _shows(asker: Connection, question: str, document: str) -> bool:
    _, answer = await asker.ask(question.encode())
    if answer[9:12] != b"200":
        raise RuntimeError(f"a question was answered with {answer.decode()}")
    return document.encode() in answer


def report(found: dict[str, Found], arguments: argparse.Namespace) -> str:
    """The section of docs/benchmarks.md."""
    explained = _EXPLAINED.strip().format(chunks=arguments.chunks, reader=READER, per_second=PER_SECOND)
    return "\n\n".join(
        [
            "## How soon a deletion or a revocation holds",
            f"`python -m benchmarks.deletion --write`, {machine()}",
            explained,
            table(_HEAD, [_row(name, each) for name, each in found.items()]),
            _REVOKED.strip(),
            table(_REVOKED_HEAD, _revoked_rows(found)),
        ]
    )


def _row(name: str, found: Found) -> list[str]:
    deletions = found.deletions
    most = quantile(deletions.gone, 0.99)
    return [
        name,
        f"{len(deletions.gone)}",
        *(f"{quantile(deletions.took, share):.1f}" for share in (0.5, 0.99)),
        *(f"{quantile(deletions.gone, share):.1f}" for share in (0.5, 0.99)),
        wanted(f"≤ {WANTED_MS:.0f}", holds=most <= WANTED_MS),
        wanted(f"{deletions.stale}", holds=not deletions.stale),
        f"{found.others:.1f}",
    ]


def _revoked_rows(found: dict[str, Found]) -> Sequence[Sequence[str]]:
    return [
        [
            f"{each.name}, {name}",
            f"{len(each.took)}",
            *(f"{quantile(each.took, share):.1f}" for share in (0.5, 0.99)),
            f"{each.stale}",
            wanted("0", holds=not each.stale),
        ]
        for name, both in found.items()
        for each in both.revocations
    ]


_HEAD = [
    *("", "deletions", "DELETE p50", "DELETE p99", "invisible p50", "invisible p99", "wanted"),
    *("shown afterwards", "others"),
]
_REVOKED_HEAD = ["what ends", "trials", "change p50", "change p99", "stale answers", "wanted"]

_EXPLAINED = """
Milliseconds, over HTTP, in one base of {chunks:,} chunks of which the one who asks sees {reader}. `DELETE` is
from its sending to its answer, the receipt, for a document of twenty chunks. `invisible` is from its sending
to the end of the first answer without the document: somebody else asks for it all the while, one question
after the other, so the time of up to two answers is in it. `shown afterwards` counts documents that were in
an answer to a question put after the receipt. `others` says how many of the processors were taken by programs
that have nothing to do with this: with more than a few tenths, milliseconds are those of a crowded machine.
"""

_REVOKED = """
A person asks and is shown a document; then one right of that person ends, over HTTP, and the same question is
put again as soon as that is answered. `stale` answers are those that show the document still, to somebody who
has no right to it.
"""


def main(given: Sequence[str]) -> int:
    parser = options(__doc__, rounds=None)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--trials", type=int, default=400, help="deletions, idle and again beside the prober")
    parser.add_argument("--revocations", type=int, default=100, help="of each kind, the same")
    arguments = parser.parse_args(given)
    publish("deletion", report(asyncio.run(measured(arguments)), arguments), write=arguments.write)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
