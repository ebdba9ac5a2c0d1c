"""How long anybody waits at the moment from which the next generation is searched.

A base is moved to and fro between two generations by rolling back, while a prober asks, documents that it
may not see are written, and somebody looks how long the row is held that every write needs.
"""

import asyncio
import math
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import httpx2
import psycopg

from benchmarks.load import Answers, Load, answers_of, begun, raw_request
from benchmarks.prober import Faults, Prober, Shown
from benchmarks.product import Json, Product, made
from benchmarks.prose import Prose
from benchmarks.rounds import middle, note

WANTED_MS = 50.0
WRITES_PER_SECOND = 5
_WRITERS = 4
_BEFORE_S, _AFTER_S = 0.5, 1.0
_LOOK_S = 0.002
_WORDS = 200
_BETWEEN_S = 2.0
_MOST_S = 600


@dataclass(frozen=True)
class Waits:
    """Milliseconds: the median, and the longest of each stretch of time away from a flip and around one.

    Something is the longest in any stretch: a flip takes what is longer around it than elsewhere.
    """

    usual: float
    elsewhere: Sequence[float]
    around: Sequence[float]

    @property
    def pause(self) -> float:
        """What a flip adds, in the middle of all flips."""
        return middle(self.around) - middle(self.elsewhere)


@dataclass(frozen=True)
class Flips:
    """What so many flips showed. `row` is the row that every write of a document holds for a moment."""

    count: int
    queries: Waits
    writes: Waits
    row: Waits
    faults: Faults


async def flipped(prober: Prober, admin: httpx2.AsyncClient, job: Json, times: int, hidden: str) -> Flips:
    """Roll back so many times, from `job` on. `hidden` is a group that the prober is not in."""
    generations = [await prober.known()]
    (ends, row), answers, written = await _beside(prober, admin, job, times, hidden, generations)
    faults = prober.faults(answers, generations)
    spans = [(end - _BEFORE_S, end + _AFTER_S) for end in ends]
    if set(written.statuses) != {"201"}:
        raise RuntimeError(f"writes had statuses {written.statuses}")
    queries, writes = (
        _waits(dict(zip(each.sent_at, each.ms, strict=True)), spans) for each in (answers, written)
    )
    note(f"{times} flips: queries {queries.pause:.0f} ms, writes {writes.pause:.0f} ms")
    return Flips(times, queries, writes, _waits(row, spans), faults)


async def _beside(  # noqa: PLR0917 - in the order of the sentence
    prober: Prober,
    admin: httpx2.AsyncClient,
    job: Json,
    times: int,
    hidden: str,
    generations: list[list[Shown]],
) -> tuple[tuple[list[float], Mapping[float, float]], Answers, Answers]:
    is_over = asyncio.Event()
    looking = asyncio.create_task(_look(prober.product, prober.base, is_over))
    writer = await begun(_writes(prober.product, prober.base, hidden))

    async def to_and_fro() -> list[float]:
        nonlocal job
        ends = []
        for _ in range(times):
            job = await _rolled_back(admin, prober.base, job)
            ends.append(datetime.fromisoformat(job["completed_at"]).timestamp())
            await asyncio.sleep(_BETWEEN_S)
            if len(generations) == 1:
                generations.append(await prober.known())
        return ends

    try:
        ends, answers = await prober.beside(to_and_fro())
    except BaseException:  # however it ends, nobody is left behind
        looking.cancel()
        writer.kill()
        raise
    is_over.set()
    writer.terminate()
    return (ends, await looking), answers, await answers_of(writer)


async def _rolled_back(admin: httpx2.AsyncClient, base: str, job: Json) -> Json:
    path = f"/v1/knowledge-bases/{base}/reindex-jobs"
    back = await made(admin, f"{path}/{job['job_id']}/rollback", {})
    while back["completed_at"] is None:
        await asyncio.sleep(0.1)
        back = (await admin.get(f"{path}/{back['job_id']}")).json()
    if back["status"] != "completed":
        raise RuntimeError(f"the rollback ended as {back['status']}: {back['error']}")
    return back


def _writes(product: Product, base: str, hidden: str) -> Load:
    headers = {"Authorization": f"Bearer {product.admin_key}"}
    texts = Prose(9).passages(WRITES_PER_SECOND * _MOST_S)
    bodies = [{"title": "Another", "content": text[:_WORDS], "readers": [hidden]} for text in texts]
    path = f"/v1/knowledge-bases/{base}/documents"
    requests = [raw_request("POST", path, headers, body) for body in bodies]
    return Load(product.port, requests, _WRITERS, math.inf, per_second=WRITES_PER_SECOND)


async def _look(product: Product, base: str, is_over: asyncio.Event) -> Mapping[float, float]:
    """Hold the base's row as a write does, over and over; milliseconds until it was had, by when."""
    waited: dict[float, float] = {}
    connection = psycopg.AsyncConnection.connect(product.postgres.admin_url, autocommit=True)
    async with await connection as admin:
        while not is_over.is_set():
            at, start = time.time(), time.perf_counter()
            await admin.execute(_HOLD, [base], prepare=True)
            waited[at] = 1000 * (time.perf_counter() - start)
            await asyncio.sleep(_LOOK_S)
    return waited


def _waits(took: Mapping[float, float], spans: Sequence[tuple[float, float]]) -> Waits:
    away = {at: ms for at, ms in took.items() if not any(first <= at <= last for first, last in spans)}
    around = [[ms for at, ms in took.items() if first <= at <= last] for first, last in spans]
    return Waits(middle([*away.values()]), _longest_of_each(away), [max(each) for each in around if each])


def _longest_of_each(away: Mapping[float, float]) -> list[float]:
    """Of each stretch that is as long as what is looked at around a flip, and that no flip cuts short."""
    stretches: dict[int, dict[float, float]] = defaultdict(dict)
    for at, ms in away.items():
        stretches[int(at / (_BEFORE_S + _AFTER_S))][at] = ms
    whole = 0.8 * (_BEFORE_S + _AFTER_S)
    return [max(each.values()) for each in stretches.values() if max(each) - min(each) > whole]


_HOLD = "SELECT FROM eai.knowledge_bases WHERE id = %s FOR KEY SHARE"
