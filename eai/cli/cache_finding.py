"""What `eai doctor` says of the cache."""

from eai.cli.finding import Finding
from eai.platform.settings import Settings


async def cache_answers(settings: Settings) -> Finding:
    """The Redis that processes share answers, where there is one: questions are answered without it, too."""
    from eai.cache.ports import CacheUnavailable  # noqa: PLC0415
    from eai.integrations.cache import connect  # noqa: PLC0415

    if settings.cache.redis_url is None:
        return Finding("cache", ok=True, says=f"{settings.cache.memory_mb} MB in each API process")
    store = connect(settings.cache)
    try:
        await store.check()
    except CacheUnavailable:
        mend = "start it, or correct EAI_REDIS_URL; until then every question is searched for"
        return Finding("cache", ok=False, says="Redis does not answer", mend=mend)
    finally:
        await store.close()
    return Finding("cache", ok=True, says="Redis answers")
