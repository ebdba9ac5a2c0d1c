"""What a call of a model costs through the gateway, beside no gateway and beside LiteLLM's own proxy.

`python -m benchmarks.gateway_overhead [--write]`. One client asks the same loopback provider directly,
through `eai serve` and through the proxy, in turns; then batches as ingestion sends them.
"""

import argparse
import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

from benchmarks import batch_embedding
from benchmarks.batch_embedding import BATCHES, RAW, THROUGH, Sides
from benchmarks.commits import committing
from benchmarks.cpu import cpu_s, tree
from benchmarks.litellm_proxy import MASTER_KEY, MISSING, Proxy, running_proxy
from benchmarks.load import Answers, Load, raw_request, require, send
from benchmarks.loopback_provider import DIMENSIONS, MODEL, Loopback, registered, running_loopback
from benchmarks.product import Product, running_product
from benchmarks.prose import Prose
from benchmarks.report import machine, publish, table, wanted
from benchmarks.rounds import middle, note, options, quantile, turns
from benchmarks.stage import temporary_home

DIRECT, OURS, LITELLM = "direct", "gateway", "LiteLLM's proxy"
CALLERS = 16
P50_MS, SHARE = 3.0, 0.95
AT_ONCE, LATER = "at-once", "later"
_TEXTS = 200
_WARM_UP = 50

Pids = Callable[[], list[int]]


@dataclass
class Way:
    """One way to the provider; `processes` are looked up before each crowd. The rest is by round."""

    port: int
    requests: list[str]
    processes: Mapping[str, Pids]
    p50: list[float] = field(default_factory=list)
    p99: list[float] = field(default_factory=list)
    per_second: list[float] = field(default_factory=list)
    cpu: dict[str, list[float]] = field(default_factory=dict)


Ways = dict[str, Way]


@dataclass(frozen=True)
class Found:
    """Everything measured; `commit_ms` is what one durable commit of a row takes in a bare loop, by round."""

    ways: Ways
    commit_ms: list[float]
    batches: dict[str, Sides]


async def measured(arguments: argparse.Namespace) -> Found:
    """All ways, and then the batches."""
    async with AsyncExitStack() as stack:
        home = stack.enter_context(temporary_home())
        product = await stack.enter_async_context(running_product(home))
        provider = await stack.enter_async_context(running_loopback(home))
        slow = await stack.enter_async_context(running_loopback(home, wait_ms=arguments.wait_ms))
        providers = {AT_ONCE: provider, LATER: slow}
        for name, reached in providers.items():
            await registered(product, name, reached)
        proxy = None
        if not MISSING:
            proxy = await stack.enter_async_context(running_proxy(home, _litellm_settings(provider)))
        note("product and provider are up, " + (f"without {LITELLM}" if MISSING else f"and {LITELLM}"))
        ways = _ways(product, provider, proxy)
        commit_ms = await _alternate(ways, product, arguments)
        batches = await batch_embedding.measured(
            product,
            providers,
            documents=arguments.documents,
            local_documents=arguments.local_documents,
            clients=arguments.clients,
            rounds=arguments.rounds,
        )
    return Found(ways, commit_ms, batches)


def _litellm_settings(provider: Loopback) -> Mapping[str, Any]:
    way = {"model": f"openai/{MODEL}", "api_base": provider.url, "api_key": "none"}
    return {"model_list": [{"model_name": MODEL, "litellm_params": way}]}


def _ways(product: Product, provider: Loopback, proxy: Proxy | None) -> Ways:
    texts = Prose().passages(_TEXTS)

    def requests(path: str, model: str, key: str) -> list[str]:
        headers = {"Authorization": f"Bearer {key}"}
        return [raw_request("POST", path, headers, {"model": model, "input": [text]}) for text in texts]

    answering: dict[str, Pids] = {"provider": lambda: [provider.pid]}
    ways = {
        DIRECT: Way(provider.port, requests("/v1/embeddings", MODEL, "none"), answering),
        OURS: Way(
            product.port,
            requests("/v1/gateway/embeddings", AT_ONCE, product.admin_key),
            {
                "gateway": lambda: [product.api_pid],
                "PostgreSQL": lambda: tree(product.postgres.pid),
                **answering,
            },
        ),
    }
    if proxy is not None:
        processes = {"gateway": lambda: tree(proxy.pid), **answering}
        ways[LITELLM] = Way(proxy.port, requests("/v1/embeddings", MODEL, MASTER_KEY), processes)
    return ways


async def _alternate(ways: Ways, product: Product, arguments: argparse.Namespace) -> list[float]:
    commit_ms = []
    for way in ways.values():
        require(await send(Load(way.port, way.requests[:_WARM_UP])), 200)
        require(await send(Load(way.port, way.requests, CALLERS, seconds=0.5)), 200)
    for number, order in turns(list(ways), arguments.rounds):
        for name in order:
            await _alone(ways[name], arguments.requests)
        commit_ms.append(await committing(product.postgres.admin_url, arguments.requests))
        for name in order:
            await _crowd(ways[name], arguments.seconds)
        alone = ", ".join(f"{name} {way.p50[-1]:.2f} ms" for name, way in ways.items())
        crowd = ", ".join(f"{name} {way.per_second[-1]:.0f}/s" for name, way in ways.items())
        note(f"round {number + 1}: {alone}; {crowd}; a commit {commit_ms[-1]:.2f} ms")
    return commit_ms


async def _alone(way: Way, count: int) -> None:
    requests = [way.requests[turn % len(way.requests)] for turn in range(count)]
    answers = require(await send(Load(way.port, requests)), 200)
    way.p50.append(quantile(answers.ms, 0.5))
    way.p99.append(quantile(answers.ms, 0.99))


async def _crowd(way: Way, seconds: float) -> None:
    watched = {part: pids() for part, pids in way.processes.items()}
    before = {part: cpu_s(pids) for part, pids in watched.items()}
    answers: Answers = require(await send(Load(way.port, way.requests, CALLERS, seconds=seconds)), 200)
    way.per_second.append(answers.per_second)
    for part, pids in watched.items():
        used = 1000 * (cpu_s(pids) - before[part]) / len(answers.ms)
        way.cpu.setdefault(part, []).append(used)


def report(found: Found, arguments: argparse.Namespace) -> str:
    """The section of docs/benchmarks.md."""
    ways = found.ways
    peer = (
        f"is version {version('litellm')}" if LITELLM in ways else f"is not measured: no {', '.join(MISSING)}"
    )
    return "\n\n".join(
        [
            "## What the gateway costs",
            f"`python -m benchmarks.gateway_overhead --write`, {machine()}",
            _EXPLAINED.strip().format(dimensions=DIMENSIONS),
            f"LiteLLM's proxy {peer}. One caller, {arguments.requests} calls a round.",
            table(_ALONE, [_alone_row(name, ways) for name in ways]),
            table(["one caller, p50", "found", "wanted"], _wanted_rows(ways, found.commit_ms)),
            f"{CALLERS} callers, {arguments.seconds:g} s a round. CPU is a process's time for a call.",
            table(_CROWD, [_crowd_row(name, way) for name, way in ways.items()]),
            _BATCHES.strip().format(clients=arguments.clients, batches=BATCHES, wait=arguments.wait_ms),
            table(_RATES, [_rate_row(name, sides, arguments) for name, sides in found.batches.items()]),
        ]
    )


def _added(ways: Ways, name: str, what: str) -> float:
    """What a way adds in a typical round."""
    values, floor = (getattr(ways[way], what) for way in (name, DIRECT))
    return middle([one - other for one, other in zip(values, floor, strict=True)])


def _alone_row(name: str, ways: Ways) -> list[str]:
    cells = [name]
    for what in ("p50", "p99"):
        added = "" if name == DIRECT else f"{_added(ways, name, what):+.2f}"
        cells += [f"{middle(getattr(ways[name], what)):.2f}", added]
    return cells


def _wanted_rows(ways: Ways, commit_ms: Sequence[float]) -> list[list[str]]:
    ours = _added(ways, OURS, "p50")
    rows = [
        ["added", f"{ours:+.2f} ms", wanted(f"≤ +{P50_MS:g} ms", holds=ours <= P50_MS)],
        ["two commits of a row in a bare loop", f"{2 * middle(commit_ms):.2f} ms", ""],
    ]
    if LITELLM in ways:
        theirs = _added(ways, LITELLM, "p50")
        below = wanted(f"less than LiteLLM's {theirs:+.2f} ms", holds=ours < theirs)
        rows.append(["beside LiteLLM's proxy", f"{ours:+.2f} ms", below])
    return rows


def _crowd_row(name: str, way: Way) -> list[str]:
    cpu = [f"{middle(way.cpu[part]):.2f}" if part in way.cpu else "" for part in _PARTS]
    return [name, f"{middle(way.per_second):.0f}", *cpu]


def _rate_row(name: str, sides: Sides, arguments: argparse.Namespace) -> list[str]:
    raw, through = sides[RAW], sides[THROUGH]
    ratios = [one / other for one, other in zip(through.per_second, raw.per_second, strict=True)]
    said = {AT_ONCE: "the provider, at once", LATER: f"the provider, after {arguments.wait_ms:g} ms"}
    return [
        said.get(name, f"`{name}`"),
        *(f"{middle(side.per_second):.0f}" for side in (raw, through)),
        f"{middle(ratios):.3f}",
        f"{min(ratios):.3f}",
        wanted(f"≥ {SHARE:g}", holds=middle(ratios) >= SHARE),
        *(f"{middle(side.cpu_ms):.1f}" for side in (raw, through)),
    ]


_PARTS = ("gateway", "PostgreSQL", "provider")
_ALONE = ["way", "p50, ms", "added", "p99, ms", "added"]
_CROWD = ["way", "calls/s", "CPU of the way itself, ms", "of PostgreSQL, ms", "of the provider, ms"]
_RATES = [
    *("model", "raw passages/s", "through the gateway", "ratio", "worst round", "wanted"),
    *("CPU of a raw batch, ms", "through the gateway, ms"),
]

_EXPLAINED = """
One passage of 800 characters to be embedded in {dimensions:,} numbers by a provider on loopback that computes
nothing. `direct`: the client asks it. `gateway`: `POST /v1/gateway/embeddings` of `eai serve`, with the
credential, every control, the intent committed before the call, and its settlement, usage and audit event on
disk before the answer leaves. `LiteLLM's proxy`: `POST /v1/embeddings` with a master key, one worker and no
database, so it keeps no record and no budget. The same client process each time, with connections that stay
open, on the same cores. Medians of rounds that alternate.

Two commits in series are the floor of a call: its intent is on disk before a byte leaves, its evidence before
the answer does. What they take by themselves is in the table. The rest is
four statements (credential; model, switches and rules; reservation with intent; settlement with evidence) at
0.2 to 0.5 ms of each side, the exchange with the provider at half a millisecond, and the HTTP request at a
quarter. Another language or plan for the rules of a call brought nothing: their time goes to the row level
security of eight tables. They cannot be read together with the credential, because the body that names the
model is not read before the caller is known.
"""

_BATCHES = """
Batches as ingestion sends them: {clients} documents at a time, each of {batches} batches of 64 passages of
800 characters. `raw` is the same model asked without the gateway, in the same process: the gateway's own
client, or the local model, up to one array of numbers. A provider that answers at once shows what all of it
costs; no real one embeds 64 passages in no time, so the second row gives it {wait:g} ms a batch, as many
batches at once as come. Two commits a batch remain, which a tenant's calls take one after the other because
its chain has one end. The scan of the texts takes one to two milliseconds besides. Reading the vectors, which
come as packed floats, takes one on either side.

`local-hash-256`, a stand-in without meaning that takes a tenth of a millisecond a passage, is left out.
"""


def main(given: Sequence[str]) -> int:
    parser = options(__doc__)
    parser.add_argument("--requests", type=int, default=1000, help="of one caller, each round and way")
    parser.add_argument("--seconds", type=float, default=6.0, help="of sixteen callers, each round and way")
    parser.add_argument("--documents", type=int, default=40, help="of a round with a provider")
    parser.add_argument("--local-documents", type=int, default=8, help="the same with local-use-512, or 0")
    parser.add_argument("--clients", type=int, default=4, help="documents at a time")
    parser.add_argument("--wait-ms", type=float, default=50.0, help="of a batch at the slower provider")
    arguments = parser.parse_args(given)
    found = asyncio.run(measured(arguments))
    publish("gateway-overhead", report(found, arguments), write=arguments.write)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
