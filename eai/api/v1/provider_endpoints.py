"""Where calls of models may go, for the platform's operators."""

from typing import Annotated

from fastapi import Depends

from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.api.dependencies import NewId, Services, Transaction
from eai.api.etags import ETag
from eai.api.governed_route import GovernedRouter
from eai.api.listing import Listing, PageQuery
from eai.api.requirement import require
from eai.gateway.registry_schemas import EndpointOut, EndpointPatch, NewEndpoint

router = GovernedRouter(tags=["models"])

Operator = Annotated[Subject, Depends(require(Scope.PLATFORM_ADMIN))]


@router.post("/provider-endpoints", status_code=201)
async def create_provider_endpoint(
    caller: Operator, services: Services, session: Transaction, new_id: NewId, tags: ETag, new: NewEndpoint
) -> EndpointOut:
    """Approve an endpoint. Nothing is called; `api_key` is sealed and never shown.

    With the `template` of a provider instead of a `kind`, the endpoint is that provider's, at its own address
    unless `url` says another. 409 `name_taken`. The URL is `https` unless the host is listed in
    `EAI_EGRESS_ALLOW`, and holds neither user, query nor fragment.
    """
    made = await services.provider_endpoints.create(session, caller, new_id, new)
    return tags.show(made, made.revision)


@router.get("/provider-endpoints")
async def list_provider_endpoints(
    caller: Operator, services: Services, session: Transaction, page: PageQuery
) -> Listing[EndpointOut]:
    """Every endpoint, by name."""
    del caller
    return page.answer(await services.provider_endpoints.page(session, page.request))


@router.get("/provider-endpoints/{endpoint}")
async def get_provider_endpoint(
    caller: Operator, services: Services, session: Transaction, tags: ETag, endpoint: str
) -> EndpointOut:
    """One endpoint, by its id or its name."""
    del caller
    meant = await services.provider_endpoints.meant(session, endpoint)
    found = await services.provider_endpoints.get(session, meant)
    return tags.show(found, found.revision)


@router.patch("/provider-endpoints/{endpoint}")
async def update_provider_endpoint(
    caller: Operator,
    services: Services,
    session: Transaction,
    tags: ETag,
    endpoint: str,
    patch: EndpointPatch,
) -> EndpointOut:
    """Change an endpoint; it binds every call from the next on. Name and kind stay what they are.

    A key does not follow its endpoint to another host: give it again with the new `url`.
    """
    meant = await services.provider_endpoints.meant(session, endpoint)
    changed = await services.provider_endpoints.update(session, caller, meant, patch, revision=tags.expected)
    return tags.show(changed, changed.revision)


@router.delete("/provider-endpoints/{endpoint}", status_code=204)
async def delete_provider_endpoint(
    caller: Operator, services: Services, session: Transaction, tags: ETag, endpoint: str
) -> None:
    """Remove an endpoint and its key. 409 `endpoint_in_use` while a model is on it."""
    meant = await services.provider_endpoints.meant(session, endpoint)
    await services.provider_endpoints.delete(session, caller, meant, revision=tags.expected)
