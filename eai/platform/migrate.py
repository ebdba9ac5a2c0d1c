"""Brings a database to the current schema: roles first, then the migrations as their owner."""

import asyncio
from pathlib import Path

from eai.platform.roles import create_roles

MIGRATIONS = Path(__file__).parent / "migrations"


async def migrate(admin_url: str, app_url: str) -> None:
    """Create missing roles, then run every migration that has not run yet, in one transaction each.

    Safe to call from several processes at once: an advisory lock lets one go first.
    """
    await create_roles(admin_url, app_url)
    await asyncio.to_thread(_upgrade, admin_url)


def newest_revision() -> str | None:
    """The revision that `migrate` brings a database to; it stands in `eai.schema_version` then."""
    from alembic.script import ScriptDirectory  # noqa: PLC0415

    return ScriptDirectory(str(MIGRATIONS)).get_current_head()


def revisions() -> frozenset[str]:
    """Every revision that `migrate` can begin at."""
    from alembic.script import ScriptDirectory  # noqa: PLC0415

    return frozenset(script.revision for script in ScriptDirectory(str(MIGRATIONS)).walk_revisions())


def _upgrade(admin_url: str) -> None:
    # Alembic costs half a second to import and is needed by this step only.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415
    from sqlalchemy import create_engine, make_url, text  # noqa: PLC0415

    engine = create_engine(make_url(admin_url).set(drivername="postgresql+psycopg"))
    try:
        with engine.begin() as connection:
            connection.execute(text("SELECT pg_advisory_xact_lock(hashtext('eai.migrations'))"))
            connection.execute(text("SET LOCAL ROLE eai_owner"))
            connection.execute(text("SET LOCAL search_path = eai"))
            config = Config()
            config.set_main_option("script_location", str(MIGRATIONS))
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    finally:
        engine.dispose()
