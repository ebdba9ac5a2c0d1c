"""Where cached entries lie: a Redis server, or the memory of this process."""

from eai.cache.ports import CacheStore
from eai.integrations.cache.memory import MemoryStore
from eai.platform.settings import CacheSettings

__all__ = ["MemoryStore", "connect"]


def connect(settings: CacheSettings) -> CacheStore:
    """Redis when a URL is configured, otherwise this process's own memory. Opens nothing yet."""
    if settings.redis_url is None:
        return MemoryStore(settings.memory_mb * 1_000_000)
    # Whoever has no Redis should not wait for its client to be imported.
    from eai.integrations.cache.redis import RedisStore  # noqa: PLC0415

    return RedisStore(settings.redis_url.get_secret_value())
