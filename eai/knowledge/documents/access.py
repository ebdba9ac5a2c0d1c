"""Whether a caller may use a document: the question behind every route that names one."""

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.acl import Permission
from eai.access.subject import Subject
from eai.kernel.errors import NotFound, PreconditionFailed
from eai.kernel.ids import DocumentId
from eai.knowledge.bases.access import authorise, has
from eai.knowledge.bases.handle import BaseHandle
from eai.knowledge.bases.naming import read_reference
from eai.knowledge.documents.repository import DocumentRows
from eai.knowledge.errors import PermissionMissing
from eai.knowledge.models import KnowledgeDocument
from eai.knowledge.visibility import visible_documents


def document_id(reference: str) -> DocumentId:
    """The id that `reference` spells. Raises NotFound."""
    wanted = read_reference(reference)
    if not isinstance(wanted, UUID):
        raise NotFound
    return DocumentId(wanted)


async def find_document(
    session: AsyncSession,
    subject: Subject,
    base_reference: str,
    reference: str,
    permission: Permission | None = None,
) -> tuple[BaseHandle, KnowledgeDocument]:
    """The document whose metadata `subject` may see, and its base.

    Raises NotFound for one that is missing, foreign, deleting or invisible; PermissionMissing where the
    base does not grant `permission`.
    """
    base = await authorise(session, subject, base_reference)
    visible = visible_documents(subject, base.rights, base.classification)
    row = await DocumentRows(session, base.tenant, base.id).find(document_id(reference), visible)
    if row is None:
        raise NotFound
    if permission is not None and not has(base.rights, permission):
        raise PermissionMissing(permission=permission.value)
    return base, row


async def hold_document(
    session: AsyncSession, subject: Subject, base_reference: str, reference: str, revision: int | None
) -> tuple[BaseHandle, KnowledgeDocument]:
    """The same for a change by one who may write: the row is held until the transaction ends.

    Raises PreconditionFailed when the caller has seen another `revision`.
    """
    base, seen = await find_document(session, subject, base_reference, reference, Permission.WRITE)
    row = await DocumentRows(session, base.tenant, base.id).lock(DocumentId(seen.id))
    if row is None:
        raise NotFound
    if revision is not None and revision != row.revision:
        raise PreconditionFailed
    return base, row
