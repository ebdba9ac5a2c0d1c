"""In which order the jobs of several tenants are brought to a worker."""

from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
from sqlalchemy import text

from eai.kernel.ids import JobId, TenantId
from eai.platform.database import Database
from eai.platform.jobs import Jobs
from tests.conftest import create_tenant


class Queue:
    """A queue of this test alone, and the worker that asks for its jobs."""

    def __init__(self, database: Database, jobs: Jobs, worker: int) -> None:
        self._database, self._jobs, self._worker = database, jobs, worker
        self._name = f"test.{uuid4().hex[:8]}"
        self._tenants: dict[str, TenantId] = {}

    async def add(self, tenant: str, *, times: int = 1) -> None:
        if tenant not in self._tenants:
            self._tenants[tenant] = await create_tenant(self._database)
        chosen = self._tenants[tenant]
        async with self._database.transaction(chosen) as session:
            for _ in range(times):
                await self._jobs.create(session, chosen, JobId(uuid4()), self._name, {})

    async def put_off(self, tenant: str) -> None:
        """Have the tenant's messages come in an hour."""
        async with self._database.transaction(self._tenants[tenant]) as session:
            await session.execute(_PUT_OFF, {"tenant": str(self._tenants[tenant])})

    async def brought(self, times: int = 1) -> str:
        """Whose jobs are brought next."""
        names = {str(tenant): name for name, tenant in self._tenants.items()}
        manager, told = self._jobs.app.job_manager, ""
        for _ in range(times):
            message = await manager.fetch_job(queues=[self._name], worker_id=self._worker)
            told += names[str(message.task_kwargs["tenant"])] if message else "-"
        return told


@pytest.fixture
async def queue(database: Database) -> AsyncIterator[Queue]:
    jobs = Jobs(database)
    async with jobs.app.open_async():
        yield Queue(database, jobs, await jobs.app.job_manager.register_worker())


async def test_who_comes_after_many_of_another_is_next(queue: Queue) -> None:
    await queue.add("a", times=200)
    await queue.add("b")
    assert await queue.brought(4) == "abaa"


async def test_tenants_take_turns_from_where_the_queue_is(queue: Queue) -> None:
    await queue.add("a", times=6)
    assert await queue.brought(3) == "aaa"
    await queue.add("b", times=2)
    assert await queue.brought(2) == "ab"
    await queue.add("c", times=2)
    assert await queue.brought(6) == "abcac-"


async def test_one_that_keeps_coming_does_not_keep_another_from_its_turn(queue: Queue) -> None:
    await queue.add("a", times=4)
    order = ""
    for _ in range(8):
        await queue.add("b")
        order += await queue.brought()
    assert order == "abababab"


async def test_what_is_put_off_is_not_where_the_queue_is(queue: Queue) -> None:
    await queue.add("c")
    await queue.put_off("c")
    await queue.add("a", times=3)
    assert await queue.brought() == "a"
    await queue.add("b", times=2)
    assert await queue.brought(5) == "abab-"


async def test_within_a_tenant_who_came_first_is_first(
    queue: Queue, database: Database, tenant: TenantId
) -> None:
    await queue.add("a", times=3)
    async with database.transaction(tenant) as session:
        places = await session.scalars(_PLACES, {"queue": queue._name})
        assert list(places) == [0, -1, -2]


_PUT_OFF = text("""
    UPDATE procrastinate_jobs SET scheduled_at = now() + interval '1 hour' WHERE args->>'tenant' = :tenant""")
_PLACES = text("SELECT priority FROM procrastinate_jobs WHERE queue_name = :queue ORDER BY id")
