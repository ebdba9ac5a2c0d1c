"""Mends rows: what other rows prove, in transactions that hold what they change, or by the jobs there are.

Rows are mended before the index that is their projection. A document whose rows changed is followed by the
same jobs that follow a change of rights or a deletion, so that whoever else works on it takes turns.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from uuid import UUID, uuid4

from sqlalchemy.ext.asyncio import AsyncSession

from eai.audit.actions import AuditAction
from eai.audit.entries import SYSTEM, Resource
from eai.audit.service import Audit
from eai.finops.expiry import ExpiredCalls
from eai.integrity.errors import ProcessingInterrupted
from eai.integrity.findings import Found, Kind
from eai.integrity.mending_rows import Going, MendingRows, Version
from eai.integrity.repository import ExaminationRows
from eai.integrity.rules import rights_of
from eai.integrity.statistics import missing_from
from eai.kernel.ids import BaseId, DocumentId, GenerationId, JobId, TenantId
from eai.knowledge.bases.deletion import DELETE_BASE
from eai.knowledge.bases.repository import BaseRows
from eai.knowledge.chunks.alignment import file_chunks
from eai.knowledge.documents.deletion import DELETE_DOCUMENT
from eai.knowledge.documents.repository import DocumentRows
from eai.knowledge.documents.serving import MOVE_RIGHTS, RETIRE_VERSION
from eai.knowledge.documents.version_rows import set_status
from eai.knowledge.receipts.repository import ReceiptRows
from eai.knowledge.statistics.repository import StatisticRows
from eai.platform.database import Database
from eai.platform.jobs import JobRun, Jobs

FOLLOWING = (MOVE_RIGHTS, RETIRE_VERSION, DELETE_DOCUMENT, DELETE_BASE)
"""Jobs that a repair may leave behind: what it began ends with them."""

_DOUBTFUL = {Kind.DOCUMENT_SERVES_WRONG_VERSION, Kind.DOCUMENT_WITHOUT_CHUNKS}


class RowMending:
    """Mends what is wrong with rows; harmless to repeat, and at any point to interrupt."""

    def __init__(self, database: Database, jobs: Jobs, audit: Audit, expired_calls: ExpiredCalls) -> None:
        self._database = database
        self._jobs = jobs
        self._audit = audit
        self._expired_calls = expired_calls

    async def mend(self, run: JobRun, found: Sequence[Found], seen: Sequence[Found]) -> None:
        """Mend everything in `found` that rows prove, in view of all that was `seen`. Raises Fenced."""
        by_kind: Mapping[Kind, list[Found]] = _by_kind(found)
        await self._mend_classes(run.tenant, by_kind[Kind.RIGHTS_CLASS_WRONG])
        await self._mend_bases(run.tenant, by_kind[Kind.BASE_GENERATION_WRONG])
        await self._refile(run.tenant, by_kind[Kind.CHUNK_MISFILED])
        await self._realign(run.tenant, by_kind[Kind.CHUNK_CLASS_WRONG])
        await self._retire(run.tenant, by_kind[Kind.CHUNK_NOT_SERVING], _ids(seen, _DOUBTFUL))
        await self._fail_stuck(run.tenant, by_kind[Kind.DOCUMENT_STUCK])
        await self._cancel(run.tenant, by_kind[Kind.JOB_TARGET_MISSING])
        deletions = [*by_kind[Kind.DELETION_UNFINISHED], *by_kind[Kind.RECEIPT_MISSING]]
        await self._resume_deletions(run.tenant, deletions)
        if by_kind[Kind.RESERVATION_EXPIRED]:
            await self._expired_calls.close_due()
        if by_kind[Kind.QUOTA_RESERVED_WRONG] or by_kind[Kind.QUOTA_USED_WRONG]:
            async with self._database.transaction(run.tenant) as session:
                await MendingRows(session, run.tenant).recount_quotas()
        if by_kind[Kind.STATISTICS_WRONG] or by_kind[Kind.CHUNK_CLASS_WRONG]:
            await self._recount(run)

    async def _mend_classes(self, tenant: TenantId, found: Sequence[Found]) -> None:
        if not found:
            return
        wanted = {each.where for each in found}
        async with self._database.transaction(tenant) as session:
            for row in await ExaminationRows(session, tenant).classes():
                if (row.base_id, row.number) in wanted:
                    digest = rights_of(row).digest
                    await MendingRows(session, tenant).set_digest(row.base_id, row.number, digest)

    async def _mend_bases(self, tenant: TenantId, found: Sequence[Found]) -> None:
        for each in found:
            async with self._database.transaction(tenant) as session:
                await MendingRows(session, tenant).follow_generation(UUID(each.id))

    async def _refile(self, tenant: TenantId, found: Sequence[Found]) -> None:
        if found:
            async with self._database.transaction(tenant) as session:
                await MendingRows(session, tenant).refile([UUID(each.id) for each in found])

    async def _realign(self, tenant: TenantId, found: Sequence[Found]) -> None:
        """Give chunks the class that their rights have, one document at a time; statistics come after."""
        for base, document in {(b, d): None for b, d, _ in await self._documents_of(tenant, found)}:
            async with self._database.transaction(tenant) as session:
                row = await DocumentRows(session, tenant, base).lock_any(document)
                if row is None:
                    continue
                await file_chunks(session, row)
                await self._queue(session, tenant, MOVE_RIGHTS, base=base, document=document)

    async def _retire(self, tenant: TenantId, found: Sequence[Found], doubtful: Collection[str]) -> None:
        """Remove what does not serve, unless it is in doubt what should: a vector lost is a model's call."""
        for base, document, version in await self._documents_of(tenant, found):
            async with self._database.transaction(tenant) as session:
                row = await DocumentRows(session, tenant, base).lock_any(document)
                if row is not None and row.serving_version_id != version and str(document) not in doubtful:
                    ids = {"base": base, "document": document, "version": version}
                    await self._queue(session, tenant, RETIRE_VERSION, **ids)

    async def _documents_of(
        self, tenant: TenantId, found: Sequence[Found]
    ) -> Sequence[tuple[BaseId, DocumentId, UUID]]:
        if not found:
            return []
        async with self._database.transaction(tenant) as session:
            return await MendingRows(session, tenant).documents_of([UUID(each.id) for each in found])

    async def _fail_stuck(self, tenant: TenantId, found: Sequence[Found]) -> None:
        """Nobody works on them, nor will: whoever sent them can try again once they are called failed."""
        for each in found:
            async with self._database.transaction(tenant) as session:
                for version in await MendingRows(session, tenant).versions([each.id]):
                    await self._fail(session, tenant, version)

    async def _fail(self, session: AsyncSession, tenant: TenantId, version: Version) -> None:
        error = {"code": ProcessingInterrupted.code, "details": {}}
        if not await set_status(session, tenant, version.id, "failed", error):
            return
        await self._audit.record(
            session,
            SYSTEM,
            AuditAction.DOCUMENT_FAILED,
            tenant=tenant,
            resource=Resource("document", str(version.document)),
            facts={
                "base": str(version.base),
                "version": str(version.id),
                "code": ProcessingInterrupted.code,
            },
        )

    async def _cancel(self, tenant: TenantId, found: Sequence[Found]) -> None:
        if found:
            async with self._database.transaction(tenant) as session:
                await MendingRows(session, tenant).cancel_jobs([each.id for each in found])

    async def _resume_deletions(self, tenant: TenantId, found: Sequence[Found]) -> None:
        """Have a worker go on with what was promised, under a receipt."""
        for each in sorted({each.id for each in found}):
            async with self._database.transaction(tenant) as session:
                for going in await MendingRows(session, tenant).going([each]):
                    await self._resume(session, tenant, going)

    async def _resume(self, session: AsyncSession, tenant: TenantId, going: Going) -> None:
        kind, identity, base, readers, classification = going
        receipts = ReceiptRows(session, tenant)
        if await receipts.find(identity) is None:
            generations = await BaseRows(session, tenant).generations(BaseId(base))
            await receipts.open(
                {
                    "id": identity,
                    "kind": kind,
                    "base_id": base,
                    "readers": readers,
                    "classification": classification,
                    "generations": [generation.id for generation in generations],
                }
            )
        is_document = kind == "document"
        ids = {"base": base, "document": identity} if is_document else {"base": base}
        name = DELETE_DOCUMENT if is_document else DELETE_BASE
        parameters = {key: str(value) for key, value in ids.items()}
        if not await self._jobs.is_pending(session, tenant, name, parameters):
            job = await self._queue(session, tenant, name, **ids)
            await MendingRows(session, tenant).note_job(identity, job)

    async def _recount(self, run: JobRun) -> None:
        """Add to the statistics what is missing from them: a difference, so that writers need not wait.

        The transaction that adds it is fenced: an attempt that was overtaken must not add it once more.
        """
        async with self._database.transaction(run.tenant) as session:
            generations = await ExaminationRows(session, run.tenant).generations()
        for generation in (each.id for each in generations if each.is_counted):
            tally = await missing_from(self._database, run.tenant, generation)
            async with self._database.transaction(run.tenant) as session:
                await self._jobs.confirm(session, run)
                await StatisticRows(session, run.tenant, GenerationId(generation)).apply(tally)
                await MendingRows(session, run.tenant).drop_empty_statistics(generation)

    async def _queue(self, session: AsyncSession, tenant: TenantId, name: str, **ids: UUID) -> JobId:
        job = JobId(uuid4())
        await self._jobs.create(session, tenant, job, name, {key: str(value) for key, value in ids.items()})
        return job


def _ids(found: Sequence[Found], kinds: Collection[Kind]) -> set[str]:
    return {each.id for each in found if each.kind in kinds}


def _by_kind(found: Sequence[Found]) -> Mapping[Kind, list[Found]]:
    by_kind: defaultdict[Kind, list[Found]] = defaultdict(list)
    for each in found:
        by_kind[each.kind].append(each)
    return by_kind
