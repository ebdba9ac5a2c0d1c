"""Where a tenant's documents may come from, for its security officers."""

from typing import Annotated

from fastapi import Depends

from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.api.dependencies import NewId, Services, Transaction
from eai.api.etags import ETag
from eai.api.governed_route import GovernedRouter
from eai.api.listing import Listing, PageQuery
from eai.api.requirement import require
from eai.connectors.schemas import ConnectorOut, ConnectorPatch, NewConnector

router = GovernedRouter(tags=["source connectors"])

Officer = Annotated[Subject, Depends(require(Scope.POLICY_ADMIN))]


@router.post("/source-connectors", status_code=201)
async def create_source_connector(
    caller: Officer, services: Services, session: Transaction, new_id: NewId, tags: ETag, new: NewConnector
) -> ConnectorOut:
    """Register a source. Documents name it in `source_connector`; without one they come `direct`.

    With a `principal` that service alone may stamp documents with it, and it vouches for their `source_uri`.
    409 `name_taken`; `direct` is built in.
    """
    made = await services.source_connectors.create(session, caller, new_id, new)
    return tags.show(made, made.revision)


@router.get("/source-connectors")
async def list_source_connectors(
    caller: Officer, services: Services, session: Transaction, page: PageQuery
) -> Listing[ConnectorOut]:
    """The tenant's source connectors, the oldest first. The built-in `direct` is not among them."""
    return page.answer(await services.source_connectors.page(session, caller, page.request))


@router.get("/source-connectors/{connector}")
async def get_source_connector(
    caller: Officer, services: Services, session: Transaction, tags: ETag, connector: str
) -> ConnectorOut:
    """One source connector, by its id or its name."""
    found = await services.source_connectors.get(session, caller, connector)
    return tags.show(found, found.revision)


@router.patch("/source-connectors/{connector}")
async def update_source_connector(
    caller: Officer,
    services: Services,
    session: Transaction,
    tags: ETag,
    connector: str,
    patch: ConnectorPatch,
) -> ConnectorOut:
    """Change a source connector; its name stays, and it is never removed.

    Switched off, its documents are in no answer and cannot be opened from the next request on; switched on,
    they are back as they were. Nothing is embedded anew.
    """
    changed = await services.source_connectors.update(
        session, caller, connector, patch, revision=tags.expected
    )
    return tags.show(changed, changed.revision)
