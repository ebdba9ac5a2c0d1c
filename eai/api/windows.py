"""Counting events per key within fixed windows of time, in this process."""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from time import monotonic

MAX_KEYS = 100_000


@dataclass(slots=True)
class _Window:
    ends_at: float
    count: int


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is left of a window: `remaining` events within the next `reset_s` seconds."""

    limit: int
    remaining: int
    reset_s: int


class Windows:
    """Counts events per key; a key's window opens with its first event and lasts `length_s` seconds.

    Each process counts for itself: with n processes a limit is at most n times as wide.
    """

    def __init__(self, length_s: float, *, clock: Callable[[], float] = monotonic) -> None:
        self._length_s = length_s
        self._clock = clock
        self._windows: dict[str, _Window] = {}

    def count(self, key: str, limit: int) -> bool:
        """Count one event; false when it is beyond `limit`."""
        window = self._open(key)
        window.count += 1
        return window.count <= limit

    def is_spent(self, key: str, limit: int) -> bool:
        """Whether `limit` events have been counted already; counts nothing."""
        window = self._live(key)
        return window is not None and window.count >= limit

    def allowance(self, key: str, limit: int) -> Allowance:
        """How much of `limit` is left."""
        window = self._live(key)
        if window is None:
            return Allowance(limit, limit, ceil(self._length_s))
        return Allowance(limit, max(0, limit - window.count), max(1, ceil(window.ends_at - self._clock())))

    def _live(self, key: str) -> _Window | None:
        window = self._windows.get(key)
        return window if window is not None and window.ends_at > self._clock() else None

    def _open(self, key: str) -> _Window:
        window = self._live(key)
        if window is None:
            if len(self._windows) >= MAX_KEYS:
                self._forget_ended()
            window = self._windows[key] = _Window(self._clock() + self._length_s, 0)
        return window

    def _forget_ended(self) -> None:
        now = self._clock()
        self._windows = {key: window for key, window in self._windows.items() if window.ends_at > now}
        if len(self._windows) >= MAX_KEYS:
            # Whoever can open this many windows at once gains nothing by emptying the oldest.
            self._windows = dict(list(self._windows.items())[MAX_KEYS // 2 :])
