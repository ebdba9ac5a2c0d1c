"""What documents and audit hold of a person: found, removed or redacted, with receipts."""

from typing import Annotated
from uuid import UUID

from fastapi import Depends, Response

from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.api.dependencies import NewId, Services, Transaction
from eai.api.governed_route import GovernedRouter
from eai.api.listing import Listing, PageQuery
from eai.api.requirement import require
from eai.privacy.schemas import ErasureOut, FoundDocumentOut, NewErasure

router = GovernedRouter(tags=["privacy"])

Officer = Annotated[Subject, Depends(require(Scope.PRIVACY_ADMIN))]


@router.post("/privacy/erasures", status_code=202)
async def create_erasure(
    caller: Officer,
    services: Services,
    session: Transaction,
    response: Response,
    new_id: NewId,
    new: NewErasure,
) -> ErasureOut:
    """Look for a person in every document of the tenant, up to your clearance, and do what is to follow.

    A document is as high as the highest of its parts, of the texts it waits for, and of those that were held.

    `find` changes nothing: ask for it first. `remove` deletes each document in which the person is found,
    with a receipt; `redact` gives it a text with a block for every character of what was found, and empties
    the former versions once that answers. With `principal_id` the details that the audit keeps of the
    principal become unreadable, at the end. What a legal hold keeps stays, and is told as `held`.
    """
    made = await services.erasures.request(session, caller, new_id, new)
    response.headers["location"] = f"/v1/privacy/erasures/{made.id}"
    response.headers["retry-after"] = "1"
    return made


@router.get("/privacy/erasures")
async def list_erasures(
    caller: Officer, services: Services, session: Transaction, page: PageQuery
) -> Listing[ErasureOut]:
    """The tenant's erasures, the oldest first, without those that looked higher than your clearance."""
    return page.answer(await services.erasures.page(session, caller, page.request))


@router.get("/privacy/erasures/{erasure}")
async def get_erasure(caller: Officer, services: Services, session: Transaction, erasure: UUID) -> ErasureOut:
    """How far an erasure is, what came of it, and how much of what it looks for it was measured to find."""
    return await services.erasures.get(session, caller, erasure)


@router.post("/privacy/erasures/{erasure}/cancel")
async def cancel_erasure(
    caller: Officer, services: Services, session: Transaction, erasure: UUID
) -> ErasureOut:
    """End an erasure after the document it is at. What it has done stays done; one that has ended stays so.

    A text without the person that is on its way still comes to answer; the former ones are kept then.
    """
    return await services.erasures.cancel(session, caller, erasure)


@router.get("/privacy/erasures/{erasure}/documents")
async def list_found_documents(
    caller: Officer, services: Services, page: PageQuery, erasure: UUID
) -> Listing[FoundDocumentOut]:
    """The documents in which an erasure found the person, and what became of each."""
    async with services.database.transaction(caller.tenant) as session:
        found, evidence = await services.erasures.documents(session, caller, erasure, page.request)
    await services.audit.flush(evidence)
    return page.answer(found)
