"""What callers get of a database that does not answer, or that ended their connections meanwhile."""

import asyncio
import socket
from collections.abc import Iterator
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import text
from sqlalchemy.exc import InvalidRequestError

from eai.kernel.ids import TenantId
from eai.platform.conninfo import libpq_conninfo
from eai.platform.database import Database, DatabaseUnavailable, raw_connection
from tests.conftest import DatabaseUrls


@pytest.fixture
def silent_url() -> Iterator[str]:
    """A host that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"postgresql://eai_app@127.0.0.1:{listener.getsockname()[1]}/eai"


async def test_a_host_that_never_answers_is_given_up_within_the_connect_timeout(silent_url: str) -> None:
    database = Database(silent_url, checkout_timeout_s=0.2, connect_timeout_s=1)
    async with asyncio.timeout(10):
        with pytest.raises(DatabaseUnavailable):
            async with database.transaction(TenantId(uuid4())):
                pytest.fail("there is nobody there")
    await database.close()


def test_a_timeout_in_the_url_itself_stands(silent_url: str) -> None:
    database = Database(f"{silent_url}?connect_timeout=9&application_name=it", connect_timeout_s=1)
    told = conninfo_to_dict(database.conninfo)
    assert (told["application_name"], told["connect_timeout"]) == ("it", "9")


async def test_connections_that_the_server_ended_cost_no_transaction(
    database_urls: DatabaseUrls, tenant: TenantId
) -> None:
    database = Database(f"{database_urls.app}&application_name=ended", pool_size=3)
    async with database.transaction(tenant), database.transaction(tenant):
        pass
    async with await psycopg.AsyncConnection.connect(libpq_conninfo(database_urls.admin)) as admin:
        ended = await admin.execute(
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'ended'"
        )
        assert await ended.fetchall() == [(True,), (True,)]
    async with database.transaction(tenant) as session:
        assert await session.scalar(text("SELECT current_setting('app.tenant_id')")) == str(tenant)
    await database.close()


async def test_a_connection_that_ends_within_a_transaction_is_unavailable_and_is_replaced(
    database: Database, database_urls: DatabaseUrls, tenant: TenantId
) -> None:
    pids = []

    async def work() -> None:
        async with database.transaction(tenant) as session:
            pids.append(await session.scalar(text("SELECT pg_backend_pid()")))
            async with await psycopg.AsyncConnection.connect(libpq_conninfo(database_urls.admin)) as admin:
                await admin.execute("SELECT pg_terminate_backend(%s, 5000)", pids)
            await session.execute(text("SELECT 1"))

    with pytest.raises(DatabaseUnavailable):
        await work()
    async with database.transaction(tenant) as session:
        assert await session.scalar(text("SELECT pg_backend_pid()")) not in pids


async def test_nothing_runs_after_the_commit_outside_of_a_transaction(
    database: Database, tenant: TenantId
) -> None:
    async with database.transaction(tenant) as session:
        pass
    with pytest.raises(InvalidRequestError, match="Autobegin is disabled"):
        await session.execute(text("SELECT 1"))


async def test_what_a_connection_was_left_with_is_not_committed_by_the_next_tenant(
    database_urls: DatabaseUrls, tenant: TenantId, other_tenant: TenantId
) -> None:
    database = Database(database_urls.app, pool_size=1)
    async with database.transaction(tenant) as session:
        left = await raw_connection(session)
    await left.execute(
        f"BEGIN; SELECT set_config('app.tenant_id', '{tenant}', true);"
        "UPDATE eai.tenants SET name = 'Left behind'".encode()
    )
    async with database.transaction(other_tenant) as session:
        assert await session.scalar(text("SELECT current_setting('app.tenant_id')")) == str(other_tenant)
    async with database.transaction(tenant) as session:
        assert await session.scalar(text("SELECT name FROM eai.tenants")) != "Left behind"
    await database.close()
