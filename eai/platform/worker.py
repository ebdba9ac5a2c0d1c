"""Runs jobs: claims each under its tenant, keeps its lease alive, and settles how it ended."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from uuid import UUID, uuid4

import structlog
from procrastinate import JobContext, RetryStrategy
from procrastinate import worker as procrastinate
from procrastinate.exceptions import ConnectorException

from eai.kernel.errors import EaiError, Unavailable
from eai.kernel.ids import JobId, TenantId
from eai.platform import presence
from eai.platform.cancellation import end_if_cancelled
from eai.platform.context import WorkContext, enter_work
from eai.platform.database import Database
from eai.platform.expiry import erase_expired, tenants_with_due_work
from eai.platform.handlers import SLOTS, Group, JobHandler
from eai.platform.jobs import Fenced, JobRun, Jobs
from eai.platform.solitude import Crowded, LetIn, Solitude

BACKOFF_S = (2, 10, 30)
RECONNECT_AFTER_S = 0.5
STOP_WITHIN_S = 5.0
"""What runs when the process is told to stop may go on for so long, and is handed back then.

Less than whoever stops processes waits for before it kills them, and what is killed has its job until its
lease is over.
"""
AT_ONCE = datetime.fromtimestamp(0, UTC)
"""A time that has come by every clock. Left to itself the library says now, by that of this process."""
_UNLESS_CLAIMED = RetryStrategy(wait=2, retry_exceptions=(Unavailable,))
"""A message is kept where its job could not be claimed: what fails later comes in a group.

It waits by this process's clock. Where that is ahead the sweep announces the job anew.
"""

log = structlog.get_logger(__name__)


class JobCrashed(EaiError):
    """A job kept failing in a way nobody foresaw; its logs carry the request id."""

    code, status = "job_failed", 500


class Worker:
    """One worker process: procrastinate brings (tenant, job id), the rows say the rest."""

    def __init__(self, database: Database, jobs: Jobs, handlers: Mapping[str, JobHandler]) -> None:
        self._database = database
        self._jobs = jobs
        self._handlers = handlers
        self._solitude = Solitude(jobs.pace.solitude_within_s, jobs.pace.solitude_again_s)
        for name in handlers:
            jobs.app.task(name=name, pass_context=False, retry=_UNLESS_CLAIMED)(self._task(name))

    async def run(self, slots: Mapping[Group, int] = SLOTS) -> None:
        """Work until cancelled; a job that is running then is handed back. Fails when the sweeps do.

        `slots` tells how many jobs of a group run at a time. Groups that it does not name are left to other
        workers.
        """
        async with self._jobs.app.open_async():
            # Whoever opens connections may keep it to itself that the task was cancelled meanwhile.
            end_if_cancelled()
            async with asyncio.TaskGroup() as group:
                group.create_task(self._sweep_forever())
                group.create_task(self._show_forever(slots))
                for each, number in slots.items():
                    names = [name for name, handler in self._handlers.items() if handler.group is each]
                    if names:
                        group.create_task(self._carry_forever(names, number))

    async def _carry_forever(self, names: Sequence[str], slots: int) -> None:
        while True:
            await self._carry(names, slots)
            end_if_cancelled()
            await asyncio.sleep(RECONNECT_AFTER_S)

    async def _carry(self, names: Sequence[str], slots: int) -> None:
        """Have procrastinate bring jobs of these names until it loses the database."""
        pace = self._jobs.pace
        carrier = _Carrier(
            self._jobs.app,
            queues=names,
            concurrency=slots,
            install_signal_handlers=False,
            update_heartbeat_interval=pace.heartbeat_s,
            stalled_worker_timeout=pace.stalled_after_s,
            delete_jobs="always",
            shutdown_graceful_timeout=STOP_WITHIN_S,
        )
        with suppress(ConnectorException):
            await carrier.run()  # type: ignore[no-untyped-call]
        log.warning("worker.reconnecting")

    async def run_one(self, tenant: TenantId, job: JobId) -> None:
        """Claim and run one job here and now; does nothing when it is not to be had.

        When attempts at a job seem to have killed their processes, the last one has the process to itself:
        what kills it then is that job. It is postponed where others do not end soon. A run that lost its job
        to another worker is cancelled. What else goes wrong comes in a group.
        """
        async with self._solitude.in_company():
            async with self._database.transaction(tenant) as session:
                run = await self._jobs.claim(session, tenant, job, is_alone=False)
                needs_solitude = run is None and await self._jobs.needs_solitude(session, tenant, job)
            if run is not None:
                await self._run(run)
        if needs_solitude:
            await self._run_alone(tenant, job)

    async def _run_alone(self, tenant: TenantId, job: JobId) -> None:
        try:
            async with self._solitude.alone() as let_in:
                async with self._database.transaction(tenant) as session:
                    run = await self._jobs.claim(session, tenant, job)
                if run is not None:
                    await self._run(run, let_in)
        except Crowded:
            log.info("job.postponed", tenant=str(tenant), job=str(job))
            async with self._database.transaction(tenant) as session:
                await self._jobs.postpone(session, tenant, job, after_s=self._jobs.pace.solitude_again_s)

    async def _run(self, run: JobRun, let_in: LetIn | None = None) -> None:
        enter_work(WorkContext())
        try:
            async with asyncio.TaskGroup() as group:
                beating = group.create_task(self._keep_lease(run, let_in))
                await self._settle(run, self._handlers[run.name])
                beating.cancel()
        except* Fenced:
            log.info("job.fenced", tenant=str(run.tenant), job=str(run.job), attempt=run.attempt)

    def _task(self, name: str) -> Callable[[str, str], Awaitable[None]]:
        async def task(tenant: str, job: str) -> None:
            await self.run_one(TenantId(UUID(tenant)), JobId(UUID(job)))

        task.__name__ = name
        return task

    async def _settle(self, run: JobRun, handler: JobHandler) -> None:
        if run.is_spent:
            log.error("job.crashed", job=str(run.job), job_name=run.name, attempt=run.attempt)
            await handler.give_up(run, JobCrashed())
            return
        try:
            await handler.run(run)
        except Fenced:
            raise
        except Unavailable:
            # Waiting for a part to come back is not the job's failure.
            await self._hand_back(run, counts_as_failure=False)
        except asyncio.CancelledError:
            # This process stops; the job did nothing wrong.
            with suppress(Unavailable):
                await self._hand_back(run, counts_as_failure=False)
            raise
        except EaiError as error:
            await handler.give_up(run, error)
        except Exception:
            # Whatever a poisonous document raises must not stop the queue: count it and move on.
            log.exception("job.crashed", job=str(run.job), job_name=run.name, attempt=run.attempt)
            if run.is_last:
                await handler.give_up(run, JobCrashed())
            else:
                await self._hand_back(run, counts_as_failure=True)

    async def _hand_back(self, run: JobRun, *, counts_as_failure: bool) -> None:
        after_s = BACKOFF_S[min(run.failures, len(BACKOFF_S)) - 1]
        async with self._database.transaction(run.tenant) as session:
            await self._jobs.hand_back(session, run, after_s=after_s, counts_as_failure=counts_as_failure)

    async def _keep_lease(self, run: JobRun, let_in: LetIn | None) -> None:
        """Extend the lease for as long as the run lasts. Raises Fenced, which ends the run too.

        Once a run that is alone has come further than those that died, others are let in.
        """
        while True:
            await asyncio.sleep(self._jobs.pace.lease_s / 3)
            with suppress(Unavailable):
                async with self._database.transaction(run.tenant) as session:
                    needs_solitude = await self._jobs.keep(session, run)
                if let_in is not None and not needs_solitude:
                    await let_in()
            end_if_cancelled()

    async def _sweep_forever(self) -> None:
        while True:
            with suppress(Unavailable, ConnectorException):
                await self.sweep()
            end_if_cancelled()
            await asyncio.sleep(self._jobs.pace.sweep_interval_s)

    async def _show_forever(self, groups: Collection[Group]) -> None:
        process = uuid4()
        try:
            while True:
                with suppress(Unavailable):
                    await presence.show(self._database, process, groups)
                    await presence.processes(self._database)
                end_if_cancelled()
                await asyncio.sleep(self._jobs.pace.heartbeat_s)
        finally:
            # Where the database has gone, nobody is told, and soon sees it.
            with suppress(Unavailable):
                await presence.withdraw(self._database, process)

    async def sweep(self) -> None:
        """Take over what dead workers and dead requests left; any worker may, and all do."""
        manager, stalled_after_s = self._jobs.app.job_manager, self._jobs.pace.stalled_after_s
        for job in await manager.get_stalled_jobs(seconds_since_heartbeat=stalled_after_s):
            await manager.retry_job(job, retry_at=AT_ONCE)
        await manager.prune_stalled_workers(stalled_after_s)
        for tenant in await tenants_with_due_work(self._database, self._jobs.pace.lease_s):
            async with self._database.transaction(tenant) as session:
                await self._jobs.requeue_expired(session, tenant)
                await erase_expired(session)


class _Carrier(procrastinate.Worker):
    """procrastinate's worker, made to stop when its listener or its heartbeat has failed."""

    async def _run_loop(self) -> None:
        # A pool of connections may keep it to itself that it was cancelled while this one registered.
        if self.run_task is not None and self.run_task.cancelling():
            self.stop()  # type: ignore[no-untyped-call]
        await super()._run_loop()  # type: ignore[no-untyped-call]

    async def _periodic_deferrer(self) -> None:
        # The parts of a worker are watched until the first one ends. Without periodic tasks this one ended
        # at once, and after a restart of the database nothing heard of new jobs, or said so.
        await asyncio.Event().wait()

    async def _process_job(self, context: JobContext) -> None:
        # That it ended could not be written down: it is brought again, and finds its row closed.
        with suppress(ConnectorException):
            await super()._process_job(context)
