"""Held documents: what stewards look at, and what they decide."""

from typing import TYPE_CHECKING, Annotated

from fastapi import Depends

from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.api.dependencies import NewId, Services, Transaction
from eai.api.governed_route import GovernedRouter
from eai.api.listing import Listing, PageQuery, Paging
from eai.api.requirement import require
from eai.review.schemas import HeldDocument, HeldDocumentDetail, ReviewOut, ReviewRequest

if TYPE_CHECKING:
    from eai.bootstrap import Platform

router = GovernedRouter(tags=["quarantine"])

Steward = Annotated[Subject, Depends(require(Scope.STEWARD_REVIEW))]


@router.get("/quarantine")
async def list_held_documents(caller: Steward, services: Services, page: PageQuery) -> Listing[HeldDocument]:
    """What waits for a steward in every base of the tenant, within your clearance, the longest first."""
    return await _page(caller, services, page)


@router.get("/knowledge-bases/{base}/quarantine")
async def list_held_documents_of_base(
    caller: Steward, services: Services, page: PageQuery, base: str
) -> Listing[HeldDocument]:
    """What waits for a steward in one base, within your clearance, the longest first."""
    return await _page(caller, services, page, base)


@router.get("/knowledge-bases/{base}/quarantine/{document}")
async def get_held_document(
    caller: Steward, services: Services, base: str, document: str
) -> HeldDocumentDetail:
    """A document that waits: all that was found in it, and the text around, with what is invisible shown."""
    async with services.database.transaction(caller.tenant) as session:
        found, evidence = await services.reviews.get(session, caller, base, document)
    await services.audit.flush(evidence)
    return found


@router.post("/knowledge-bases/{base}/documents/{document}/review")
async def review_document(
    caller: Steward,
    services: Services,
    session: Transaction,
    new_id: NewId,
    base: str,
    document: str,
    request: ReviewRequest,
) -> ReviewOut:
    """Release a held document, redact what held it, or reject it.

    Released and redacted texts are processed anew, for whoever submitted them, and can then be found. 403
    `self_review_forbidden` for your own submission and that of a principal that you made or were ever told
    a key of, directly or through others, also once it is gone; 409 `not_held` once that version was decided
    or replaced, 409 `too_many_findings` where more may be in it than is listed, and 409
    `redaction_leaves_nothing`: both can only be rejected.
    """
    return await services.reviews.review(session, caller, base, document, request, new_id)


async def _page(
    caller: Subject, services: "Platform", page: Paging, base: str | None = None
) -> Listing[HeldDocument]:
    async with services.database.transaction(caller.tenant) as session:
        found, evidence = await services.reviews.page(session, caller, page.request, base)
    await services.audit.flush(evidence)
    return page.answer(found)
