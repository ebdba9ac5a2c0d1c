"""What the credential that asks amounts to."""

from typing import Annotated

from fastapi import Depends

from eai.access.subject import Subject
from eai.api.dependencies import Services, Transaction
from eai.api.governed_route import GovernedRouter
from eai.api.requirement import authenticated
from eai.identity.schemas import Me

router = GovernedRouter(tags=["me"])

Anybody = Annotated[Subject, Depends(authenticated())]


@router.get("/me")
async def get_me(caller: Anybody, services: Services, session: Transaction) -> Me:
    """Tenant, principal, groups, scopes and clearance, as this very request was judged by them."""
    return await services.me.describe(session, caller)
