"""What a tenant forbids over and above what the product does."""

from typing import Annotated

from fastapi import Depends

from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.api.dependencies import Services, Transaction
from eai.api.etags import ETag
from eai.api.governed_route import GovernedRouter
from eai.api.listing import Listing, PageQuery
from eai.api.requirement import require
from eai.policies.schemas import PolicyOut, PolicyText

router = GovernedRouter(tags=["policies"])

Officer = Annotated[Subject, Depends(require(Scope.POLICY_ADMIN))]


@router.get("/policies")
async def list_policies(
    caller: Officer, services: Services, session: Transaction, page: PageQuery
) -> Listing[PolicyOut]:
    """The tenant's policies, the oldest first."""
    return page.answer(await services.tenant_policies.page(session, caller, page.request))


@router.get("/policies/{policy}")
async def get_policy(
    caller: Officer, services: Services, session: Transaction, tags: ETag, policy: str
) -> PolicyOut:
    """One policy, by its name."""
    found = await services.tenant_policies.get(session, caller, policy)
    return tags.show(found, found.revision)


@router.put("/policies/{policy}")
async def set_policy(
    caller: Officer, services: Services, session: Transaction, tags: ETag, policy: str, wanted: PolicyText
) -> PolicyOut:
    """Put a policy in force under this name, or another text in its place; the same text changes nothing.

    Policies can only forbid: a `permit` adds nothing to what is permitted already. 422 `invalid_input`
    says at which line and column a text is wrong; 409 `policy_limit_reached` when there are too many.
    """
    put = await services.tenant_policies.put(session, caller, policy, wanted, revision=tags.expected)
    return tags.show(put, put.revision)


@router.delete("/policies/{policy}", status_code=204)
async def delete_policy(
    caller: Officer, services: Services, session: Transaction, tags: ETag, policy: str
) -> None:
    """Take a policy out of force; what it said stays on record."""
    await services.tenant_policies.delete(session, caller, policy, revision=tags.expected)
