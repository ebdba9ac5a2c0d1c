"""Work that outlives a request: rows of our own, driven by procrastinate in its own schema.

A row of `eai.jobs` says what is to be done, how far it is and who holds it; procrastinate only
carries (tenant, job id) to a worker. Fencing is ours: claiming a job raises its `attempt`, and every
effect commits together with `complete` or `confirm`, which fail once another attempt has begun. A
process that was frozen past its lease can therefore wake up and change nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import ConnectorException
from sqlalchemy import CursorResult, TextClause, bindparam, text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.ext.asyncio import AsyncSession

from eai.kernel.errors import EaiError
from eai.kernel.ids import JobId, PrincipalId, TenantId
from eai.platform.database import RECONNECT_S, Database, raw_connection

MAX_FAILURES = 3
_CONNECTION_WITHIN_S = 5.0
_CONNECTIONS = 6
"""A worker listens on two of them, for jobs that take long and for those that do not."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How soon the death of whoever held a job is noticed. Tests are in a hurry.

    An attempt that does not extend its lease for `lease_s` has lost its job; each worker shows every
    `heartbeat_s` that it lives, is taken for dead after `stalled_after_s`, and looks every
    `sweep_interval_s` for what the dead have left.
    """

    lease_s: float = 30.0
    heartbeat_s: float = 3.0
    stalled_after_s: float = 12.0
    sweep_interval_s: float = 5.0


class Fenced(Exception):
    """Another attempt has taken this job over; whatever was computed must be dropped."""


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
        connector = PsycopgConnector(
            conninfo=database.conninfo,
            min_size=1,
            max_size=_CONNECTIONS,
            timeout=_CONNECTION_WITHIN_S,
            reconnect_timeout=RECONNECT_S,
        )
        self.app = App(connector=connector)

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
            _CREATE, _row(tenant, job, name, parameters, principal) | {"state": "queued", "lease": 0}
        )
        await self._announce(session, tenant, job, name)

    async def is_pending(
        self, session: AsyncSession, tenant: TenantId, name: str, parameters: Mapping[str, Any]
    ) -> bool:
        """Whether a job of this name with these parameters is queued or running."""
        values = {"tenant": tenant, "name": name, "parameters": dict(parameters)}
        return bool(await session.scalar(_IS_PENDING, values))

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
            _CREATE,
            _row(tenant, job, name, parameters, principal) | {"state": "running", "lease": self.pace.lease_s},
        )
        return JobRun(tenant, job, name, attempt=1, failures=1, parameters=parameters)

    async def claim(
        self, session: AsyncSession, tenant: TenantId, job: JobId, *, is_alone: bool = True
    ) -> JobRun | None:
        """Begin the next attempt; None when the job is done, or held by a live attempt.

        The attempt counts as failed until it ends well, so that one that kills its process counts. Unless
        the caller `is_alone`, a job that has one attempt left is not to be had either.
        """
        values = {"tenant": tenant, "job": job, "lease": self.pace.lease_s}
        values |= {"alone": is_alone, "last": MAX_FAILURES - 1}
        row = (await session.execute(_CLAIM, values)).one_or_none()
        if row is None:
            return None
        return JobRun(tenant, job, row.name, row.attempt, row.failures, row.parameters, row.progress)

    async def needs_solitude(self, session: AsyncSession, tenant: TenantId, job: JobId) -> bool:
        """Whether the job waits for its last attempt."""
        values = {"tenant": tenant, "job": job, "last": MAX_FAILURES - 1}
        return (await session.execute(_NEEDS_SOLITUDE, values)).one_or_none() is not None

    async def confirm(
        self, session: AsyncSession, run: JobRun, progress: Mapping[str, Any] | None = None
    ) -> Mapping[str, Any]:
        """Extend the lease, and fence the transaction; tells all progress so far. Raises Fenced."""
        values = {"tenant": run.tenant, "job": run.job, "attempt": run.attempt}
        values |= {"progress": progress or {}, "lease": self.pace.lease_s}
        row = (await session.execute(_CONFIRM, values)).one_or_none()
        if row is None:
            raise Fenced
        return cast(Mapping[str, Any], row.progress)

    async def holds(self, session: AsyncSession, run: JobRun) -> bool:
        """Whether no other attempt has begun, nor the job ended."""
        values = {"tenant": run.tenant, "job": run.job, "attempt": run.attempt}
        return bool(await session.scalar(_HOLDS, values))

    async def complete(
        self, session: AsyncSession, run: JobRun, progress: Mapping[str, Any] | None = None
    ) -> None:
        """Close the job in the transaction of its effect. Raises Fenced."""
        await self._update(session, _COMPLETE, run, progress=progress or {})

    async def fail(self, session: AsyncSession, run: JobRun, error: EaiError) -> None:
        """Close the job for good as a dead letter. Raises Fenced."""
        await self._update(session, _FAIL, run, error={"code": error.code, "details": dict(error.details)})

    async def abandon(self, session: AsyncSession, run: JobRun) -> None:
        """Close a job that nobody wants done any more. Raises Fenced."""
        await self._update(session, _ABANDON, run)

    async def cancel(self, session: AsyncSession, tenant: TenantId, job: JobId) -> bool:
        """Close a job that has not ended: whoever runs it finds itself fenced. False when it has ended."""
        cancelled = await session.execute(_CANCEL, {"tenant": tenant, "job": job})
        return cast(CursorResult[Any], cancelled).rowcount == 1

    async def parameters(
        self, session: AsyncSession, tenant: TenantId, job: JobId
    ) -> Mapping[str, Any] | None:
        """What a job was created with; None for one that is gone."""
        return cast(
            "Mapping[str, Any] | None",
            await session.scalar(_PARAMETERS, {"tenant": tenant, "job": job}),
        )

    async def hand_back(
        self, session: AsyncSession, run: JobRun, *, after_s: int, counts_as_failure: bool
    ) -> None:
        """Return the job to the queue, to start again in `after_s` seconds. Raises Fenced.

        It has one more attempt at least, however many have failed.
        """
        refund = 0 if counts_as_failure else 1
        await self._update(session, _HAND_BACK, run, refund=refund, most=MAX_FAILURES - 1, after=after_s)
        await self._announce(session, run.tenant, run.job, run.name, after_s=after_s)

    async def requeue_expired(self, session: AsyncSession, tenant: TenantId) -> int:
        """Queue again every job of `tenant` whose holder let its lease pass, or that lost its message."""
        rows = (await session.execute(_EXPIRED, {"tenant": tenant, "lease": self.pace.lease_s})).all()
        for row in rows:
            await self._announce(session, tenant, JobId(row.id), row.name)
        return len(rows)

    async def _announce(
        self, session: AsyncSession, tenant: TenantId, job: JobId, name: str, *, after_s: int = 0
    ) -> None:
        task = self.app.configure_task(
            name,
            queue=name,
            connection=await raw_connection(session),
            schedule_in={"seconds": after_s} if after_s else None,
        )
        try:
            await task.defer_async(tenant=str(tenant), job=str(job))
        except ConnectorException as error:
            # It hides what happened, which the transaction around this knows how to tell.
            raise (error.__cause__ or error) from error

    async def _update(self, session: AsyncSession, statement: TextClause, run: JobRun, **values: Any) -> None:
        keys = {"tenant": run.tenant, "job": run.job, "attempt": run.attempt}
        result = cast(CursorResult[Any], await session.execute(statement, keys | values))
        if result.rowcount != 1:
            raise Fenced


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


_CREATE = text("""
    INSERT INTO eai.jobs
           (tenant_id, id, name, state, parameters, principal_id, attempt, failures, lease_until)
    VALUES (:tenant, :job, :name, :state, :parameters, :principal,
            CASE WHEN :state = 'running' THEN 1 ELSE 0 END,
            CASE WHEN :state = 'running' THEN 1 ELSE 0 END,
            now() + make_interval(secs => :lease))""").bindparams(bindparam("parameters", type_=JSONB))
_IS_PENDING = text("""
    SELECT EXISTS (SELECT FROM eai.jobs
                    WHERE tenant_id = :tenant AND state IN ('queued', 'running')
                      AND name = :name AND parameters = :parameters)""").bindparams(
    bindparam("parameters", type_=JSONB)
)
_CLAIM = text("""
    UPDATE eai.jobs
       SET state = 'running', attempt = attempt + 1, failures = failures + 1,
           lease_until = clock_timestamp() + make_interval(secs => :lease), updated_at = now()
     WHERE tenant_id = :tenant AND id = :job
       AND (state = 'queued' OR (state = 'running' AND lease_until < clock_timestamp()))
       AND (:alone OR failures <> :last)
    RETURNING name, attempt, failures, parameters, progress""")
_NEEDS_SOLITUDE = text("""
    SELECT 1 FROM eai.jobs
     WHERE tenant_id = :tenant AND id = :job AND failures = :last
       AND (state = 'queued' OR (state = 'running' AND lease_until < clock_timestamp()))""")
_CONFIRM = text("""
    UPDATE eai.jobs
       SET lease_until = clock_timestamp() + make_interval(secs => :lease),
           progress = progress || :progress, updated_at = now()
     WHERE tenant_id = :tenant AND id = :job AND attempt = :attempt AND state = 'running'
    RETURNING progress""").bindparams(bindparam("progress", type_=JSONB))
_HOLDS = text("""
    SELECT EXISTS (SELECT FROM eai.jobs
                    WHERE tenant_id = :tenant AND id = :job AND attempt = :attempt AND state = 'running')""")
_COMPLETE = text("""
    UPDATE eai.jobs
       SET state = 'completed', lease_until = NULL, progress = progress || :progress, updated_at = now()
     WHERE tenant_id = :tenant AND id = :job AND attempt = :attempt AND state = 'running'""").bindparams(
    bindparam("progress", type_=JSONB)
)
_FAIL = text("""
    UPDATE eai.jobs SET state = 'failed', lease_until = NULL, error = :error, updated_at = now()
     WHERE tenant_id = :tenant AND id = :job AND attempt = :attempt AND state = 'running'""").bindparams(
    bindparam("error", type_=JSONB)
)
_CANCEL = text("""
    UPDATE eai.jobs SET state = 'cancelled', lease_until = NULL, updated_at = now()
     WHERE tenant_id = :tenant AND id = :job AND state IN ('queued', 'running')""")
_ABANDON = text("""
    UPDATE eai.jobs SET state = 'cancelled', lease_until = NULL, updated_at = now()
     WHERE tenant_id = :tenant AND id = :job AND attempt = :attempt AND state = 'running'""")
_PARAMETERS = text("SELECT parameters FROM eai.jobs WHERE tenant_id = :tenant AND id = :job")
_HAND_BACK = text("""
    UPDATE eai.jobs
       SET state = 'queued', failures = LEAST(failures - :refund, :most), updated_at = now(),
           lease_until = clock_timestamp() + make_interval(secs => :after)
     WHERE tenant_id = :tenant AND id = :job AND attempt = :attempt AND state = 'running'""")
# A queued row whose time has come and that nobody claimed has lost its message, or its worker is slow:
# announcing it twice is harmless, because only one claim succeeds. A row that is held is being settled.
_EXPIRED = text("""
    UPDATE eai.jobs
       SET state = 'queued', lease_until = clock_timestamp() + make_interval(secs => :lease)
     WHERE tenant_id = :tenant AND id IN (
           SELECT id FROM eai.jobs
            WHERE tenant_id = :tenant
              AND ((state = 'running' AND lease_until < clock_timestamp())
                   OR (state = 'queued' AND lease_until < clock_timestamp() - make_interval(secs => :lease)))
              FOR UPDATE SKIP LOCKED)
    RETURNING id, name""")
