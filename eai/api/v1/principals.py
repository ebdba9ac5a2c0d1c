"""People, services and agents of a tenant."""

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
from eai.identity.schemas import NewPrincipal, PrincipalOut, PrincipalPatch
from eai.kernel.ids import PrincipalId

router = GovernedRouter(tags=["principals"])

Administrator = Annotated[Subject, Depends(require(Scope.TENANT_ADMIN))]


@router.post("/principals", status_code=201)
async def create_principal(
    caller: Administrator,
    services: Services,
    session: Transaction,
    new_id: NewId,
    tags: ETag,
    new: NewPrincipal,
) -> PrincipalOut:
    """Make a principal, cleared for `internal` and without roles unless said otherwise.

    403 `scope_exceeds_own` or `clearance_exceeded` for rights that you do not hold yourself, 422
    `principal_unknown` for a group that does not exist.
    """
    made = await services.principals.create(session, caller, PrincipalId(new_id), new)
    return tags.show(made, made.revision)


@router.get("/principals")
async def list_principals(
    caller: Administrator, services: Services, session: Transaction, page: PageQuery
) -> Listing[PrincipalOut]:
    """The tenant's principals, the oldest first."""
    return page.answer(await services.principals.page(session, caller, page.request))


@router.get("/principals/{principal}")
async def get_principal(
    caller: Administrator, services: Services, session: Transaction, tags: ETag, principal: UUID
) -> PrincipalOut:
    """One principal."""
    found = await services.principals.get(session, caller, PrincipalId(principal))
    return tags.show(found, found.revision)


@router.patch("/principals/{principal}")
async def update_principal(
    caller: Administrator,
    services: Services,
    session: Transaction,
    tags: ETag,
    principal: UUID,
    patch: PrincipalPatch,
) -> PrincipalOut:
    """Change name, clearance, roles, groups, or suspend; what is not named stays.

    Binds every credential of the principal from the next request on. 409 `would_lock_out` when no
    administrator would be left, and for the bootstrap administrator, who alone makes users' first keys.
    """
    changed = await services.principals.update(
        session, caller, PrincipalId(principal), patch, revision=tags.expected
    )
    return tags.show(changed, changed.revision)


@router.delete("/principals/{principal}", status_code=204)
async def delete_principal(
    caller: Administrator, services: Services, session: Transaction, tags: ETag, principal: UUID
) -> None:
    """Remove a principal; its keys open nothing any more.

    409 `would_lock_out` when no administrator would be left, and for the bootstrap administrator.
    """
    await services.principals.delete(session, caller, PrincipalId(principal), revision=tags.expected)
