"""A cache that all processes share. Redis sees names without meaning and sealed values, nothing else."""

import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog
from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ConnectionError as ConnectionLost
from redis.exceptions import ResponseError

from eai.cache.ports import CacheUnavailable

log = structlog.get_logger(__name__)

Answer = TypeVar("Answer")

PREFIX = b"eai:cache:"
MAX_CONNECTIONS = 16
ANSWERS_WITHIN_S = 0.25
AWAY_FOR_S = 2.0
"""After a failure Redis is left alone for so long: a question waits for it once, and not each time."""


class RedisStore:
    """One per process."""

    def __init__(
        self,
        url: str,
        *,
        answers_within_s: float = ANSWERS_WITHIN_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._redis = Redis.from_pool(
            BlockingConnectionPool.from_url(
                url,
                max_connections=MAX_CONNECTIONS,
                timeout=answers_within_s,
                socket_timeout=answers_within_s,
                socket_connect_timeout=answers_within_s,
                # A connection that Redis closed while it was idle is no failure; one that takes long is.
                retry=Retry(NoBackoff(), 1, supported_errors=(ConnectionLost,)),
            )
        )
        self._clock = clock
        self._away_until = 0.0

    async def get(self, name: bytes) -> bytes | None:
        found = await self._asked(lambda: self._redis.get(PREFIX + name))
        return found if isinstance(found, bytes) else None

    async def put(self, name: bytes, value: bytes, ttl_s: int) -> None:
        await self._asked(lambda: self._redis.set(PREFIX + name, value, ex=ttl_s))

    async def drop(self, name: bytes) -> None:
        await self._asked(lambda: self._redis.delete(PREFIX + name))

    async def check(self) -> None:
        await self._asked(self._redis.ping)

    async def close(self) -> None:
        await self._redis.aclose()

    async def _asked(self, ask: Callable[[], Awaitable[Answer]]) -> Answer:
        if self._clock() < self._away_until:
            raise CacheUnavailable
        try:
            return await ask()
        except ResponseError as error:
            # It answers, and refuses this: full for a write, for example, and not for a read.
            log.warning("cache.refused", reason=str(error))
            raise CacheUnavailable from error
        except Exception as error:
            # What is no Redis, or no more, may answer anything, and the client raises as it comes.
            self._away_until = self._clock() + AWAY_FOR_S
            log.warning("cache.unavailable", reason=type(error).__name__)
            raise CacheUnavailable from error
