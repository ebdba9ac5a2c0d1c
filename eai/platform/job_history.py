"""Jobs as whoever asked for them may follow them: how one stands, and every change that led there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Row, text
from sqlalchemy.ext.asyncio import AsyncSession

from eai.kernel.ids import JobId, PrincipalId, TenantId

FINAL = frozenset({"completed", "failed", "cancelled"})


@dataclass(frozen=True, slots=True)
class JobStatus:
    """A job as it was once `event` of its changes had happened."""

    id: JobId
    name: str
    event: int
    state: str
    attempt: int
    progress: Mapping[str, Any]
    error: Mapping[str, Any] | None
    parameters: Mapping[str, Any]
    principal: UUID | None
    created_at: datetime
    updated_at: datetime

    @property
    def is_final(self) -> bool:
        """Whether nothing more will come."""
        return self.state in FINAL


async def job_status(
    session: AsyncSession, tenant: TenantId, job: JobId, principal: PrincipalId | None
) -> JobStatus | None:
    """How the job stands; only if `principal` asked for it, unless that is None."""
    found = await session.execute(_NEWEST, {"tenant": tenant, "job": job, "principal": principal})
    row = found.one_or_none()
    return None if row is None else _status(row)


async def job_changes(
    session: AsyncSession, tenant: TenantId, job: JobId, *, after: int
) -> Sequence[JobStatus]:
    """What happened to the job after that event, the oldest first; a hundred at most."""
    found = await session.execute(_CHANGES, {"tenant": tenant, "job": job, "after": after})
    return [_status(row) for row in found]


def _status(row: Row[Any]) -> JobStatus:
    return JobStatus(**row._mapping)  # noqa: SLF001 - how the library calls it


_NEWEST = text("""
    SELECT j.id, j.name, e.seq AS event, e.state, e.attempt, e.progress, e.error, j.parameters,
           j.principal_id AS principal, j.created_at, e.at AS updated_at
      FROM eai.jobs j JOIN eai.job_events e ON e.tenant_id = j.tenant_id AND e.job_id = j.id
     WHERE j.tenant_id = :tenant AND j.id = :job
       AND (CAST(:principal AS uuid) IS NULL OR j.principal_id = :principal)
     ORDER BY e.seq DESC LIMIT 1""")
_CHANGES = text("""
    SELECT j.id, j.name, e.seq AS event, e.state, e.attempt, e.progress, e.error, j.parameters,
           j.principal_id AS principal, j.created_at, e.at AS updated_at
      FROM eai.jobs j JOIN eai.job_events e ON e.tenant_id = j.tenant_id AND e.job_id = j.id
     WHERE j.tenant_id = :tenant AND j.id = :job AND e.seq > :after
     ORDER BY e.seq LIMIT 100""")
