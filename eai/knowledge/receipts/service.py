"""Who may read which receipt."""

from uuid import UUID, uuid5

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.acl import BaseRights, base_rights
from eai.access.classification import LEVELS
from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.kernel.errors import NotFound
from eai.kernel.ids import BaseId, DocumentId, TenantId
from eai.knowledge.bases.naming import read_reference
from eai.knowledge.bases.repository import BaseRows
from eai.knowledge.documents.schemas import ReceiptOut
from eai.knowledge.models import DeletionReceipt
from eai.knowledge.receipts.repository import ReceiptRows


async def get_receipt(session: AsyncSession, subject: Subject, reference: str) -> ReceiptOut:
    """The receipt of the document or base of this id. Raises NotFound.

    It is for whoever asked for the deletion, for auditors, and for those who could have known of what
    was deleted: a base's list no longer exists, so of a base only its administrators still can.
    """
    wanted = read_reference(reference)
    row = await ReceiptRows(session, subject.tenant).find(wanted) if isinstance(wanted, UUID) else None
    if row is None:
        raise NotFound
    receipt = receipt_out(row)
    if row.requested_by == subject.principal or Scope.AUDIT_READ in subject.scopes:
        return receipt
    rights = base_rights(subject, await BaseRows(session, subject.tenant).entries(BaseId(row.base_id)))
    if not _may_know(subject, rights, row):
        raise NotFound
    if rights.can_manage:
        return receipt
    return receipt.model_copy(update={"chunks_removed": None, "vectors_removed": None})


async def id_of_repetition(session: AsyncSession, tenant: TenantId, document: DocumentId) -> DocumentId:
    """The id that a repeated submission goes by: attempts that were withdrawn have used theirs up.

    Raises NotFound for a document that was taken in and that somebody has deleted since.
    """
    receipts = ReceiptRows(session, tenant)
    while (receipt := await receipts.find(document)) is not None:
        if receipt.requested_by is not None:
            raise NotFound
        document = DocumentId(uuid5(document, "again"))
    return document


def receipt_out(row: DeletionReceipt) -> ReceiptOut:
    """The receipt as clients read it."""
    is_document = row.kind == "document"
    return ReceiptOut.model_validate(
        {
            "id": row.id,
            "kind": row.kind,
            "document_id": row.id if is_document else None,
            "knowledge_base_id": row.base_id,
            "status": row.status,
            "documents_removed": row.documents_removed,
            "chunks_removed": row.chunks_removed,
            "vectors_removed": row.vectors_removed,
            "vectors_remaining": row.vectors_remaining,
            "generations": row.generations,
            "created_at": row.created_at,
            "completed_at": row.completed_at,
        }
    )


def _may_know(subject: Subject, rights: BaseRights, row: DeletionReceipt) -> bool:
    if LEVELS[row.classification].exceeds(subject.clearance):
        return False
    if row.kind == "knowledge_base":
        return rights.can_manage
    named = row.readers is None or not subject.references.isdisjoint(row.readers)
    return rights.can_manage or (rights.can_read_passages and named)
