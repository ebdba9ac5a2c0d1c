"""The tenants of an installation, for the platform's operators."""

from typing import Annotated
from uuid import UUID

from fastapi import Depends

from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.api.dependencies import NewId, Services
from eai.api.governed_route import GovernedRouter
from eai.api.idempotency.records import Replay, replay
from eai.api.listing import Listing, PageQuery
from eai.api.requirement import require
from eai.identity.schemas import TenantWithKey
from eai.kernel.ids import TenantId
from eai.tenants.schemas import NewTenant, TenantOut

router = GovernedRouter(tags=["tenants"])

Operator = Annotated[Subject, Depends(require(Scope.PLATFORM_ADMIN))]


@router.post("/tenants", status_code=201)
@replay(Replay.ONCE)
async def create_tenant(caller: Operator, services: Services, new_id: NewId, new: NewTenant) -> TenantWithKey:
    """Make a tenant with its bootstrap administrator, whose `admin_api_key` is in this answer only.

    409 `slug_taken` when another tenant goes by the slug.
    """
    return await services.onboarding.create(caller, TenantId(new_id), new)


@router.get("/tenants")
async def list_tenants(caller: Operator, services: Services, page: PageQuery) -> Listing[TenantOut]:
    """Every tenant, the oldest first."""
    del caller
    return page.answer(await services.tenants.page(page.request))


@router.get("/tenants/{tenant}")
async def get_tenant(caller: Operator, services: Services, tenant: UUID) -> TenantOut:
    """One tenant."""
    del caller
    return await services.tenants.one(TenantId(tenant))
