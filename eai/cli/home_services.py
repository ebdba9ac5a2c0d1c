"""Database and engine of a home, for a command that needs them: those that run, or started for its length."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

from eai.cli.home_settings import arranged, merged, read_settings
from eai.cli.process_tree import ProcessTree
from eai.integrations import qdrant
from eai.integrations.home import HomeFolder, HomeInUse, HomeUnusable
from eai.knowledge.ports import VectorStoreUnavailable
from eai.platform.settings import Environment, Settings, load_settings

_ENGINE_WITHIN_S = 30.0
_POLL_S = 0.05


@asynccontextmanager
async def awake(environ: Mapping[str, str], home: Path | None) -> AsyncIterator[Settings]:
    """The settings of an instance that answers.

    Production and running homes are taken as they are. Of a home that is stopped, PostgreSQL and the engine
    run until the block ends, and nobody else can start it meanwhile. Raises SettingsError, HomeUnusable and
    PostgresFailed.
    """
    settings = read_settings(environ, home=home)
    folder = HomeFolder(settings.home)
    if settings.is_production or not _is_embedded(environ, settings, folder):
        yield settings
        return
    with ExitStack() as held:
        try:
            held.enter_context(folder.lock("supervisor"))
        except HomeInUse:
            yield settings
            return
        async with _started(environ, settings) as started:
            yield started


@asynccontextmanager
async def _started(environ: Mapping[str, str], settings: Settings) -> AsyncIterator[Settings]:
    # What `eai up` tells of its arrangements is known to whoever started it once.
    tree = ProcessTree(HomeFolder(settings.home), lambda _: None)
    await tree.end_orphans()
    try:
        postgres = await tree.start_postgres()
        found = {
            "EAI_ENV": str(settings.environment),
            "EAI_HOME": str(settings.home),
            "EAI_DATABASE_URL": postgres.app_url,
            "EAI_DATABASE_ADMIN_URL": postgres.admin_url,
        }
        whole = merged({**environ, **found}, arranged(settings.home))
        if settings.qdrant.url is None:
            place = ("--folder", settings.engine_folder, "--socket", settings.engine_socket)
            await tree.start("engine", ("-m", "eai.integrations.qdrant.engine", *place), whole)
            await _engine_answers(settings)
        yield load_settings(whole, default_environment=Environment.DEV)
    finally:
        await tree.stop()


async def _engine_answers(settings: Settings) -> None:
    vectors = qdrant.connect(None, None, settings.engine_socket)
    deadline = asyncio.get_running_loop().time() + _ENGINE_WITHIN_S
    try:
        while True:
            try:
                await vectors.check()
            except VectorStoreUnavailable as error:
                if asyncio.get_running_loop().time() > deadline:
                    raise HomeUnusable(
                        f"the engine does not start; look into {settings.home}/logs"
                    ) from error
                await asyncio.sleep(_POLL_S)
            else:
                return
    finally:
        await vectors.close()


def _is_embedded(environ: Mapping[str, str], settings: Settings, folder: HomeFolder) -> bool:
    if any(environ.get(name) for name in ("EAI_DATABASE_URL", "EAI_DATABASE_URL_FILE")):
        return False
    if not folder.postgres.exists():
        raise HomeUnusable(f"{settings.home} is no home of an instance; `eai up --home DIR` makes one")
    return True
