"""What a question costs that was asked before: from the cache, against the same question searched for.

`python -m benchmarks.cache [--passages N] [--write]`. One base with `local-e5-384`, one caller. Questions
are new in each round: an API process without a cache answers them, then one with a cache answers them for
the first time and again. With a `redis-server` at hand, another process caches in that.
"""

import argparse
import asyncio
import shutil
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.load import Load, raw_request, require, send
from benchmarks.product import Product, made, running_api, running_product
from benchmarks.prose import Prose
from benchmarks.report import machine, publish, table, wanted
from benchmarks.rounds import middle, note, options, quantile
from benchmarks.stage import temporary_home

MODEL = "local-e5-384"
MOST = 0.25
OFF = "no cache"
MEMORY, REDIS = "memory", "Redis"
FIRST, AGAIN = "asked first", "asked again"
_PER_DOCUMENT = 10
_WARM_UP = 5


@dataclass
class Way:
    """One way to an answer: milliseconds at the median and at 99 %, by round."""

    p50: list[float] = field(default_factory=list)
    p99: list[float] = field(default_factory=list)

    def add(self, ms: Sequence[float]) -> None:
        self.p50.append(quantile(ms, 0.5))
        self.p99.append(quantile(ms, 0.99))


Ways = dict[str, Way]


async def measured(arguments: argparse.Namespace) -> Ways:
    """Every way, by name."""
    async with AsyncExitStack() as stack:
        home = stack.enter_context(temporary_home())
        product = await stack.enter_async_context(running_product(home, model=MODEL))
        prose = Prose()
        passages = prose.passages(arguments.passages)
        base = await _filled(product, passages)
        note(f"{arguments.passages} passages are in")
        ports = {OFF: product.port}
        for name, variables in (await _caches(stack, home)).items():
            _, ports[name], _ = await stack.enter_async_context(
                running_api(home, {**product.environ, **variables})
            )
        ways: Ways = {}
        for number in range(-1, arguments.rounds):
            count = arguments.questions if number >= 0 else _WARM_UP
            requests = _requests(product, base, prose.questions(passages, count))
            for name, port in ports.items():
                for turn in (OFF,) if name == OFF else (FIRST, AGAIN):
                    answers = require(await send(Load(port, requests)), 200)
                    if number >= 0:
                        way = name if name == OFF else f"{name}, {turn}"
                        ways.setdefault(way, Way()).add(answers.ms)
            if ways:
                note(f"round {number + 1}: " + ", ".join(f"{n} {w.p50[-1]:.1f} ms" for n, w in ways.items()))
    return ways


async def _caches(stack: AsyncExitStack, home: Path) -> dict[str, dict[str, str]]:
    caches = {MEMORY: {"EAI_CACHE_MEMORY_MB": "64"}}
    if shutil.which("redis-server"):
        caches[REDIS] = {"EAI_REDIS_URL": await stack.enter_async_context(_running_redis(home))}
    return caches


@asynccontextmanager
async def _running_redis(home: Path) -> AsyncIterator[str]:
    socket = home / "redis.sock"
    process = await asyncio.create_subprocess_exec(
        *("redis-server", "--port", "0", "--unixsocket", str(socket), "--save", ""),
        stdout=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(10):
            while True:
                if socket.exists():
                    break
                await asyncio.sleep(0.02)
        yield f"unix://{socket}"
    finally:
        process.terminate()
        await process.wait()


async def _filled(product: Product, passages: Sequence[str]) -> str:
    async with product.client(product.admin_key) as admin:
        base = (await made(admin, "/v1/knowledge-bases", {"name": "Cached", "embedding_model": MODEL}))["id"]
        for start in range(0, len(passages), _PER_DOCUMENT):
            content = "\n\n".join(passages[start : start + _PER_DOCUMENT])
            body = {"title": f"Document {start}", "content": content}
            await made(admin, f"/v1/knowledge-bases/{base}/documents", body)
    return str(base)


def _requests(product: Product, base: str, questions: Sequence[str]) -> list[str]:
    path = f"/v1/knowledge-bases/{base}/query"
    headers = {"Authorization": f"Bearer {product.admin_key}"}
    return [raw_request("POST", path, headers, {"query": question}) for question in questions]


def ratio(ways: Ways, name: str) -> float:
    """What part of the uncached question's time a typical round takes."""
    return middle([one / other for one, other in zip(ways[name].p50, ways[OFF].p50, strict=True)])


def report(ways: Ways, arguments: argparse.Namespace) -> str:
    """The section of docs/benchmarks.md."""
    return "\n\n".join(
        [
            "## What the cache saves",
            f"`python -m benchmarks.cache --write`, {machine()}",
            _EXPLAINED.strip().format(
                passages=arguments.passages, questions=arguments.questions, model=MODEL
            ),
            table(["", "p50, ms", "p99, ms", "of no cache", "wanted"], [_row(ways, name) for name in ways]),
        ]
    )


def _row(ways: Ways, name: str) -> list[str]:
    way, share = ways[name], ratio(ways, name)
    aim = wanted(f"≤ {MOST:g}", holds=share <= MOST) if name.endswith(AGAIN) else ""
    return [name, f"{middle(way.p50):.1f}", f"{middle(way.p99):.1f}", f"{share:.2f}", aim]


_EXPLAINED = """
One base of {passages} passages with `{model}`, which runs in the API process; one caller, {questions} new
questions a round, over HTTP. *Asked again* is answered from the cache: rights, the gateway's controls, the
re-check of every passage and the audit are as for any question; model and index are not asked.
A larger base, or a model behind a network, only adds to what is saved.
"""


def main() -> int:
    parser = options(__doc__, rounds=5)
    parser.add_argument("--passages", type=int, default=200)
    parser.add_argument("--questions", type=int, default=60)
    arguments = parser.parse_args()
    ways = asyncio.run(measured(arguments))
    publish("cache", report(ways, arguments), write=arguments.write)
    return 0 if all(ratio(ways, name) <= MOST for name in ways if name.endswith(AGAIN)) else 1


if __name__ == "__main__":
    sys.exit(main())
