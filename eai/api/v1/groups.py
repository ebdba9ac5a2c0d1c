"""Groups of principals, and who is in them."""

from typing import Annotated
from uuid import UUID

from fastapi import Depends

from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.api.dependencies import NewId, Services, Transaction
from eai.api.etags import ETag
from eai.api.governed_route import GovernedRouter
from eai.api.listing import Listing, PageQuery
from eai.api.requirement import require
from eai.identity.schemas import GroupDetail, GroupMembers, GroupOut, NewGroup
from eai.kernel.ids import GroupId

router = GovernedRouter(tags=["groups"])

Administrator = Annotated[Subject, Depends(require(Scope.TENANT_ADMIN))]


@router.post("/groups", status_code=201)
async def create_group(
    caller: Administrator, services: Services, session: Transaction, new_id: NewId, tags: ETag, new: NewGroup
) -> GroupDetail:
    """Make an empty group. 409 `name_taken` when the tenant has one of that name."""
    made = await services.groups.create(session, caller, GroupId(new_id), new)
    return tags.show(made, made.revision)


@router.get("/groups")
async def list_groups(
    caller: Administrator, services: Services, session: Transaction, page: PageQuery
) -> Listing[GroupOut]:
    """The tenant's groups, the oldest first; read one for its members."""
    return page.answer(await services.groups.page(session, caller, page.request))


@router.get("/groups/{group}")
async def get_group(
    caller: Administrator, services: Services, session: Transaction, tags: ETag, group: UUID
) -> GroupDetail:
    """One group with its members."""
    found = await services.groups.get(session, caller, GroupId(group))
    return tags.show(found, found.revision)


@router.put("/groups/{group}/members")
async def set_group_members(
    caller: Administrator,
    services: Services,
    session: Transaction,
    tags: ETag,
    group: UUID,
    wanted: GroupMembers,
) -> GroupDetail:
    """Replace the members whole; it binds for their next request.

    422 `principal_unknown` names the places of ids that are no principals, and changes nothing.
    """
    changed = await services.groups.set_members(
        session, caller, GroupId(group), wanted, revision=tags.expected
    )
    return tags.show(changed, changed.revision)


@router.delete("/groups/{group}", status_code=204)
async def delete_group(
    caller: Administrator, services: Services, session: Transaction, tags: ETag, group: UUID
) -> None:
    """Remove a group; whoever reads through it alone reads no more."""
    await services.groups.delete(session, caller, GroupId(group), revision=tags.expected)
