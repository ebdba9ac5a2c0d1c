"""What the sweep announces again, and what it leaves to the message that is still on its way."""

from uuid import uuid4

import pytest
from sqlalchemy import text

from eai.kernel.ids import JobId, TenantId
from eai.platform.database import Database
from eai.platform.jobs import Jobs

NAME = "test.swept"


@pytest.fixture
def jobs(database: Database) -> Jobs:
    return Jobs(database)


async def test_jobs_that_merely_wait_are_not_announced_again(
    database: Database, jobs: Jobs, tenant: TenantId
) -> None:
    waiting = [await _queued(database, jobs, tenant) for _ in range(3)]
    for _ in range(2):
        await _an_hour_passes(database, tenant)
        assert await _swept(database, jobs, tenant) == 0
    assert await _announced(database, tenant) == sorted(waiting)


async def test_a_job_whose_message_is_lost_is_announced_again(
    database: Database, jobs: Jobs, tenant: TenantId
) -> None:
    kept, lost = [await _queued(database, jobs, tenant) for _ in range(2)]
    await _change_message(database, tenant, lost, "DELETE FROM procrastinate_jobs")
    await _an_hour_passes(database, tenant)
    assert await _swept(database, jobs, tenant) == 1
    assert await _announced(database, tenant) == sorted([kept, lost])


async def test_a_message_that_a_worker_has_taken_does_not_count(
    database: Database, jobs: Jobs, tenant: TenantId
) -> None:
    # Its worker lives, and could not write down that it was done with it.
    job = await _queued(database, jobs, tenant)
    await _change_message(database, tenant, job, "UPDATE procrastinate_jobs SET status = 'doing'")
    await _an_hour_passes(database, tenant)
    assert await _swept(database, jobs, tenant) == 1
    assert await _announced(database, tenant) == [job]


async def test_a_sweep_takes_a_hundred_at_most(database: Database, jobs: Jobs, tenant: TenantId) -> None:
    await _add(database, tenant, "queued", 250)
    assert [await _swept(database, jobs, tenant) for _ in range(4)] == [100, 100, 50, 0]
    assert len(await _announced(database, tenant)) == 250


async def test_what_the_dead_have_left_comes_before_what_waits(
    database: Database, jobs: Jobs, tenant: TenantId
) -> None:
    await _add(database, tenant, "queued", 150)
    job = await _queued(database, jobs, tenant)
    await _change_message(database, tenant, job, "DELETE FROM procrastinate_jobs")
    async with database.transaction(tenant) as session:
        assert await jobs.claim(session, tenant, job) is not None
        await session.execute(
            text("UPDATE eai.jobs SET lease_until = now() - interval '1 second' WHERE id = :job"),
            {"job": job},
        )
    assert await _swept(database, jobs, tenant) == 101
    assert job in await _announced(database, tenant)


async def test_what_is_announced_again_is_left_alone_for_a_while(
    database: Database, jobs: Jobs, tenant: TenantId
) -> None:
    await _add(database, tenant, "running", 1)
    assert await _swept(database, jobs, tenant) == 1
    assert await _swept(database, jobs, tenant) == 0


async def _queued(database: Database, jobs: Jobs, tenant: TenantId) -> JobId:
    job = JobId(uuid4())
    async with database.transaction(tenant) as session:
        await jobs.create(session, tenant, job, NAME, {})
    return job


async def _swept(database: Database, jobs: Jobs, tenant: TenantId) -> int:
    async with database.transaction(tenant) as session:
        return await jobs.requeue_expired(session, tenant)


async def _add(database: Database, tenant: TenantId, state: str, count: int) -> None:
    async with database.transaction(tenant) as session:
        await session.execute(_ADD, {"tenant": tenant, "name": NAME, "state": state, "count": count})


async def _an_hour_passes(database: Database, tenant: TenantId) -> None:
    async with database.transaction(tenant) as session:
        await session.execute(text("UPDATE eai.jobs SET lease_until = lease_until - interval '1 hour'"))


async def _change_message(database: Database, tenant: TenantId, job: JobId, change: str) -> None:
    async with database.transaction(tenant) as session:
        await session.execute(text(f"{change} WHERE args->>'job' = :job"), {"job": str(job)})


async def _announced(database: Database, tenant: TenantId) -> list[JobId]:
    """The job of each message that waits for a worker."""
    async with database.transaction(tenant) as session:
        found = await session.scalars(_ANNOUNCED, {"tenant": str(tenant)})
        return sorted(JobId(job) for job in found)


_ADD = text("""
    INSERT INTO eai.jobs (tenant_id, id, name, state, lease_until)
    SELECT :tenant, gen_random_uuid(), :name, :state, now() - interval '1 hour'
      FROM generate_series(1, :count)""")
_ANNOUNCED = text("""
    SELECT (args->>'job')::uuid FROM procrastinate_jobs
     WHERE status = 'todo' AND args->>'tenant' = :tenant""")
