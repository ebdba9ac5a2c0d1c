"""Opens what the settings name, and closes all of it again."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import structlog
from pydantic import SecretStr

from eai.bootstrap.composition import Outside, compose
from eai.bootstrap.gateway import Models, shipped_models
from eai.bootstrap.platform import Platform
from eai.integrations import cache, qdrant
from eai.integrations.opa import OpaPolicies
from eai.knowledge.ports import Vectors
from eai.platform.database import Database, DatabaseUnavailable
from eai.platform.jobs import Pace
from eai.platform.keys import MasterKey
from eai.platform.outbound import Outbound
from eai.platform.roles import UnsafeRole, verify_role
from eai.platform.settings import CacheSettings, Settings

log = structlog.get_logger(__name__)


class NotStarted(Exception):
    """A process cannot begin its work; the text is for whoever started it."""


@asynccontextmanager
async def build(
    settings: Settings,
    *,
    models: Models | None = None,
    vectors: Vectors | None = None,
    pace: Pace | None = None,
) -> AsyncIterator[Platform]:
    """Open what `settings` name and compose the services; closes everything on the way out.

    `models`, `vectors` and `pace` replace what would be chosen; tests use them. Raises UnsafeRole when
    the database role could see past row level security.
    """
    async with AsyncExitStack() as stack:
        outside = await _open(stack, settings, vectors)
        platform = compose(settings, outside, shipped_models() if models is None else models, pace)
        stack.push_async_callback(platform.audit.close)
        _log_choices(settings, platform)
        yield platform


@asynccontextmanager
async def start(settings: Settings) -> AsyncIterator[Platform]:
    """`build` for a process of its own. Raises NotStarted where settings or surroundings do not allow it."""
    async with AsyncExitStack() as stack:
        try:
            platform = await stack.enter_async_context(build(settings))
        except DatabaseUnavailable as error:
            raise NotStarted(
                "PostgreSQL cannot be reached under EAI_DATABASE_URL, or refuses its password or database; "
                "`eai doctor` shows its own words"
            ) from error
        except (UnsafeRole, ValueError) as error:
            raise NotStarted(str(error)) from error
        yield platform


async def _open(stack: AsyncExitStack, settings: Settings, vectors: Vectors | None) -> Outside:
    """Whatever is open is closed with `stack`, also when the next cannot be opened."""
    master = MasterKey.from_text(_required(settings.keys.master_key))
    database = Database(
        _required(settings.database.url),
        pool_size=settings.database.pool_max_size,
        checkout_timeout_s=settings.database.pool_timeout_s,
        connect_timeout_s=settings.database.connect_timeout_s,
    )
    stack.push_async_callback(database.close)
    await database.open()
    await verify_role(database)
    store = vectors or _vectors(settings)
    stack.push_async_callback(store.close)
    outbound = Outbound(settings.egress.allow)
    stack.push_async_callback(outbound.close)
    opa = OpaPolicies(settings.policies.opa_url) if settings.policies.opa_url else None
    if opa is not None:
        stack.push_async_callback(opa.close)
    cached = cache.connect(settings.cache)
    stack.push_async_callback(cached.close)
    return Outside(database, store, outbound, master, opa, cached)


def _vectors(settings: Settings) -> Vectors:
    key = settings.qdrant.api_key
    return qdrant.connect(
        settings.qdrant.url, key.get_secret_value() if key else None, settings.engine_socket
    )


def _log_choices(settings: Settings, platform: Platform) -> None:
    log.info(
        "platform.built",
        environment=settings.environment,
        vector_store="qdrant server" if settings.qdrant.url else "embedded engine",
        cache=_cache(settings.cache),
        models=[model.name for model in platform.gateway.models],
    )


def _cache(chosen: CacheSettings) -> str:
    if not chosen.keeps:
        return "none"
    return "redis" if chosen.redis_url else f"{chosen.memory_mb} MB of memory"


def _required(secret: SecretStr | None) -> str:
    if secret is None:
        raise NotStarted(
            "EAI_DATABASE_URL and EAI_MASTER_KEY are needed here; only `eai up` makes them itself. In "
            "development they lie in its home: set EAI_DATABASE_URL_FILE and EAI_MASTER_KEY_FILE to "
            "secrets/database-url and secrets/master-key there"
        )
    return secret.get_secret_value()
