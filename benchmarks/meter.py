"""What a product takes of the processors while something goes on, and what everything else does."""

import os
import time
from dataclasses import dataclass

from benchmarks.cpu import busy_s, cpu_s, tree
from benchmarks.product import Product


@dataclass(frozen=True)
class Taken:
    """Seconds that passed, seconds of each part, and how many processors all else on the machine took."""

    seconds: float
    parts: dict[str, float]
    others: float


class Meter:
    """What was taken of the processors since it was made."""

    def __init__(self, product: Product, worker: int | None = None) -> None:
        self._product = product
        self._parts = {"engine": product.engine_pid, "PostgreSQL": product.postgres.pid}
        if worker is not None:
            self._parts = {"worker": worker, **self._parts}
        self._started = time.perf_counter()
        self._used, self._others = self._by_part(), self._of_others()

    def taken(self) -> Taken:
        """All of it until now."""
        seconds = time.perf_counter() - self._started
        parts = {part: used - self._used[part] for part, used in self._by_part().items()}
        return Taken(seconds, parts, (self._of_others() - self._others) / seconds)

    def _by_part(self) -> dict[str, float]:
        return {part: cpu_s(tree(pid)) for part, pid in self._parts.items()}

    def _of_others(self) -> float:
        return busy_s() - cpu_s(tree(os.getpid())) - cpu_s(tree(self._product.postgres.pid))
