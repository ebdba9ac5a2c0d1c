"""Work that outlives a request: rows of our own, driven by procrastinate in its own schema.

A row of `eai.jobs` says what is to be done, how far it is and who holds it; procrastinate only
carries (tenant, job id) to a worker. Fencing is ours: claiming a job raises its `attempt`, and every
effect commits together with `complete` or `confirm`, which fail once another attempt has begun. A
process that was frozen past its lease can therefore wake up and change nothing.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from sqlalchemy import CursorResult, Row, TextClause
from sqlalchemy.ext.asyncio import AsyncSession

from eai.kernel.errors import EaiError
from eai.kernel.ids import JobId, PrincipalId, TenantId
from eai.platform import job_statements as statements
from eai.platform.announcing import announce, messenger
from eai.platform.database import Database

MAX_FAILURES = 3
SWEPT_AT_ONCE = 100
"""How many jobs of either kind a sweep takes: it holds their rows, and whoever claims one waits for it."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How soon the death of whoever held a job is noticed. Tests are in a hurry.

    An attempt that does not extend its lease for `lease_s` has lost its job; each worker shows every
    `heartbeat_s` that it lives, is taken for dead after `stalled_after_s`, and looks every
    `sweep_interval_s` for what the dead have left. A job that has to be alone waits `solitude_within_s` for
    what runs in its worker, and is tried again `solitude_again_s` later.
    """

    lease_s: float = 30.0
    heartbeat_s: float = 3.0
    stalled_after_s: float = 12.0
    sweep_interval_s: float = 5.0
    solitude_within_s: float = 15.0
    solitude_again_s: float = 120.0


class Fenced(Exception):
    """Another attempt has taken this job over; whatever was computed must be dropped."""


class NoLongerWanted(EaiError):
    """What a job was for was deleted or replaced before it came to that."""

    code, status = "no_longer_wanted", 409


@dataclass(frozen=True, slots=True)
class JobRun:
    """One attempt at a job. `attempt` is the fence; `failures` counts attempts that came to nothing.

    `progress` is what earlier attempts had confirmed when this one began.
    """

    tenant: TenantId
    job: JobId
    name: str
    attempt: int
    failures: int
    parameters: Mapping[str, Any]
    progress: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_last(self) -> bool:
        """Whether a failure of this attempt makes the job a dead letter."""
        return self.failures >= MAX_FAILURES

    @property
    def is_spent(self) -> bool:
        """Whether every permitted attempt came to nothing before, as when each killed its process."""
        return self.failures > MAX_FAILURES


class Jobs:
    """Creates, hands out and closes jobs, always inside the caller's transaction."""

    def __init__(self, database: Database, pace: Pace | None = None) -> None:
        self.pace = pace or Pace()
        self.app = messenger(database)

    async def create(
        self,
        session: AsyncSession,
        tenant: TenantId,
        job: JobId,
        name: str,
        parameters: Mapping[str, Any],
        *,
        principal: PrincipalId | None = None,
    ) -> None:
        """Queue a job; it starts when the caller's transaction commits and vanishes if it rolls back."""
        await session.execute(
            statements.CREATE,
            _row(tenant, job, name, parameters, principal) | {"state": "queued", "begun": 0, "lease": 0},
        )
        await self._announce(session, tenant, name, [job])

    async def is_pending(
        self, session: AsyncSession, tenant: TenantId, name: str, parameters: Mapping[str, Any]
    ) -> bool:
        """Whether a job of this name with these parameters is queued or running."""
        values = {"tenant": tenant, "name": name, "parameters": dict(parameters)}
        return bool(await session.scalar(statements.IS_PENDING, values))

    async def begin(
        self,
        session: AsyncSession,
        tenant: TenantId,
        job: JobId,
        name: str,
        parameters: Mapping[str, Any],
        *,
        principal: PrincipalId | None = None,
    ) -> JobRun:
        """Record a job that the caller itself runs now; if it dies, the sweep queues the job."""
        await session.execute(
            statements.CREATE,
            _row(tenant, job, name, parameters, principal)
            | {"state": "running", "begun": 1, "lease": self.pace.lease_s},
        )
        return JobRun(tenant, job, name, attempt=1, failures=1, parameters=parameters)

    async def claim(
        self, session: AsyncSession, tenant: TenantId, job: JobId, *, is_alone: bool = True
    ) -> JobRun | None:
        """Begin the next attempt; None when the job is done, or held by a live attempt.

        The attempt counts as failed until it ends well, so that one that kills its process counts. Unless
        the caller `is_alone`, a job is not to be had either when one before seems to have done so, and one
        is left.
        """
        values = {"tenant": tenant, "job": job, "lease": self.pace.lease_s}
        values |= {"alone": is_alone, "last": MAX_FAILURES - 1}
        row = (await session.execute(statements.CLAIM, values)).one_or_none()
        if row is None:
            return None
        return JobRun(tenant, job, row.name, row.attempt, row.failures, row.parameters, row.progress)

    async def needs_solitude(self, session: AsyncSession, tenant: TenantId, job: JobId) -> bool:
        """Whether the job is to be had only by who is alone."""
        values = {"tenant": tenant, "job": job, "last": MAX_FAILURES - 1}
        return (await session.execute(statements.NEEDS_SOLITUDE, values)).one_or_none() is not None

    async def postpone(self, session: AsyncSession, tenant: TenantId, job: JobId, *, after_s: float) -> None:
        """Have a job that nobody holds brought again in `after_s` seconds; no attempt of it is made."""
        values = {"tenant": tenant, "job": job, "after": after_s}
        name = await session.scalar(statements.POSTPONE, values)
        if name is not None:
            await self._announce(session, tenant, name, [job], after_s=after_s)

    async def confirm(
        self,
        session: AsyncSession,
        run: JobRun,
        progress: Mapping[str, Any] | None = None,
        *,
        is_further: bool = False,
    ) -> Mapping[str, Any]:
        """Extend the lease, and fence the transaction; tells all progress so far. Raises Fenced.

        With `is_further` the transaction keeps something that no attempt before had come to: those that died
        did not die of what lies behind, and count no more.
        """
        row = await self._confirm(session, run, progress=progress or {}, further=is_further)
        return cast(Mapping[str, Any], row.progress)

    async def keep(self, session: AsyncSession, run: JobRun) -> bool:
        """Extend the lease; whether the attempt still needs to be alone, if it did. Raises Fenced."""
        row = await self._confirm(session, run, progress={}, further=False)
        return bool(row.unsettled > 1)

    async def holds(self, session: AsyncSession, run: JobRun) -> bool:
        """Whether no other attempt has begun, nor the job ended."""
        values = {"tenant": run.tenant, "job": run.job, "attempt": run.attempt}
        return bool(await session.scalar(statements.HOLDS, values))

    async def progress(self, session: AsyncSession, tenant: TenantId, job: JobId) -> Mapping[str, Any] | None:
        """What attempts have confirmed, whoever holds the job now; None once it has ended."""
        values = {"tenant": tenant, "job": job}
        return cast("Mapping[str, Any] | None", await session.scalar(statements.PROGRESS, values))

    async def complete(
        self, session: AsyncSession, run: JobRun, progress: Mapping[str, Any] | None = None
    ) -> None:
        """Close the job in the transaction of its effect. Raises Fenced."""
        await self._update(session, statements.COMPLETE, run, progress=progress or {})

    async def fail(self, session: AsyncSession, run: JobRun, error: EaiError) -> None:
        """Close the job for good as a dead letter. Raises Fenced."""
        await self._update(session, statements.FAIL, run, error=_told(error))

    async def abandon(self, session: AsyncSession, run: JobRun) -> None:
        """Close a job that nobody wants done any more, and say so. Raises Fenced."""
        await self._update(session, statements.ABANDON, run, error=_told(NoLongerWanted()))

    async def cancel(self, session: AsyncSession, tenant: TenantId, job: JobId) -> bool:
        """Close a job that has not ended: whoever runs it finds itself fenced. False when it has ended."""
        cancelled = await session.execute(statements.CANCEL, {"tenant": tenant, "job": job})
        return cast(CursorResult[Any], cancelled).rowcount == 1

    async def parameters(
        self, session: AsyncSession, tenant: TenantId, job: JobId
    ) -> Mapping[str, Any] | None:
        """What a job was created with; None for one that is gone."""
        return cast(
            "Mapping[str, Any] | None",
            await session.scalar(statements.PARAMETERS, {"tenant": tenant, "job": job}),
        )

    async def hand_back(
        self, session: AsyncSession, run: JobRun, *, after_s: int, counts_as_failure: bool
    ) -> None:
        """Return the job to the queue, to start again in `after_s` seconds. Raises Fenced.

        It has one more attempt at least, however many have failed. One that counts has ended by itself: it
        shows that it is not the job that kills its process.
        """
        values = {"counts": counts_as_failure, "last": MAX_FAILURES - 1, "after": after_s}
        await self._update(session, statements.HAND_BACK, run, **values)
        await self._announce(session, run.tenant, run.name, [run.job], after_s=after_s)

    async def requeue_expired(self, session: AsyncSession, tenant: TenantId) -> int:
        """Queue again what the dead of `tenant` held, and announce it and whatever lost its message.

        Tells how many were announced. Of either kind SWEPT_AT_ONCE at most are looked at, those that are due
        longest first; enough calls get through all.
        """
        values = {"tenant": tenant, "lease": self.pace.lease_s, "most": SWEPT_AT_ONCE}
        unheard: dict[str, list[JobId]] = defaultdict(list)
        for row in await session.execute(statements.REQUEUE, values):
            unheard[row.name].append(JobId(row.id))
        for name, jobs in unheard.items():
            await self._announce(session, tenant, name, jobs)
        return sum(map(len, unheard.values()))

    async def _announce(
        self, session: AsyncSession, tenant: TenantId, name: str, jobs: Sequence[JobId], *, after_s: float = 0
    ) -> None:
        await announce(self.app, session, tenant, name, jobs, after_s=after_s)

    async def _confirm(self, session: AsyncSession, run: JobRun, **values: Any) -> Row[Any]:
        values |= {"tenant": run.tenant, "job": run.job, "attempt": run.attempt, "lease": self.pace.lease_s}
        row = (await session.execute(statements.CONFIRM, values)).one_or_none()
        if row is None:
            raise Fenced
        return row

    async def _update(self, session: AsyncSession, statement: TextClause, run: JobRun, **values: Any) -> None:
        keys = {"tenant": run.tenant, "job": run.job, "attempt": run.attempt}
        result = cast(CursorResult[Any], await session.execute(statement, keys | values))
        if result.rowcount != 1:
            raise Fenced


def _told(error: EaiError) -> dict[str, Any]:
    return {"code": error.code, "details": dict(error.details)}


def _row(
    tenant: TenantId, job: JobId, name: str, parameters: Mapping[str, Any], principal: PrincipalId | None
) -> dict[str, Any]:
    return {
        "tenant": tenant,
        "job": job,
        "name": name,
        "parameters": dict(parameters),
        "principal": principal,
    }
