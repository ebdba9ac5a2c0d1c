"""Whoever goes away goes away, however often and wherever it is told to."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine

import pytest
from sqlalchemy import text

from eai.kernel.ids import TenantId
from eai.platform.database import Database
from tests.conftest import DatabaseUrls

Work = Callable[[Database, TenantId, asyncio.Event], Coroutine[object, object, None]]


@pytest.fixture
async def narrow(database_urls: DatabaseUrls) -> AsyncIterator[Database]:
    """With two connections of each kind: one that is lost is soon missed."""
    opened = Database(database_urls.app, pool_size=2, checkout_timeout_s=2.0)
    await opened.open()
    yield opened
    await opened.close()


async def transaction(database: Database, tenant: TenantId, under_way: asyncio.Event) -> None:
    async with database.transaction(tenant) as session:
        await session.execute(text("SELECT 1"))
        under_way.set()
        await session.execute(text("SELECT pg_sleep(30)"))


async def raw_work(database: Database, tenant: TenantId, under_way: asyncio.Event) -> None:
    async with database.transaction(tenant) as session:
        connection = await (await session.connection()).get_raw_connection()
        under_way.set()
        assert connection.driver_connection is not None
        await connection.driver_connection.execute("SELECT pg_sleep(30)")


async def statement(database: Database, tenant: TenantId, under_way: asyncio.Event) -> None:
    del tenant
    under_way.set()
    await database.statement("SELECT pg_sleep(30)", {})


@pytest.mark.parametrize("work", [transaction, raw_work, statement])
@pytest.mark.parametrize("turns", [0, 1, 2, 3, 5, 8])
async def test_a_second_cancellation_is_none_of_the_databases_failures(
    narrow: Database, tenant: TenantId, other_tenant: TenantId, work: Work, turns: int
) -> None:
    for _ in range(3):
        under_way = asyncio.Event()
        task = asyncio.create_task(work(narrow, tenant, under_way))
        await under_way.wait()
        for _ in range(20):
            await asyncio.sleep(0)
        task.cancel()
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    # And nothing of it is left behind.
    async with narrow.transaction(tenant) as one, narrow.transaction(other_tenant) as other:
        seen = text("SELECT current_setting('app.tenant_id')")
        assert [await one.scalar(seen), await other.scalar(seen)] == [str(tenant), str(other_tenant)]
    assert await narrow.statement("SELECT 1", {}) == [(1,)]
