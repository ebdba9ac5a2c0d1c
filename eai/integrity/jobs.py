"""Examinations and repairs as jobs: one of a tenant at a time, taken up again when their process dies."""

import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from uuid import uuid4

import structlog
from sqlalchemy.ext.asyncio import AsyncSession

from eai.audit.actions import AuditAction
from eai.audit.entries import SYSTEM, Resource
from eai.audit.service import Audit
from eai.integrity.errors import VectorStoreNotOurs
from eai.integrity.findings import OF_THE_INDEX, REPAIRABLE, UNASKED, Found, Kind
from eai.integrity.mending import RowMending
from eai.integrity.mending_rows import MendingRows
from eai.integrity.ownership import StoreOwnership
from eai.integrity.rebuilding import Rebuilding
from eai.integrity.service import Examination, Integrity
from eai.kernel.errors import EaiError
from eai.kernel.ids import PLATFORM_TENANT, JobId, TenantId
from eai.knowledge.ports import VectorStoreUnavailable
from eai.platform import metrics
from eai.platform.database import Database
from eai.platform.handlers import Group, JobHandler
from eai.platform.jobs import JobRun, Jobs
from eai.tenants.repository import TenantRows, list_tenant_ids

CHECK = "integrity.check"
REPAIR = "integrity.repair"
ROUNDS = 2
"""A repair looks again after it: what one contradiction hid is mended then."""
QUIET_START_S = 60.0
"""A process that has just started has other things to do."""

_log = structlog.get_logger(__name__)


class IntegrityJobs:
    """One per process."""

    def __init__(
        self,
        database: Database,
        jobs: Jobs,
        audit: Audit,
        *,
        integrity: Integrity,
        mending: RowMending,
        rebuilding: Rebuilding,
        ownership: StoreOwnership,
    ) -> None:
        self._database = database
        self._jobs = jobs
        self._audit = audit
        self._integrity = integrity
        self._mending = mending
        self._rebuilding = rebuilding
        self._ownership = ownership
        self._turns: deque[TenantId] = deque()
        self._next_turns_at: float | None = None

    def handlers(self) -> Mapping[str, JobHandler]:
        """What a worker runs for each job of this slice."""
        return {
            CHECK: JobHandler(self.check, self.give_up, Group.MAINTENANCE),
            REPAIR: JobHandler(self.repair, self.give_up, Group.MAINTENANCE),
        }

    async def queue_due(self, interval_s: float) -> None:
        """Queue the examination of one tenant at most: whatever has to be done soon goes first.

        A tenant is due when its last report is older than `interval_s`; 0 is never.
        """
        if not interval_s:
            return
        now = time.monotonic()
        if self._next_turns_at is None:
            self._next_turns_at = now + min(QUIET_START_S, interval_s)
        if not self._turns and now >= self._next_turns_at:
            self._turns.extend(await list_tenant_ids(self._database))
            self._next_turns_at = now + interval_s / 10
        if self._turns:
            tenant = self._turns.popleft()
            async with self._database.transaction(tenant) as session:
                if await MendingRows(session, tenant).is_due(interval_s):
                    await self._create(session, tenant, CHECK, {})

    async def queue_repair(self, tenant: TenantId, *, is_deep: bool) -> JobId | None:
        """Queue a repair of `tenant`; None when one is queued or under way."""
        async with self._database.transaction(tenant) as session:
            return await self._create(session, tenant, REPAIR, {"is_deep": is_deep})

    async def pending_repair(self, tenant: TenantId) -> JobId | None:
        """The repair of `tenant` that is queued or under way, whoever asked for it."""
        async with self._database.transaction(tenant) as session:
            return await MendingRows(session, tenant).job_pending(REPAIR)

    async def adopt_index(self) -> None:
        """Take the store from whoever had it, on a person's word. Raises VectorStoreUnavailable."""
        async with self._database.transaction(PLATFORM_TENANT) as session:
            await self._audit.record(
                session,
                SYSTEM,
                AuditAction.INTEGRITY_ADOPT_INDEX,
                tenant=PLATFORM_TENANT,
                resource=Resource("tenant", str(PLATFORM_TENANT)),
            )
        await self._ownership.adopt()

    async def check(self, run: JobRun) -> None:
        """Examine a tenant, and put the index right: it is made of rows, so that nothing is lost by it.

        Whatever else is found waits for a person. Raises Fenced.
        """
        if run.tenant == PLATFORM_TENANT:
            await self._take_store()
        examination = await self._integrity.examine(run.tenant)
        mended = Counter(_counts([f for f in examination.found if f.kind in UNASKED]))
        if mended:
            examination = await self._mended(run, examination, UNASKED, is_deep=False)
        await self._close(run, examination, mended - Counter(_counts(examination.found)))

    async def repair(self, run: JobRun) -> None:
        """Examine a tenant and mend what can be mended. Raises Fenced."""
        is_deep = bool(run.parameters.get("is_deep"))
        examination = await self._integrity.examine(run.tenant, is_deep=is_deep)
        mended: Counter[str] = Counter()
        for _ in range(ROUNDS):
            broken = [each for each in examination.found if each.kind in REPAIRABLE]
            if not broken:
                break
            mended |= Counter(_counts(broken))
            examination = await self._mended(run, examination, REPAIRABLE, is_deep=is_deep)
        left = Counter(_counts(examination.found))
        await self._close(run, examination, mended - left)

    async def give_up(self, run: JobRun, error: EaiError) -> None:
        """Close the job; the next one begins anew."""
        async with self._database.transaction(run.tenant) as session:
            await self._jobs.fail(session, run, error)

    async def _mended(
        self, run: JobRun, examination: Examination, kinds: frozenset[Kind], *, is_deep: bool
    ) -> Examination:
        found = [each for each in examination.found if each.kind in kinds]
        if any(each.kind in OF_THE_INDEX for each in found) and not await self._may_mend_index(run.tenant):
            found = [each for each in found if each.kind not in OF_THE_INDEX]
        await self._mending.mend(run, found, examination.found)
        await self._rebuilding.mend(run, found)
        return await self._integrity.examine(run.tenant, is_deep=is_deep)

    async def _may_mend_index(self, tenant: TenantId) -> bool:
        try:
            await self._ownership.require()
        except VectorStoreNotOurs as error:
            _log.warning("integrity.refused", tenant=str(tenant), code=error.code)
            return False
        return True

    async def _take_store(self) -> None:
        """Note whose the store is while nobody else is at it, so that nobody else can take it later."""
        with suppress(VectorStoreUnavailable):
            await self._ownership.take_own()

    async def _close(self, run: JobRun, examination: Examination, mended: Mapping[str, int]) -> None:
        report = examination.report
        async with self._database.transaction(run.tenant) as session:
            await MendingRows(session, run.tenant).keep_report(
                [finding.to_json() for finding in report.findings], mended, examination.failed
            )
            await self._jobs.complete(session, run)
            if mended:
                await self._audit.record(
                    session,
                    SYSTEM,
                    AuditAction.INTEGRITY_REPAIR,
                    tenant=run.tenant,
                    resource=Resource("tenant", str(run.tenant)),
                    facts={"mended": dict(mended), "left": _counts(examination.found)},
                )
        tell(examination, mended)

    async def _create(
        self, session: AsyncSession, tenant: TenantId, name: str, parameters: Mapping[str, bool]
    ) -> JobId | None:
        await TenantRows(session, tenant).hold()
        if await MendingRows(session, tenant).job_pending(name) is not None:
            return None
        job = JobId(uuid4())
        await self._jobs.create(session, tenant, job, name, parameters)
        return job


def tell(examination: Examination, mended: Mapping[str, int]) -> None:
    """Leave what was found in the log and in the metrics."""
    report = examination.report
    for kind, count in (Counter(mended) + Counter(_counts(examination.found))).items():
        metrics.INTEGRITY_FINDINGS.labels(kind).inc(count)
    metrics.INTEGRITY_LAST_RUN.set_to_current_time()
    say = _log.warning if report.findings or mended else _log.info
    say(
        "integrity.examined",
        tenant=str(report.tenant),
        found=_counts(examination.found),
        mended=dict(mended),
        failed=list(examination.failed),
    )


def _counts(found: Sequence[Found]) -> dict[str, int]:
    return dict(Counter(str(each.kind) for each in found))
