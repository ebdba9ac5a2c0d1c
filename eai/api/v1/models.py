"""The models that callers may choose among, and how they are registered."""

from typing import Annotated

from fastapi import Depends

from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.api.dependencies import NewId, Services, Transaction
from eai.api.etags import ETag
from eai.api.governed_route import GovernedRouter
from eai.api.listing import Listing, PageQuery
from eai.api.requirement import require
from eai.gateway.registry_schemas import KillSwitchOut, KillSwitchPut, ModelOut, ModelPatch, NewModel

router = GovernedRouter(tags=["models"])

Reader = Annotated[
    Subject,
    Depends(
        require(Scope.KB_READ, Scope.GATEWAY_INVOKE, Scope.MODELS_ADMIN, Scope.PLATFORM_ADMIN, any_of=True)
    ),
]
Administrator = Annotated[Subject, Depends(require(Scope.MODELS_ADMIN))]
Registrar = Annotated[Subject, Depends(require(Scope.MODELS_ADMIN, Scope.PLATFORM_ADMIN, any_of=True))]


@router.get("/models")
async def list_models(
    caller: Reader, services: Services, session: Transaction, page: PageQuery
) -> Listing[ModelOut]:
    """Every model that can be named here, by name: the shipped ones and the tenant's own."""
    return page.answer(await services.model_registry.page(session, caller, page.request))


@router.post("/models", status_code=201)
async def create_model(
    caller: Administrator, services: Services, session: Transaction, new_id: NewId, tags: ETag, new: NewModel
) -> ModelOut:
    """Register a model on an endpoint that serves the tenant.

    On an endpoint from a template, what is absent is the template's: the provider's usual model with its
    dimensions and roles. It may narrow the endpoint's ceiling and region and never widen them (422). 409
    `name_taken`, also for the name of a shipped model.
    """
    made = await services.model_registry.create(session, caller, new_id, new)
    return tags.show(made, made.row_revision)


@router.get("/models/{name}")
async def get_model(
    caller: Reader, services: Services, session: Transaction, tags: ETag, name: str
) -> ModelOut:
    """One model, within the narrower bounds of itself and its endpoint."""
    found = await services.model_registry.get(session, caller, name)
    return tags.show(found, found.row_revision)


@router.patch("/models/{name}")
async def update_model(
    caller: Registrar, services: Services, session: Transaction, tags: ETag, name: str, patch: ModelPatch
) -> ModelOut:
    """Change a model; what is not named stays.

    A tenant changes its own: 409 `model_in_use` for what decides the vectors of a model that a base uses
    (endpoint, provider model, dimensions, roles, revision). An operator says with `endpoint` and `enabled`
    where calls of a shipped model go.
    """
    changed = await services.model_registry.update(session, caller, name, patch, revision=tags.expected)
    return tags.show(changed, changed.row_revision)


@router.put("/models/{name}/kill-switch")
async def set_model_kill_switch(
    caller: Administrator,
    services: Services,
    session: Transaction,
    tags: ETag,
    name: str,
    wanted: KillSwitchPut,
) -> KillSwitchOut:
    """Stop every call of one model in this tenant, or let them go on.

    Once this is answered no further call begins; `in_flight` lists those that began before.
    """
    flipped = await services.kill_switches.set_of_model(session, caller, name, wanted, revision=tags.expected)
    return tags.show(flipped, flipped.revision)
