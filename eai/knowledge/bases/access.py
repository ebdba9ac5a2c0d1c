"""Whether a caller may use a base: the question behind every route that names one."""

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.acl import BaseRights, Permission, base_rights
from eai.access.classification import LEVELS
from eai.access.subject import Subject
from eai.kernel.errors import NotFound, PreconditionFailed
from eai.kernel.ids import BaseId, GenerationId, TenantId
from eai.knowledge.bases.handle import BaseHandle, ServingGeneration
from eai.knowledge.bases.repository import BaseRows
from eai.knowledge.errors import PermissionMissing
from eai.knowledge.models import KnowledgeBase
from eai.knowledge.ports import SpaceId
from eai.knowledge.visibility import visible_bases

NOBODYS = BaseRights(can_see=False, can_read_passages=False, can_write=False, can_manage=False)


async def authorise(
    session: AsyncSession,
    subject: Subject,
    reference: str,
    permission: Permission | None = None,
    *,
    lock: bool = False,
) -> BaseHandle:
    """The base of this id or alias, if `subject` sees it and has `permission` in it.

    Without `permission`, seeing it is enough. `read` means passages, which `kb:admin` alone does not
    give. `lock` holds the base against other changes until the transaction ends. Raises NotFound for a
    base that is missing, foreign, deleted or invisible, PermissionMissing for one that is seen.
    """
    rows = BaseRows(session, subject.tenant)
    # One statement leaves out what is missing and what is invisible: their times must not tell them apart.
    row = await rows.find(reference, visible_bases(subject), lock=lock)
    if row is None:
        raise NotFound
    rights = base_rights(subject, await rows.entries(BaseId(row.id)))
    if not rights.can_see:
        raise NotFound
    if permission is not None and not has(rights, permission):
        raise PermissionMissing(permission=permission.value)
    return handle_of(row, rights, await rows.average_length(row))


async def managed(
    session: AsyncSession, subject: Subject, reference: str, revision: int | None
) -> BaseHandle:
    """The base, held for a change by one who manages it.

    Raises PreconditionFailed when the caller has seen another `revision`.
    """
    base = await authorise(session, subject, reference, Permission.MANAGE, lock=True)
    if revision is not None and revision != base.revision:
        raise PreconditionFailed
    return base


async def base_of_tenant(session: AsyncSession, tenant: TenantId, reference: str) -> BaseHandle | None:
    """The live base of this id or alias, for a duty that covers the whole tenant: nobody's rights in it."""
    rows = BaseRows(session, tenant)
    row = await rows.find(reference)
    return None if row is None else handle_of(row, NOBODYS, await rows.average_length(row))


def has(rights: BaseRights, permission: Permission) -> bool:
    """Whether `rights` include `permission`."""
    return {
        Permission.READ: rights.can_read_passages,
        Permission.WRITE: rights.can_write,
        Permission.MANAGE: rights.can_manage,
    }[permission]


def handle_of(row: KnowledgeBase, rights: BaseRights, average_length: float) -> BaseHandle:
    """The row as an immutable value."""
    tenant = TenantId(row.tenant_id)
    space = SpaceId(row.vector_collection, row.dimensions)
    generation = ServingGeneration(tenant, GenerationId(row.vector_generation), space, average_length)
    return BaseHandle(
        tenant=tenant,
        id=BaseId(row.id),
        alias=row.alias,
        name=row.name,
        classification=LEVELS[row.classification],
        embedding_model=row.embedding_model,
        chunk_size=row.chunk_size,
        chunk_overlap=row.chunk_overlap,
        generation=generation,
        rights=rights,
        revision=row.revision,
    )
