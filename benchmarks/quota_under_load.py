"""Whether a quota holds when many callers press at once: ours, and the limits of LiteLLM's own proxy.

`python -m benchmarks.quota_under_load [--redis COMMAND] [--write]`. The same 64 callers in three processes,
one of which is killed on the way; the provider counts what reaches it.
"""

import argparse
import asyncio
import shutil
import sys
import time
from asyncio.subprocess import Process
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from benchmarks.limited_ways import CALLS, TOKENS, Way, litellms, ours
from benchmarks.litellm_proxy import MISSING
from benchmarks.load import Answers, Load, answers_of, begun, raw_request
from benchmarks.prose import Prose
from benchmarks.report import machine, publish, table
from benchmarks.rounds import note, options
from benchmarks.stage import temporary_home

CALLERS = (21, 21, 22)
"""Of each process; the last one is killed."""
_TEXTS = 200
_REFUSED = {"409", "429"}
_POLL_S = 0.05
_SPARE_S = 5.0


@dataclass(frozen=True)
class Outcome:
    """What reached the provider, and what the callers that were not killed were told, by status."""

    way: Way
    reached: int
    told: Mapping[str, int]
    per_second: float


async def measured(arguments: argparse.Namespace) -> list[Outcome]:
    """Every way in turn; each product is alone, in a fresh folder."""
    return [await _pressed(way, arguments) async for way in _ways(arguments)]


async def _ways(arguments: argparse.Namespace) -> AsyncIterator[Way]:
    limits = {CALLS: arguments.calls, TOKENS: arguments.tokens}
    with temporary_home() as home:
        async for way in ours(home, limits, arguments.wait_ms):
            yield way
    beside = [None, *filter(None, [arguments.redis])]
    for redis in [] if MISSING else beside:
        with temporary_home() as home:
            async for way in litellms(home, limits, arguments.wait_ms, redis):
                yield way


async def _pressed(way: Way, arguments: argparse.Namespace) -> Outcome:
    """All callers at once; one process of theirs is killed when a third of the limit has been taken."""
    before = await way.taken()
    headers = {"Authorization": f"Bearer {way.key}"}
    bodies = [{"model": way.model, "input": [text]} for text in Prose().passages(_TEXTS)]
    requests = [raw_request("POST", way.path, headers, body) for body in bodies]
    if way.is_by_minute:
        await _early_in_a_minute(arguments.seconds)
    processes = [
        await begun(Load(way.ports[number % 2], requests, callers, seconds=arguments.seconds))
        for number, callers in enumerate(CALLERS)
    ]
    *lasting, victim = processes
    told, _ = await asyncio.gather(
        asyncio.gather(*(answers_of(process) for process in lasting)),
        _killed(victim, way, before + way.limit // 3),
    )
    outcome = _outcome(way, await way.taken() - before, told)
    note(f"{way.name}: {outcome.reached} of {way.limit} {way.counted}, {dict(outcome.told)}")
    return outcome


async def _early_in_a_minute(seconds: float) -> None:
    """Wait for the next minute if this one ends too soon, and the limit with it."""
    left_s = 60 - time.time() % 60
    if left_s < seconds + _SPARE_S:
        await asyncio.sleep(left_s)


async def _killed(process: Process, way: Way, at: int) -> None:
    while await way.taken() < at and process.returncode is None:  # noqa: ASYNC110, another process counts
        await asyncio.sleep(_POLL_S)
    if process.returncode is None:
        process.kill()
    await process.communicate()


def _outcome(way: Way, reached: int, told: Sequence[Answers]) -> Outcome:
    statuses = sum((Counter(answers.statuses) for answers in told), Counter[str]())
    return Outcome(way, reached, statuses, sum(answers.per_second for answers in told))


def report(found: Sequence[Outcome], arguments: argparse.Namespace) -> str:
    """The section of docs/benchmarks.md."""
    peer = f"is version {version('litellm')}" if not MISSING else f"is not measured: no {', '.join(MISSING)}"
    lacking = "" if arguments.redis or MISSING else " There was no Redis here, so those rows are missing."
    explained = _EXPLAINED.strip().format(seconds=arguments.seconds, wait=arguments.wait_ms)
    return "\n\n".join(
        [
            "## Whether a quota holds under load",
            f"`python -m benchmarks.quota_under_load --write`, {machine()}",
            explained,
            f"LiteLLM's proxy {peer}.{lacking}",
            table(_HEADER, [_row(outcome) for outcome in found]),
            _COMPARED.strip(),
        ]
    )


def _row(outcome: Outcome) -> list[str]:
    way, told = outcome.way, outcome.told
    others = {status: count for status, count in told.items() if status not in {"200", *_REFUSED}}
    return [
        way.name,
        f"{way.limit:,} {way.counted}",
        f"{outcome.reached:,}",
        f"{max(0, outcome.reached - way.limit):,}",
        f"{told.get('200', 0):,}",
        f"{sum(told.get(status, 0) for status in _REFUSED):,}",
        ", ".join(f"{count:,} of {status}" for status, count in sorted(others.items())) or "0",
        f"{outcome.per_second:.0f}",
    ]


_HEADER = [
    *("way", "limit", "reached the provider", "over the limit"),
    *("answered", "refused", "other errors", "calls/s"),
]

_EXPLAINED = """
64 callers in three processes ask for {seconds:g} s, without a pause, for one passage of 118 words each to be
embedded by a provider on loopback that answers after {wait:g} ms, and counts each call and its words when it
arrives. Two processes of either product stand before it; a process of callers speaks to one of them. The
third process of callers is killed when a third of the limit has reached the provider. `answered`, `refused`
and `other errors` are what the other two were told, `calls/s` all of that.
"""

_COMPARED = """
`gateway` is `eai serve` with one quota of the tenant. What a call may take is held before it starts, in the
transaction that records the intent to call: both processes count in one place, and nothing is lost with
either. A text is held at its bytes, and what the provider did not take is given back, so the last few calls
that would have fitted are refused too. LiteLLM's budgets of keys and teams need its database, whose client
fetches an engine from a place that could not be reached here. These are limits of its router, on a model:
`rpd` counts a call before it starts, `tpd` counts tokens when they have been used, `itpm` holds a guess that
is put right later, which for an embedding was one token, and `max_budget` counts money when it has been
spent, here at a price that makes it the same number of tokens. Without Redis each of its processes counts
for itself, in its memory.
"""


def main(given: Sequence[str]) -> int:
    parser = options(__doc__, rounds=None)
    parser.add_argument(
        "--redis", type=Path, default=shutil.which("redis-server"), help="redis-server, or none"
    )
    parser.add_argument("--calls", type=int, default=300, help="limit of calls")
    parser.add_argument("--tokens", type=int, default=30_000, help="limit of tokens")
    parser.add_argument("--seconds", type=float, default=30.0, help="of each way, less than a minute")
    parser.add_argument("--wait-ms", type=float, default=200.0, help="of the provider")
    arguments = parser.parse_args(given)
    publish("quota-under-load", report(asyncio.run(measured(arguments)), arguments), write=arguments.write)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
