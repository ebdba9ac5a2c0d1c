"""How a worker settles jobs whose processes died, or that run when it stops, and how it sweeps."""

import asyncio
from random import Random
from uuid import uuid4

import pytest
from sqlalchemy import make_url, text

from eai.kernel.errors import EaiError
from eai.kernel.ids import JobId, TenantId
from eai.knowledge.jobs import try_later
from eai.platform.database import Database
from eai.platform.handlers import Group, JobHandler
from eai.platform.jobs import JobRun, Jobs
from eai.platform.solitude import LetIn
from eai.platform.worker import Worker
from tests.conftest import DatabaseUrls
from tests.integration.faults.outages import eventually

NAME = "test.poison"


@pytest.fixture
def jobs(database: Database) -> Jobs:
    return Jobs(database)


@pytest.fixture
async def job(database: Database, jobs: Jobs, tenant: TenantId) -> JobId:
    """A job that has killed three processes: claimed each time, never settled."""
    job = JobId(uuid4())
    async with database.transaction(tenant) as session:
        await jobs.create(session, tenant, job, NAME, {})
    for _ in range(3):
        async with database.transaction(tenant) as session:
            assert await jobs.claim(session, tenant, job) is not None
        await _let_the_wait_pass(database, tenant, job)
    return job


async def test_a_job_that_killed_three_processes_is_given_up_without_a_fourth(
    database: Database, jobs: Jobs, tenant: TenantId, job: JobId
) -> None:
    runs: list[JobRun] = []

    async def run(run: JobRun) -> None:
        runs.append(run)

    async def give_up(run: JobRun, error: EaiError) -> None:
        async with database.transaction(tenant) as session:
            await jobs.fail(session, run, error)

    await Worker(database, jobs, {NAME: JobHandler(run, give_up)}).run_one(tenant, job)
    assert runs == []
    assert await _row(database, tenant, job) == ("failed", {"code": "job_failed", "details": {}})


async def test_a_job_that_is_never_given_up_rests_and_then_runs_again(
    database: Database, jobs: Jobs, tenant: TenantId, job: JobId
) -> None:
    async def run(run: JobRun) -> None:
        async with database.transaction(tenant) as session:
            await jobs.complete(session, run)

    worker = Worker(database, jobs, {NAME: JobHandler(run, try_later(database, jobs))})
    await worker.run_one(tenant, job)
    assert await _row(database, tenant, job) == ("queued", None)
    await _let_the_wait_pass(database, tenant, job)
    await worker.run_one(tenant, job)
    assert await _row(database, tenant, job) == ("completed", None)


async def test_a_job_that_runs_when_its_worker_stops_is_handed_back_uncounted(
    database: Database, jobs: Jobs, tenant: TenantId
) -> None:
    is_running = asyncio.Event()

    async def run(run: JobRun) -> None:
        is_running.set()
        await asyncio.Event().wait()

    job = JobId(uuid4())
    async with database.transaction(tenant) as session:
        await jobs.create(session, tenant, job, NAME, {})
    worker = Worker(database, jobs, {NAME: JobHandler(run, try_later(database, jobs))})
    working = asyncio.create_task(worker.run_one(tenant, job))
    await is_running.wait()
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    assert await _row(database, tenant, job) == ("queued", None)
    await _let_the_wait_pass(database, tenant, job)
    async with database.transaction(tenant) as session:
        again = await jobs.claim(session, tenant, job)
    assert again is not None
    assert (again.attempt, again.failures) == (2, 1)


async def test_a_run_whose_job_another_worker_took_over_ends(
    database: Database, jobs: Jobs, tenant: TenantId
) -> None:
    is_running, is_taken_over, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    class Hurried(Worker):
        """Shows that it lives once the job is another's, and not only after ten seconds."""

        async def _keep_lease(self, run: JobRun, let_in: LetIn | None) -> None:
            await is_taken_over.wait()
            async with database.transaction(tenant) as session:
                await jobs.confirm(session, run)

    async def run(run: JobRun) -> None:
        is_running.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    job = JobId(uuid4())
    async with database.transaction(tenant) as session:
        await jobs.create(session, tenant, job, NAME, {})
    worker = Hurried(database, jobs, {NAME: JobHandler(run, try_later(database, jobs))})
    working = asyncio.create_task(worker.run_one(tenant, job))
    await is_running.wait()
    async with database.transaction(tenant) as session:
        await session.execute(text("UPDATE eai.jobs SET attempt = attempt + 1 WHERE id = :job"), {"job": job})
    is_taken_over.set()
    done, _ = await asyncio.wait([working], timeout=5)
    working.cancel()
    assert done == {working}
    assert working.exception() is None
    assert ended.is_set()
    assert await _row(database, tenant, job) == ("running", None)


@pytest.mark.parametrize("stuck", Group)
async def test_a_group_whose_slots_are_full_holds_up_no_other(
    database: Database, jobs: Jobs, tenant: TenantId, stuck: Group
) -> None:
    others = [group for group in Group if group is not stuck]
    is_full, may_go, done = asyncio.Event(), asyncio.Event(), {each: asyncio.Event() for each in others}

    def of(group: Group) -> JobHandler:
        async def run(run: JobRun) -> None:
            if group is stuck:
                is_full.set()
                await may_go.wait()
            async with database.transaction(tenant) as session:
                await jobs.complete(session, run)
            if group is not stuck:
                done[group].set()

        return JobHandler(run, try_later(database, jobs), group)

    worker = Worker(database, jobs, {f"test.{group}": of(group) for group in Group})
    working = asyncio.create_task(worker.run(dict.fromkeys(Group, 1)))
    for _ in range(2):
        await _create(database, jobs, tenant, f"test.{stuck}")
    async with asyncio.timeout(20):
        await is_full.wait()
        for group in others:
            await _create(database, jobs, tenant, f"test.{group}")
            await done[group].wait()
    may_go.set()
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working


async def test_a_message_is_kept_when_its_job_cannot_be_claimed_for_now(
    database_urls: DatabaseUrls, tenant: TenantId
) -> None:
    impatient = make_url(database_urls.app).update_query_dict({"options": "-c lock_timeout=100ms"})
    database = Database(impatient.render_as_string(hide_password=False))
    await database.open()
    jobs, job, is_done = Jobs(database), JobId(uuid4()), asyncio.Event()

    async def run(run: JobRun) -> None:
        async with database.transaction(tenant) as session:
            await jobs.complete(session, run)
        is_done.set()

    async with database.transaction(tenant) as session:
        await jobs.create(session, tenant, job, "test.held", {})
    worker = Worker(database, jobs, {"test.held": JobHandler(run, try_later(database, jobs))})
    held = text("SELECT id FROM eai.jobs WHERE id = :job FOR UPDATE")
    async with database.transaction(tenant) as holding:
        await holding.execute(held, {"job": job})
        working = asyncio.create_task(worker.run())
        await eventually(lambda: _is_given_back(database, tenant, job))
    async with asyncio.timeout(10):
        await is_done.wait()
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    await database.close()


async def test_a_worker_that_is_told_to_stop_while_it_begins_stops(database_urls: DatabaseUrls) -> None:
    """At whichever moment: a pool that is being opened may swallow a cancellation."""

    async def run(_: JobRun) -> None:
        """There is no such job."""

    moments = Random(1)
    for _ in range(30):
        database = Database(database_urls.app)
        await database.open()
        jobs = Jobs(database)
        handlers = {f"test.{group}": JobHandler(run, try_later(database, jobs), group) for group in Group}
        working = asyncio.create_task(Worker(database, jobs, handlers).run())
        await asyncio.wait([working], timeout=moments.uniform(0, 0.3))
        working.cancel()
        await asyncio.wait([working], timeout=30)
        assert working.cancelled()
        await database.close()


async def test_a_worker_whose_sweeps_fail_fails_too(database: Database, jobs: Jobs) -> None:
    class Unswept(Worker):
        async def sweep(self) -> None:
            raise LookupError

    with pytest.raises(ExceptionGroup) as caught:
        async with asyncio.timeout(10):
            await Unswept(database, jobs, {}).run()
    assert caught.group_contains(LookupError)


async def test_the_sweep_passes_over_a_job_that_somebody_is_settling(
    database: Database, jobs: Jobs, tenant: TenantId, job: JobId
) -> None:
    held = text("SELECT id FROM eai.jobs WHERE id = :job FOR UPDATE")
    async with database.transaction(tenant) as session:
        # As a worker that took it has.
        await session.execute(
            text("DELETE FROM procrastinate_jobs WHERE args->>'job' = :job"), {"job": str(job)}
        )
    async with database.transaction(tenant) as settling:
        await settling.execute(held, {"job": job})
        async with database.transaction(tenant) as sweeping:
            assert await jobs.requeue_expired(sweeping, tenant) == 0
    async with database.transaction(tenant) as sweeping:
        assert await jobs.requeue_expired(sweeping, tenant) == 1


async def _create(database: Database, jobs: Jobs, tenant: TenantId, name: str) -> JobId:
    job = JobId(uuid4())
    async with database.transaction(tenant) as session:
        await jobs.create(session, tenant, job, name, {})
    return job


async def _is_given_back(database: Database, tenant: TenantId, job: JobId) -> bool:
    """Whether a worker that had taken the job's message has left it to be taken again."""
    async with database.transaction(tenant) as session:
        found = await session.execute(
            text("SELECT attempts FROM procrastinate_jobs WHERE args->>'job' = :job AND status = 'todo'"),
            {"job": str(job)},
        )
        return found.scalar_one_or_none() == 1


async def _let_the_wait_pass(database: Database, tenant: TenantId, job: JobId) -> None:
    async with database.transaction(tenant) as session:
        await session.execute(
            text("UPDATE eai.jobs SET lease_until = now() - interval '1 minute' WHERE id = :job"),
            {"job": job},
        )


async def _row(database: Database, tenant: TenantId, job: JobId) -> tuple[str, object]:
    async with database.transaction(tenant) as session:
        row = (
            await session.execute(text("SELECT state, error FROM eai.jobs WHERE id = :job"), {"job": job})
        ).one()
    return row.state, row.error
