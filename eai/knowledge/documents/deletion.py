"""Deletes documents: out of sight at once, then out of the index, then out of the rows.

The row that says "deleting" outlives the points, never the reverse. Each step can be repeated, so a
deletion that anything interrupts is taken up again by a worker until it is done.
"""

from collections.abc import Sequence
from uuid import UUID, uuid4

from sqlalchemy import func
from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.subject import Subject
from eai.audit.actions import AuditAction
from eai.audit.entries import SYSTEM, Resource
from eai.audit.service import Audit
from eai.kernel.errors import NotFound, Unavailable
from eai.kernel.ids import BaseId, DocumentId, JobId, PrincipalId, TenantId, VersionId
from eai.knowledge.bases.handle import BaseHandle, StoredGeneration
from eai.knowledge.bases.repository import BaseRows
from eai.knowledge.chunks.alignment import apply_tallies, uncounted
from eai.knowledge.chunks.repository import ChunkRows
from eai.knowledge.documents.access import hold_document
from eai.knowledge.documents.levels import effective_level
from eai.knowledge.documents.repository import DocumentRows
from eai.knowledge.documents.schemas import ReceiptOut
from eai.knowledge.legal_hold_rows import LegalHoldRows
from eai.knowledge.models import KnowledgeDocument
from eai.knowledge.points import Points
from eai.knowledge.ports import Vectors, VectorStoreUnavailable
from eai.knowledge.receipts.removal import PointRemoval
from eai.knowledge.receipts.repository import ReceiptRows
from eai.knowledge.receipts.service import receipt_out
from eai.platform.database import Database
from eai.platform.jobs import Fenced, JobRun, Jobs

DELETE_DOCUMENT = "knowledge.delete_document"
RETRY_AFTER_S = 2


class Deletions:
    """Deletes documents, with a receipt."""

    def __init__(self, database: Database, vectors: Vectors, jobs: Jobs, audit: Audit) -> None:
        self._database = database
        self._removal = PointRemoval(database, Points(vectors), jobs)
        self._jobs = jobs
        self._audit = audit

    async def delete(
        self, subject: Subject, base_reference: str, reference: str, revision: int | None
    ) -> ReceiptOut:
        """Delete a document and return the receipt.

        Raises NotFound, PermissionMissing, PreconditionFailed, UnderLegalHold, and VectorStoreUnavailable
        when the store does not answer: the document is gone from sight all the same, and a worker goes on.
        """
        async with self._database.transaction(subject.tenant) as session:
            base, row = await hold_document(session, subject, base_reference, reference, revision)
            await LegalHoldRows(session, subject.tenant).refuse_removal(base.id, DocumentId(row.id))
            job = JobId(uuid4())
            parameters = _parameters(base.id, DocumentId(row.id))
            run = await self._jobs.begin(
                session, subject.tenant, job, DELETE_DOCUMENT, parameters, principal=subject.principal
            )
            generations = await _mark(session, base, row, job, subject.principal)
            await self._audit.record(
                session,
                subject,
                AuditAction.DOCUMENT_DELETE,
                resource=Resource("document", str(row.id)),
                facts={"base": str(base.id)},
            )
        try:
            receipt = await self._remove(run, generations, base.id, DocumentId(row.id))
        except Fenced:
            # A worker took over because this took long; it may even be done.
            return await self._receipt(run)
        except Unavailable as error:
            await self._hand_back(run)
            # It is out of sight for good, and goes on: this is where to see how far it is.
            error.details["receipt_id"] = str(row.id)
            raise
        if receipt is None:
            raise NotFound
        return receipt

    async def run(self, run: JobRun) -> None:
        """Remove points, then rows; harmless to repeat. Raises VectorStoreUnavailable, Fenced."""
        base, document = BaseId(UUID(run.parameters["base"])), DocumentId(UUID(run.parameters["document"]))
        await self._remove(run, await self._removal.generations(run, base), base, document)

    async def _remove(
        self, run: JobRun, generations: Sequence[StoredGeneration], base: BaseId, document: DocumentId
    ) -> ReceiptOut | None:
        await self._removal.run(run, generations, base, document)
        return await self._remove_rows(run, base, document)

    async def _remove_rows(self, run: JobRun, base: BaseId, document: DocumentId) -> ReceiptOut | None:
        async with self._database.transaction(run.tenant) as session:
            await self._jobs.confirm(session, run)
            rows = DocumentRows(session, run.tenant, base)
            row = await rows.lock_any(document)
            receipts = ReceiptRows(session, run.tenant)
            if row is not None:
                await receipts.add(document, documents=1, chunks=await _remove_chunks(session, base, row))
                await rows.delete(document)
            await receipts.close(document, remaining=0)
            receipt = await receipts.find(document)
            await self._jobs.complete(session, run)
            await self._audit.record(
                session,
                SYSTEM,
                AuditAction.DOCUMENT_DELETED,
                tenant=run.tenant,
                resource=Resource("document", str(document)),
                facts={
                    "base": str(base),
                    "chunks_removed": receipt.chunks_removed if receipt else 0,
                    "vectors_removed": receipt.vectors_removed if receipt else 0,
                    "vectors_remaining": 0,
                },
            )
            return None if receipt is None else receipt_out(receipt)

    async def _receipt(self, run: JobRun) -> ReceiptOut:
        async with self._database.transaction(run.tenant) as session:
            row = await ReceiptRows(session, run.tenant).find(UUID(run.parameters["document"]))
        if row is None:
            raise NotFound
        if row.status != "deleted":
            raise VectorStoreUnavailable(receipt_id=str(row.id))
        return receipt_out(row)

    async def _hand_back(self, run: JobRun) -> None:
        try:
            async with self._database.transaction(run.tenant) as session:
                await self._jobs.hand_back(session, run, after_s=RETRY_AFTER_S, counts_as_failure=False)
        except (Unavailable, Fenced):
            # The lease runs out, and then a worker takes it up.
            return


async def begin_deletion(
    session: AsyncSession,
    jobs: Jobs,
    base: BaseHandle,
    document: DocumentId,
    requested_by: PrincipalId | None,
) -> None:
    """Take a document out of sight, and have a worker remove it. A document that is gone already is fine."""
    row = await DocumentRows(session, base.tenant, base.id).lock(document)
    if row is None:
        return
    job = JobId(uuid4())
    parameters = _parameters(base.id, document)
    await jobs.create(session, base.tenant, job, DELETE_DOCUMENT, parameters, principal=requested_by)
    await _mark(session, base, row, job, requested_by)


async def _mark(
    session: AsyncSession,
    base: BaseHandle,
    row: KnowledgeDocument,
    job: JobId,
    requested_by: PrincipalId | None,
) -> Sequence[StoredGeneration]:
    """Take the document out of sight; tells where its points may be: no generation to come will have any."""
    document = DocumentId(row.id)
    generations = await BaseRows(session, base.tenant).generations(base.id)
    await DocumentRows(session, base.tenant, base.id).update(document, {"deleting_since": func.now()})
    await ReceiptRows(session, base.tenant).open(
        {
            "id": document,
            "kind": "document",
            "base_id": base.id,
            "readers": row.readers,
            "classification": effective_level(base, row).rank,
            "generations": [generation.id for generation in generations],
            "job_id": job,
            "requested_by": requested_by,
        }
    )
    return generations


async def _remove_chunks(session: AsyncSession, base: BaseId, row: KnowledgeDocument) -> int:
    tenant, document = TenantId(row.tenant_id), DocumentId(row.id)
    if row.serving_version_id is not None:
        serving = VersionId(row.serving_version_id)
        await apply_tallies(session, tenant, await uncounted(session, tenant, base, document, serving))
    return await ChunkRows(session, tenant).delete_of_document(document)


def _parameters(base: BaseId, document: DocumentId) -> dict[str, str]:
    return {"base": str(base), "document": str(document)}
