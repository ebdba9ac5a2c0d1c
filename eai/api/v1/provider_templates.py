"""The providers that are known by name."""

from typing import Annotated

from fastapi import Depends

from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.api.governed_route import GovernedRouter
from eai.api.listing import Listing, PageQuery
from eai.api.requirement import require
from eai.gateway.proposals import listed_templates
from eai.gateway.registry_schemas import ProviderTemplateOut
from eai.kernel.paging import Page

router = GovernedRouter(tags=["models"])

Registrar = Annotated[Subject, Depends(require(Scope.MODELS_ADMIN, Scope.PLATFORM_ADMIN, any_of=True))]


@router.get("/provider-templates")
async def list_provider_templates(caller: Registrar, page: PageQuery) -> Listing[ProviderTemplateOut]:
    """The providers whose endpoints can be approved by name, each with its usual model.

    An operator names one as `template` of an endpoint; a model on that endpoint has what is listed here
    unless it is registered otherwise.
    """
    del caller
    after = page.request.after[0] if page.request.after else ""
    found = [template for template in listed_templates() if template.name > after]
    part = found[: page.request.limit]
    return page.answer(Page(part, (part[-1].name,) if len(found) > len(part) else None))
