"""How everything here is measured: in alternating rounds, by medians, with progress on standard error."""

import argparse
import random
import sys
import time
from collections.abc import Sequence
from statistics import median
from types import TracebackType
from typing import Self

import numpy as np

_STARTED = time.monotonic()


def note(text: str) -> None:
    """Tell whoever waits what is going on."""
    print(f"{time.monotonic() - _STARTED:7.1f} s  {text}", file=sys.stderr, flush=True)


def options(description: str | None, *, rounds: int | None = 3) -> argparse.ArgumentParser:
    """A parser with what every benchmark takes. Without `rounds` nothing is repeated."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter
    )
    if rounds is not None:
        parser.add_argument("--rounds", type=int, default=rounds, help="the median of them is reported")
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    return parser


def turns(names: Sequence[str], rounds: int) -> list[tuple[int, list[str]]]:
    """The order of each round: everything once, the first place going round."""
    return [
        (number, [*names[number % len(names) :], *names[: number % len(names)]]) for number in range(rounds)
    ]


def shuffled(names: Sequence[str], times: int, seed: int) -> list[str]:
    """Each name so many times, in an order that follows no pattern."""
    order = [*names] * times
    random.Random(seed).shuffle(order)
    return order


def quantile(values: Sequence[float], share: float) -> float:
    """The value below which `share` of the values lie."""
    return float(np.quantile(values, share))


def middle(values: Sequence[float]) -> float:
    """The median."""
    return float(median(values))


class Stopwatch:
    """Seconds spent inside its `with`."""

    seconds = 0.0

    def __enter__(self) -> Self:
        self._start = time.perf_counter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.seconds = time.perf_counter() - self._start
