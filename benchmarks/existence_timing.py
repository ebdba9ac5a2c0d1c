"""Whether the time or the size of an answer tells that something exists which the caller may not know of.

`python -m benchmarks.existence_timing [--pairs N] [--write]`. Pairs of requests, one for what is hidden and
one for what does not exist, in random order, over one connection: by every route that takes an id, and for
a question whose word stands in 10,000 hidden chunks or in none.
"""

import argparse
import asyncio
import random
import sys
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import httpx2
import numpy as np

from benchmarks.library import Library, filled
from benchmarks.load import Load, raw_request, send
from benchmarks.product import Product, made, running_product
from benchmarks.report import machine, publish, table, wanted
from benchmarks.rounds import middle, note, options
from benchmarks.stage import temporary_home

MOST_AUC, MOST_MS = 0.55, 0.5
READER = "10 %"
_OBJECTS = 20
_WORDS = 24
_WARM_UP = 100


@dataclass(frozen=True)
class Trial:
    """Requests that should not be told apart, and the status of both."""

    name: str
    hidden: Sequence[str]
    missing: Sequence[str]
    status: int = 404


@dataclass(frozen=True)
class Result:
    """How well a threshold on one feature tells hidden from missing; 0.5 is not at all."""

    by_time: float
    by_size: float
    difference_ms: float
    median_ms: float

    @property
    def auc(self) -> float:
        return max(self.by_time, self.by_size)


async def measured(arguments: argparse.Namespace) -> dict[str, Result]:
    """Every trial."""
    draw = random.Random(3)
    words = _coined(draw, 2 * _WORDS)
    async with AsyncExitStack() as stack:
        home = stack.enter_context(temporary_home())
        product = await stack.enter_async_context(running_product(home))
        library = await filled(product, arguments.chunks, 100, words[:_WORDS])
        note("the base is filled")
        trials = [*await _id_trials(product, library), _question_trial(library, words, draw)]
        return {trial.name: await _tried(product.port, trial, arguments.pairs, draw) for trial in trials}


async def _tried(port: int, trial: Trial, pairs: int, draw: random.Random) -> Result:
    warm = [*trial.hidden, *trial.missing] * (1 + _WARM_UP // len(trial.hidden))
    await send(Load(port, warm[:_WARM_UP]))
    order = [bool(draw.getrandbits(1)) for _ in range(pairs)]
    requests: list[str] = []
    for number, hidden_first in enumerate(order):
        pair = (trial.hidden[number % len(trial.hidden)], trial.missing[number % len(trial.missing)])
        requests += pair if hidden_first else pair[::-1]
    answers = await send(Load(port, requests))
    if set(answers.statuses) != {str(trial.status)}:
        raise RuntimeError(f"{trial.name}: answers had statuses {answers.statuses}")
    is_hidden = np.array([first for hidden_first in order for first in (hidden_first, not hidden_first)])
    ms, sizes = np.array(answers.ms), np.array(answers.sizes)
    result = Result(
        by_time=_auc(ms, is_hidden),
        by_size=_auc(sizes, is_hidden),
        difference_ms=middle(ms[is_hidden].tolist()) - middle(ms[~is_hidden].tolist()),
        median_ms=middle(answers.ms),
    )
    note(f"{trial.name}: AUC {result.auc:.3f}, {result.difference_ms:+.2f} ms of {result.median_ms:.1f} ms")
    return result


def _auc(feature: Any, is_hidden: Any) -> float:
    """How often a hidden one has the larger value, or the smaller, whichever is more; ties count half."""
    hidden, missing = feature[is_hidden], np.sort(feature[~is_hidden])
    below = np.searchsorted(missing, hidden, "left") + np.searchsorted(missing, hidden, "right")
    area = float(below.sum()) / (2 * len(hidden) * len(missing))
    return max(area, 1 - area)


async def _id_trials(product: Product, library: Library) -> list[Trial]:
    async with product.client(product.operator_key) as operator:
        tenant = await made(operator, "/v1/tenants", {"name": "Stranger", "slug": "stranger"})
    async with product.client(tenant["admin_api_key"]) as stranger:
        theirs = await _belongings(stranger, [])
        foreign_key = {"principal_id": theirs["principal"][0]}
        theirs["api-key"] = [
            (await made(stranger, "/v1/api-keys", foreign_key))["id"] for _ in range(_OBJECTS)
        ]
    async with product.client(product.admin_key) as admin:
        group = (await made(admin, "/v1/groups", {"name": "nobody"}))["id"]
        ours = await _belongings(admin, [f"group:{group}"], str(library.base))
    reader, admin_key = library.readers[READER].key, product.admin_key
    base = f"/v1/knowledge-bases/{library.base}"
    chunk = uuid4()
    question = {"query": "how long do we keep invoices"}
    return [
        _get("base of another tenant", "/v1/knowledge-bases/{}", theirs["base"], reader),
        _get("base that one may not read", "/v1/knowledge-bases/{}", ours["base"], reader),
        _get("documents of such a base", "/v1/knowledge-bases/{}/documents", ours["base"], reader),
        _get("document of another tenant", base + "/documents/{}", theirs["document"], reader),
        _get("document that one may not read", base + "/documents/{}", ours["document"], reader),
        _get("its content", base + "/documents/{}/content", ours["document"], reader),
        _get("a chunk of it", base + f"/documents/{{}}/chunks/{chunk}", ours["document"], reader),
        _get("principal of another tenant", "/v1/principals/{}", theirs["principal"], admin_key),
        _get("group of another tenant", "/v1/groups/{}", theirs["group"], admin_key),
        _get("API key of another tenant", "/v1/api-keys/{}", theirs["api-key"], admin_key),
        _get("receipt of another tenant", "/v1/deletion-receipts/{}", theirs["receipt"], reader),
        _trial(
            "query to a base of another tenant",
            "/v1/knowledge-bases/{}/query",
            theirs["base"],
            reader,
            question,
        ),
        _trial(
            "query to a base one may not read", "/v1/knowledge-bases/{}/query", ours["base"], reader, question
        ),
    ]


async def _belongings(
    owner: httpx2.AsyncClient, readers: list[str], base: str | None = None
) -> dict[str, list[str]]:
    """Twenty of each kind of object, none of which `reader` may know of."""
    found: dict[str, list[str]] = {kind: [] for kind in ("base", "document", "receipt", "group", "principal")}
    for number in range(_OBJECTS):
        # Made by its owner, a base is its owner's alone.
        own = (await made(owner, "/v1/knowledge-bases", {"name": f"Secret {number}"}))["id"]
        found["base"].append(own)
        found["document"].append(await _document(owner, base or own, f"Kept {number}", readers))
        gone = await _document(owner, base or own, f"Gone {number}", readers)
        answer = await owner.delete(f"/v1/knowledge-bases/{base or own}/documents/{gone}")
        answer.raise_for_status()
        found["receipt"].append(gone)
        found["group"].append((await made(owner, "/v1/groups", {"name": f"Group {number}"}))["id"])
        person = {"kind": "user", "name": f"Person {number}", "clearance": "internal", "roles": ["member"]}
        found["principal"].append((await made(owner, "/v1/principals", person))["id"])
    return found


async def _document(owner: httpx2.AsyncClient, base: str, title: str, readers: list[str]) -> str:
    body = {"title": title, "content": f"{title}: nobody else may know of this."}
    given = body | ({"readers": readers} if readers else {})
    return str((await made(owner, f"/v1/knowledge-bases/{base}/documents", given))["id"])


def _get(name: str, path: str, ids: Sequence[str], key: str) -> Trial:
    return _trial(name, path, ids, key, None)


def _trial(name: str, path: str, ids: Sequence[str], key: str, body: dict[str, Any] | None) -> Trial:
    def requests(chosen: Sequence[str]) -> list[str]:
        method, headers = "GET" if body is None else "POST", {"Authorization": f"Bearer {key}"}
        return [raw_request(method, path.format(id_), headers, body) for id_ in chosen]

    # As many that do not exist, asked for as often: nothing differs in what the caches have seen.
    return Trial(name, requests(ids), requests([str(uuid4()) for _ in ids]))


def _question_trial(library: Library, words: Sequence[str], draw: random.Random) -> Trial:
    """The same questions with one more word, which hidden chunks hold or none does. All are made up alike."""
    path = f"/v1/knowledge-bases/{library.base}/query"
    headers = {"Authorization": f"Bearer {library.readers[READER].key}"}
    hidden: list[str] = []
    missing: list[str] = []
    for question in library.questions:
        for chosen, requests in ((words[:_WORDS], hidden), (words[_WORDS:], missing)):
            body = {"query": f"{question} {draw.choice(chosen)}"}
            requests.append(raw_request("POST", path, headers, body))
    return Trial("question: a word of hidden chunks, or of none", hidden, missing, 200)


def _coined(draw: random.Random, count: int) -> list[str]:
    """Words of eight letters that no text has by itself."""
    return [
        "zq" + "".join(draw.choice("bcdfghklmnprstvwz" if n % 2 else "aeiou") for n in range(6))
        for _ in range(count)
    ]


def report(results: dict[str, Result], arguments: argparse.Namespace) -> str:
    """The section of docs/benchmarks.md."""
    rows = [
        [name, f"{r.by_time:.3f}", f"{r.by_size:.3f}", f"{r.difference_ms:+.2f}", f"{r.median_ms:.1f}"]
        for name, r in results.items()
    ]
    explained = _EXPLAINED.strip()
    return "\n\n".join(
        [
            "## Whether an answer tells what exists",
            f"`python -m benchmarks.existence_timing --write`, {machine()}",
            explained.format(pairs=arguments.pairs, hidden=arguments.chunks // 2, objects=_OBJECTS),
            table(["worst", "", "asked for", "wanted"], _worst(results)),
            table(["asked for", "AUC by time", "AUC by size", "difference, ms", "median, ms"], rows),
        ]
    )


def _worst(results: dict[str, Result]) -> list[list[str]]:
    clearest = max(results, key=lambda name: results[name].auc)
    furthest = max(results, key=lambda name: abs(results[name].difference_ms))
    auc, ms = results[clearest].auc, results[furthest].difference_ms
    return [
        ["AUC", f"{auc:.3f}", clearest, wanted(f"≤ {MOST_AUC}", holds=auc <= MOST_AUC)],
        ["difference", f"{ms:+.2f} ms", furthest, wanted(f"≤ {MOST_MS} ms", holds=abs(ms) <= MOST_MS)],
    ]


_EXPLAINED = """
{pairs:,} pairs a row, each in random order over one connection: what is there but hidden from the caller,
and what is not there; {objects} ids of either. AUC: how often a threshold on the time, or on the bytes, of
an answer would rank a hidden one above a missing one; 0.5 is guessing. The statuses are alike. The last row
asks questions with one word more: made-up words of {hidden:,} chunks that the caller may not see, and
made-up words of no chunk.
"""


def main(given: Sequence[str]) -> int:
    parser = options(__doc__)
    parser.add_argument("--pairs", type=int, default=2_000)
    parser.add_argument("--chunks", type=int, default=20_000, help="of which half are hidden")
    arguments = parser.parse_args(given)
    publish("existence-timing", report(asyncio.run(measured(arguments)), arguments), write=arguments.write)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
