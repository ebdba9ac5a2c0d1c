"""Which attempts have a worker to themselves, and what becomes of those that cannot."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

import pytest
from sqlalchemy import text

from eai.kernel.errors import EaiError
from eai.kernel.ids import JobId, TenantId
from eai.knowledge.jobs import try_later
from eai.platform.database import Database
from eai.platform.handlers import DeadLetter, JobHandler
from eai.platform.jobs import JobRun, Jobs, Pace
from eai.platform.worker import Worker

NAME, LONG = "test.tried", "test.long"
HURRIED = Pace(lease_s=0.6, solitude_within_s=0.2, solitude_again_s=60)


class Refused(EaiError):
    code, status = "refused", 422


@pytest.fixture
def jobs(database: Database) -> Jobs:
    return Jobs(database, HURRIED)


@pytest.fixture
async def job(database: Database, jobs: Jobs, tenant: TenantId) -> JobId:
    return await _create(database, jobs, tenant, NAME)


async def test_one_that_failed_by_itself_is_tried_beside_others_to_the_last(
    database: Database, jobs: Jobs, tenant: TenantId, job: JobId
) -> None:
    handler = JobHandler(_crash, _giving_up(database, jobs))
    async with _beside_a_long_one(database, jobs, tenant, handler) as worker:
        for _ in range(3):
            await worker.run_one(tenant, job)
    assert await _row(database, tenant, job) == ("failed", 3)


@pytest.mark.parametrize("fails", ["by crashing", "by being refused"])
async def test_one_that_is_never_given_up_and_fails_by_itself_asks_for_no_solitude(
    database: Database, jobs: Jobs, tenant: TenantId, job: JobId, fails: str
) -> None:
    run = _crash if fails == "by crashing" else _refuse
    handler = JobHandler(run, try_later(database, jobs))
    async with _beside_a_long_one(database, jobs, tenant, handler) as worker:
        for number in range(1, 6):
            await worker.run_one(tenant, job)
            assert await _row(database, tenant, job) == ("queued", number)


async def test_one_whose_processes_died_waits_for_others_a_moment_and_is_postponed(
    database: Database, jobs: Jobs, tenant: TenantId, job: JobId
) -> None:
    await _die(database, jobs, tenant, job, times=2)
    handler = JobHandler(_crash, _giving_up(database, jobs))
    async with _beside_a_long_one(database, jobs, tenant, handler) as worker:
        async with asyncio.timeout(5):
            await worker.run_one(tenant, job)
        assert await _row(database, tenant, job) == ("queued", 2)
        assert 50 < await _told_in_s(database, tenant, job) <= 60
        # Nobody is held up any more.
        quick = await _create(database, jobs, tenant, NAME)
        async with asyncio.timeout(5):
            await worker.run_one(tenant, quick)
        assert await _row(database, tenant, quick) == ("queued", 1)
    # Another worker has nothing to do.
    await Worker(database, Jobs(database, HURRIED), {NAME: handler}).run_one(tenant, job)
    assert await _row(database, tenant, job) == ("failed", 3)


async def test_one_that_died_beside_others_after_it_had_failed_twice_has_an_attempt_alone(
    database: Database, jobs: Jobs, tenant: TenantId, job: JobId
) -> None:
    worker = Worker(database, jobs, {NAME: JobHandler(_crash, _giving_up(database, jobs))})
    for _ in range(2):
        await worker.run_one(tenant, job)
    async with database.transaction(tenant) as session:
        run = await jobs.claim(session, tenant, job, is_alone=False)
    assert run is not None
    await _let_the_lease_pass(database, tenant, job)
    async with database.transaction(tenant) as session:
        assert await jobs.claim(session, tenant, job, is_alone=False) is None
        assert await jobs.needs_solitude(session, tenant, job)
        alone = await jobs.claim(session, tenant, job)
    assert alone is not None
    assert (alone.attempt, alone.is_last, alone.is_spent) == (4, True, False)
    await _let_the_lease_pass(database, tenant, job)
    async with database.transaction(tenant) as session:
        spent = await jobs.claim(session, tenant, job, is_alone=False)
    assert spent is not None
    assert spent.is_spent


async def test_what_a_sweep_takes_from_the_dead_counts_as_what_a_worker_takes(
    database: Database, jobs: Jobs, tenant: TenantId, job: JobId
) -> None:
    for _ in range(2):
        async with database.transaction(tenant) as session:
            assert await jobs.claim(session, tenant, job, is_alone=False) is not None
        await _let_the_lease_pass(database, tenant, job)
        async with database.transaction(tenant) as session:
            await jobs.requeue_expired(session, tenant)
    async with database.transaction(tenant) as session:
        assert await jobs.claim(session, tenant, job, is_alone=False) is None
        assert await jobs.needs_solitude(session, tenant, job)


async def test_one_that_waited_for_a_part_is_as_suspect_as_before(
    database: Database, jobs: Jobs, tenant: TenantId, job: JobId
) -> None:
    await _die(database, jobs, tenant, job, times=2)
    async with database.transaction(tenant) as session:
        run = await jobs.claim(session, tenant, job)
        assert run is not None
        await jobs.hand_back(session, run, after_s=0, counts_as_failure=False)
        assert await jobs.needs_solitude(session, tenant, job)


async def test_one_that_comes_further_than_those_that_died_lets_others_in(
    database: Database, jobs: Jobs, tenant: TenantId, job: JobId
) -> None:
    await _die(database, jobs, tenant, job, times=2)
    is_alone, other_is_done = asyncio.Event(), asyncio.Event()

    async def go_on(run: JobRun) -> None:
        if run.job != job:
            other_is_done.set()
            raise Refused
        is_alone.set()
        async with database.transaction(tenant) as session:
            await jobs.confirm(session, run, is_further=True)
        await other_is_done.wait()
        async with database.transaction(tenant) as session:
            await jobs.complete(session, run)

    worker = Worker(database, jobs, {NAME: JobHandler(go_on, _giving_up(database, jobs))})
    other = await _create(database, jobs, tenant, NAME)
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        group.create_task(worker.run_one(tenant, job))
        await is_alone.wait()
        group.create_task(worker.run_one(tenant, other))
    assert await _row(database, tenant, job) == ("completed", 3)


async def _crash(_: JobRun) -> None:
    raise LookupError


async def _refuse(_: JobRun) -> None:
    raise Refused


def _giving_up(database: Database, jobs: Jobs) -> DeadLetter:
    async def give_up(run: JobRun, error: EaiError) -> None:
        async with database.transaction(run.tenant) as session:
            await jobs.fail(session, run, error)

    return give_up


@asynccontextmanager
async def _beside_a_long_one(
    database: Database, jobs: Jobs, tenant: TenantId, handler: JobHandler
) -> AsyncIterator[Worker]:
    """A worker that runs, as long as the block, a job that does not end."""
    is_running, may_end = asyncio.Event(), asyncio.Event()

    async def take_long(run: JobRun) -> None:
        is_running.set()
        await may_end.wait()
        raise Refused

    handlers = {NAME: handler, LONG: JobHandler(take_long, _giving_up(database, jobs))}
    worker = Worker(database, jobs, handlers)
    long = await _create(database, jobs, tenant, LONG)
    async with asyncio.TaskGroup() as group:
        group.create_task(worker.run_one(tenant, long))
        await is_running.wait()
        yield worker
        may_end.set()


async def _create(database: Database, jobs: Jobs, tenant: TenantId, name: str) -> JobId:
    job = JobId(uuid4())
    async with database.transaction(tenant) as session:
        await jobs.create(session, tenant, job, name, {})
    return job


async def _die(database: Database, jobs: Jobs, tenant: TenantId, job: JobId, *, times: int) -> None:
    for _ in range(times):
        async with database.transaction(tenant) as session:
            assert await jobs.claim(session, tenant, job) is not None
        await _let_the_lease_pass(database, tenant, job)


async def _let_the_lease_pass(database: Database, tenant: TenantId, job: JobId) -> None:
    async with database.transaction(tenant) as session:
        await session.execute(
            text("UPDATE eai.jobs SET lease_until = now() - interval '1 minute' WHERE id = :job"),
            {"job": job},
        )


async def _row(database: Database, tenant: TenantId, job: JobId) -> tuple[str, int]:
    """The job's state, and how many attempts were made."""
    async with database.transaction(tenant) as session:
        row = (
            await session.execute(text("SELECT state, attempt FROM eai.jobs WHERE id = :job"), {"job": job})
        ).one()
    return row.state, row.attempt


async def _told_in_s(database: Database, tenant: TenantId, job: JobId) -> float:
    """When the message comes that was scheduled for the job."""
    async with database.transaction(tenant) as session:
        return float(await session.scalar(_TOLD_IN_S, {"job": str(job)}) or 0)


_TOLD_IN_S = text("""
    SELECT extract(epoch FROM scheduled_at - now()) FROM procrastinate_jobs
     WHERE args->>'job' = :job AND scheduled_at IS NOT NULL""")
