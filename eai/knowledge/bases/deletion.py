"""Deletes bases: out of sight at once, then all points, then all rows, by a worker."""

from collections.abc import Sequence
from uuid import UUID, uuid4

from sqlalchemy import func
from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.subject import Subject
from eai.audit.actions import AuditAction
from eai.audit.entries import SYSTEM, Resource
from eai.audit.service import Audit
from eai.kernel.errors import NotFound
from eai.kernel.ids import BaseId, JobId
from eai.knowledge.bases.access import managed
from eai.knowledge.bases.handle import StoredGeneration
from eai.knowledge.bases.repository import BaseRows
from eai.knowledge.chunks.repository import ChunkRows
from eai.knowledge.documents.repository import DocumentRows
from eai.knowledge.documents.schemas import ReceiptOut
from eai.knowledge.legal_hold_rows import LegalHoldRows
from eai.knowledge.points import Points
from eai.knowledge.ports import Vectors
from eai.knowledge.receipts.removal import PointRemoval
from eai.knowledge.receipts.repository import ReceiptRows
from eai.knowledge.receipts.service import receipt_out
from eai.platform.database import Database
from eai.platform.jobs import JobRun, Jobs

DELETE_BASE = "knowledge.delete_base"
CHUNKS_PER_STEP = 2_000
DOCUMENTS_PER_STEP = 200


class BaseDeletions:
    """Deletes bases, with a receipt."""

    def __init__(self, database: Database, vectors: Vectors, jobs: Jobs, audit: Audit) -> None:
        self._database = database
        self._points = Points(vectors)
        self._jobs = jobs
        self._removal = PointRemoval(database, self._points, jobs)
        self._audit = audit

    async def begin(
        self, session: AsyncSession, subject: Subject, reference: str, revision: int | None
    ) -> ReceiptOut:
        """Take the base and all its documents out of sight, and queue the rest.

        Raises NotFound, PermissionMissing, PreconditionFailed, and UnderLegalHold for a base of which
        anything is held.
        """
        base = await managed(session, subject, reference, revision)
        await LegalHoldRows(session, subject.tenant).refuse_removal(base.id)
        rows, receipts = BaseRows(session, subject.tenant), ReceiptRows(session, subject.tenant)
        generations = await rows.generations(base.id)
        job = JobId(uuid4())
        await rows.update(base.id, {"deleting_since": func.now()})
        await receipts.open(
            {
                "id": base.id,
                "kind": "knowledge_base",
                "base_id": base.id,
                "classification": base.classification.rank,
                "generations": [generation.id for generation in generations],
                "job_id": job,
                "requested_by": subject.principal,
            }
        )
        await self._jobs.create(
            session, subject.tenant, job, DELETE_BASE, {"base": str(base.id)}, principal=subject.principal
        )
        receipt = await receipts.find(base.id)
        if receipt is None:
            raise NotFound
        await self._audit.record(
            session,
            subject,
            AuditAction.KNOWLEDGE_BASE_DELETE,
            resource=Resource("knowledge_base", str(base.id)),
        )
        return receipt_out(receipt)

    async def run(self, run: JobRun) -> None:
        """Remove points, chunks, documents and the base; harmless to repeat.

        Raises VectorStoreUnavailable, Fenced.
        """
        base = BaseId(UUID(run.parameters["base"]))
        generations = await self._removal.generations(run, base)
        await self._removal.run(run, generations, base)
        while await self._remove_chunks(run, base) or await self._remove_documents(run, base):
            pass
        await self._finish(run, base, generations)

    async def _remove_chunks(self, run: JobRun, base: BaseId) -> int:
        async with self._database.transaction(run.tenant) as session:
            await self._jobs.confirm(session, run)
            removed = await ChunkRows(session, run.tenant).delete_some(base, CHUNKS_PER_STEP)
            await self._jobs.confirm(session, run, is_further=removed > 0)
            await ReceiptRows(session, run.tenant).add(base, chunks=removed)
        return removed

    async def _remove_documents(self, run: JobRun, base: BaseId) -> int:
        async with self._database.transaction(run.tenant) as session:
            await self._jobs.confirm(session, run)
            rows = DocumentRows(session, run.tenant, base)
            documents = await rows.some_ids(DOCUMENTS_PER_STEP)
            for document in documents:
                await rows.lock_any(document)
                await ChunkRows(session, run.tenant).delete_of_document(document)
                await rows.delete(document)
            await ReceiptRows(session, run.tenant).add(base, documents=len(documents))
        return len(documents)

    async def _finish(self, run: JobRun, base: BaseId, generations: Sequence[StoredGeneration]) -> None:
        # What an ingestion wrote while the rows went can be served no more, but must not stay either.
        await self._points.remove(generations)
        async with self._database.transaction(run.tenant) as session:
            await self._jobs.confirm(session, run)
            await BaseRows(session, run.tenant).delete(base)
            receipts = ReceiptRows(session, run.tenant)
            await receipts.close(base, remaining=0)
            receipt = await receipts.find(base)
            await self._jobs.complete(session, run)
            await self._audit.record(
                session,
                SYSTEM,
                AuditAction.KNOWLEDGE_BASE_DELETED,
                tenant=run.tenant,
                resource=Resource("knowledge_base", str(base)),
                facts={
                    "documents_removed": receipt.documents_removed if receipt else 0,
                    "chunks_removed": receipt.chunks_removed if receipt else 0,
                    "vectors_removed": receipt.vectors_removed if receipt else 0,
                    "vectors_remaining": 0,
                },
            )
