"""The cache of one process, for installations without Redis."""

import time
from collections import OrderedDict
from collections.abc import Callable

_OVERHEAD_BYTES = 200
"""What an entry takes beside its name and value, about."""


class MemoryStore:
    """Holds at most `max_bytes`; the oldest entries go first, and those whose time is over go anyway."""

    def __init__(self, max_bytes: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_bytes = max_bytes
        self._clock = clock
        self._entries: OrderedDict[bytes, tuple[float, bytes]] = OrderedDict()
        self._bytes = 0

    async def get(self, name: bytes) -> bytes | None:
        entry = self._entries.get(name)
        if entry is None:
            return None
        if entry[0] <= self._clock():
            self._forget(name)
            return None
        return entry[1]

    async def put(self, name: bytes, value: bytes, ttl_s: int) -> None:
        self._forget(name)
        self._entries[name] = (self._clock() + ttl_s, value)
        self._bytes += _size(name, value)
        self._make_room()

    async def drop(self, name: bytes) -> None:
        self._forget(name)

    async def check(self) -> None:
        """It always answers."""

    async def close(self) -> None:
        self._entries.clear()
        self._bytes = 0

    def _make_room(self) -> None:
        now = self._clock()
        while self._entries:
            oldest, (until, _) = next(iter(self._entries.items()))
            if self._bytes <= self._max_bytes and until > now:
                return
            self._forget(oldest)

    def _forget(self, name: bytes) -> None:
        entry = self._entries.pop(name, None)
        if entry is not None:
            self._bytes -= _size(name, entry[1])


def _size(name: bytes, value: bytes) -> int:
    return len(name) + len(value) + _OVERHEAD_BYTES
