"""Migrations that die, fail and meet: nothing is half done, and the next one does it all (fault 34)."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url

from eai.platform.conninfo import libpq_conninfo
from eai.platform.migrate import newest_revision
from tests.conftest import DatabaseUrls
from tests.integration.faults.outages import eventually

HALFWAY = "eai.kb_documents"
"""The table at whose making the migrations are held."""
GATE = 4711


@pytest.fixture
def empty() -> Iterator[DatabaseUrls]:
    """A database without anything but what holds whoever comes to the middle, and fails it then."""
    admin, app = os.environ["EAI_TEST_POSTGRES"].split()
    name = f"eai_{uuid4().hex[:12]}"

    def at(url: str, database: str) -> str:
        return make_url(url).set(database=database).render_as_string(hide_password=False)

    server = libpq_conninfo(at(admin, "postgres"))
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(name)))
    urls = DatabaseUrls(app=at(app, name), admin=at(admin, name))
    with psycopg.connect(libpq_conninfo(urls.admin), autocommit=True) as connection:
        connection.execute(_STUMBLE)
        connection.execute(_STUMBLING)
    yield urls
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@asynccontextmanager
async def migrating(urls: DatabaseUrls, home: Path) -> AsyncIterator[asyncio.subprocess.Process]:
    """`eai migrate`, as in production."""
    environ = {
        "PATH": os.environ["PATH"],
        "EAI_ENV": "test",
        "EAI_HOME": str(home),
        "EAI_DATABASE_URL": urls.app,
        "EAI_DATABASE_ADMIN_URL": urls.admin,
    }
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "eai.cli", "migrate", env=environ,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def test_a_migration_is_whole_or_never_was_whoever_dies_or_fails_over_it(
    empty: DatabaseUrls, tmp_path: Path
) -> None:
    conninfo = libpq_conninfo(empty.admin)
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as admin:

        async def waiting() -> int:
            found = await admin.execute(
                "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database"
                " WHERE d.datname = current_database() AND l.locktype = 'advisory' AND NOT l.granted"
            )
            row = await found.fetchone()
            assert row is not None
            return int(row[0])

        async def both_wait() -> bool:
            return await waiting() == 2

        async def one_waits() -> bool:
            return await waiting() == 1

        async def revision() -> str | None:
            if await (await admin.execute("SELECT to_regclass('eai.schema_version')")).fetchone() == (None,):
                return None
            row = await (await admin.execute("SELECT version_num FROM eai.schema_version")).fetchone()
            return None if row is None else str(row[0])

        await admin.execute("SELECT pg_advisory_lock(%s)", [GATE])
        async with migrating(empty, tmp_path) as dying:
            await eventually(one_waits)
            async with migrating(empty, tmp_path) as failing:
                await eventually(both_wait)
                dying.kill()
                await dying.wait()
                assert await revision() is None
                await admin.execute("SELECT pg_advisory_unlock(%s)", [GATE])
                # The second one had to wait for the first, and comes no further than it.
                _, said = await asyncio.wait_for(failing.communicate(), 60)
                assert failing.returncode == 1
                assert said.startswith(
                    b"eai: a migration failed, and the schema is as it was before: it stumbles"
                )
        assert await revision() is None
        found = await admin.execute("SELECT count(*) FROM pg_tables WHERE schemaname IN ('eai', 'eai_jobs')")
        assert await found.fetchone() == (0,)

        await admin.execute("DROP EVENT TRIGGER stumbling")
        async with migrating(empty, tmp_path) as last:
            told, _ = await asyncio.wait_for(last.communicate(), 60)
        assert (last.returncode, told) == (0, b"the database is current\n")
        assert await revision() == newest_revision()


_STUMBLE = f"""
    CREATE FUNCTION public.stumble() RETURNS event_trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF EXISTS (SELECT FROM pg_event_trigger_ddl_commands() WHERE object_identity = '{HALFWAY}') THEN
            PERFORM pg_advisory_xact_lock({GATE});
            RAISE EXCEPTION 'it stumbles';
        END IF;
    END $$"""
_STUMBLING = """
    CREATE EVENT TRIGGER stumbling ON ddl_command_end WHEN TAG IN ('CREATE TABLE')
    EXECUTE FUNCTION public.stumble()"""
