"""Removes what is due: one job of a tenant at a time, document by document, taken up again when it dies.

What has expired is out of sight and under a receipt with the commit that says so; the rest is due still, so
that an attempt that follows another needs no cursor.
"""

import time
from collections import deque
from collections.abc import Mapping
from uuid import UUID, uuid4

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import LEVELS
from eai.audit.actions import AuditAction
from eai.audit.entries import SYSTEM, Resource
from eai.audit.service import Audit
from eai.audit.timestamps import timestamp
from eai.kernel.errors import EaiError
from eai.kernel.ids import BaseId, DocumentId, JobId, PrincipalId, TenantId
from eai.knowledge.bases.access import base_of_tenant
from eai.knowledge.documents.deletion import begin_deletion
from eai.knowledge.documents.repository import DocumentRows
from eai.knowledge.legal_hold_rows import LegalHoldRows
from eai.platform.database import Database
from eai.platform.handlers import Group, JobHandler
from eai.platform.jobs import JobRun, Jobs
from eai.retention.repository import Due, DueRows, ExpirationRows, Looked, RetentionPolicyRows
from eai.tenants.repository import TenantRows, list_tenant_ids

EXPIRE = "retention.expire"
QUIET_START_S = 60.0
"""A process that has just started has other things to do."""

_FIRST = UUID(int=0)


class Expiry:
    """One per process."""

    def __init__(self, database: Database, jobs: Jobs, audit: Audit) -> None:
        self._database = database
        self._jobs = jobs
        self._audit = audit
        self._turns: deque[TenantId] = deque()
        self._next_turns_at: float | None = None

    def handlers(self) -> Mapping[str, JobHandler]:
        """What a worker runs for each job of this slice."""
        return {EXPIRE: JobHandler(self.run, self.give_up, Group.MAINTENANCE)}

    async def queue_due(self, interval_s: float) -> None:
        """Queue the look at one tenant at most: whatever has to be done soon goes first. 0 is never."""
        if not interval_s:
            return
        now = time.monotonic()
        if self._next_turns_at is None:
            self._next_turns_at = now + min(QUIET_START_S, interval_s)
        if not self._turns and now >= self._next_turns_at:
            self._turns.extend(await list_tenant_ids(self._database))
            self._next_turns_at = now + interval_s
        if self._turns:
            await self.queue(self._turns.popleft())

    async def queue(self, tenant: TenantId) -> JobId | None:
        """Queue the look at a tenant; None where nothing can be due, or one is queued or under way."""
        async with self._database.transaction(tenant) as session:
            if not await RetentionPolicyRows(session, tenant).has_any():
                return None
            await TenantRows(session, tenant).hold()
            if await self._jobs.is_pending(session, tenant, EXPIRE, {}):
                return None
            job = JobId(uuid4())
            await self._jobs.create(session, tenant, job, EXPIRE, {})
            return job

    async def run(self, run: JobRun) -> None:
        """Have everything removed that is due and not held. Raises Fenced."""
        after: UUID | None = _FIRST
        expired = int(run.progress.get("documents_done", 0))
        while after is not None:
            due, after = await self._next(run, after)
            for document in due:
                expired += await self._expire(run, document, expired)
        async with self._database.transaction(run.tenant) as session:
            await self._jobs.complete(session, run, {"documents_done": expired})

    async def give_up(self, run: JobRun, error: EaiError) -> None:
        """Close the job; the next look begins anew."""
        async with self._database.transaction(run.tenant) as session:
            await self._jobs.fail(session, run, error)

    async def _next(self, run: JobRun, after: UUID) -> Looked[DocumentId]:
        async with self._database.transaction(run.tenant) as session:
            await self._jobs.confirm(session, run)
            return await DueRows(session, run.tenant).next(after)

    async def _expire(self, run: JobRun, document: DocumentId, expired: int) -> bool:
        """Have one document removed, unless it was replaced, held or removed since it was looked at."""
        async with self._database.transaction(run.tenant) as session:
            await self._jobs.confirm(session, run)
            due = await _hold_due(session, run.tenant, document)
            if due is None:
                return False
            await self._remove(session, run.tenant, due)
            await self._jobs.confirm(session, run, {"documents_done": expired + 1}, is_further=True)
            await self._audit.record(
                session,
                SYSTEM,
                AuditAction.DOCUMENT_EXPIRE,
                tenant=run.tenant,
                resource=Resource("document", str(document)),
                facts={
                    "base": str(due.base),
                    "policy": str(due.policy),
                    "keep_days": due.keep_days,
                    "level": LEVELS[due.level].value,
                    "due_at": timestamp(due.due_at),
                },
            )
            return True

    async def _remove(self, session: AsyncSession, tenant: TenantId, due: Due) -> None:
        base = await base_of_tenant(session, tenant, str(due.base))
        if base is None:
            return
        # The receipt is for whoever made the policy, too; a receipt that nobody asked for would tell a
        # repeated submission that its document was never taken in.
        asked_by = None if due.asked_by is None else PrincipalId(due.asked_by)
        await begin_deletion(session, self._jobs, base, DocumentId(due.document), asked_by)
        await ExpirationRows(session, tenant).add(
            {
                "id": due.document,
                "base_id": due.base,
                "policy_id": due.policy,
                "keep_days": due.keep_days,
                "classification": due.level,
                "due_at": due.due_at,
            }
        )


async def _hold_due(session: AsyncSession, tenant: TenantId, document: DocumentId) -> Due | None:
    """The document, if it is still due and nothing holds it; both stay so until the transaction ends."""
    rows = DueRows(session, tenant)
    seen = await rows.find(document)
    if seen is None:
        return None
    base = BaseId(seen.base)
    if await DocumentRows(session, tenant, base).lock(document) is None:
        return None
    if await LegalHoldRows(session, tenant).is_held(base, document):
        return None
    # Once more, now that nobody can bring it another text.
    return await rows.find(document)
