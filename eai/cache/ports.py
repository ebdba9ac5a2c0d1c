"""What the cache needs from outside: a place for bytes that forgets."""

from typing import Protocol


class CacheUnavailable(Exception):
    """The place does not answer. Nobody is told: what is not cached is worked out."""


class CacheStore(Protocol):
    """Keeps sealed bytes under names that say nothing. All it may do wrong is forget, or answer no sooner.

    Every method raises CacheUnavailable, within a fraction of a second.
    """

    async def get(self, name: bytes) -> bytes | None:
        """What was put under `name`, or None once it is forgotten."""
        ...

    async def put(self, name: bytes, value: bytes, ttl_s: int) -> None:
        """Keep `value` for `ttl_s` seconds at most, in place of what was there."""
        ...

    async def drop(self, name: bytes) -> None:
        """Forget `name`; harmless where nothing is."""
        ...

    async def check(self) -> None:
        """Return when it answers."""
        ...

    async def close(self) -> None:
        """Let go of what is open."""
        ...
