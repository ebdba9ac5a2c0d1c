"""How long documents are kept: policies, legal holds, what is due and what has expired."""

from typing import Annotated
from uuid import UUID

from fastapi import Depends, Query

from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.api.dependencies import NewId, Services, Transaction
from eai.api.etags import ETag
from eai.api.governed_route import GovernedRouter
from eai.api.listing import Listing, PageQuery
from eai.api.requirement import require
from eai.retention.schemas import (
    DueDocument,
    ExpiredDocument,
    LegalHoldOut,
    NewLegalHold,
    NewRetentionPolicy,
    Release,
    RetentionPolicyChange,
    RetentionPolicyOut,
)

router = GovernedRouter(tags=["retention"])

Officer = Annotated[Subject, Depends(require(Scope.POLICY_ADMIN))]
Within = Annotated[int, Query(ge=0, le=36_500, description="What is due within so many days from now.")]


@router.post("/retention/policies", status_code=201)
async def create_retention_policy(
    caller: Officer,
    services: Services,
    session: Transaction,
    new_id: NewId,
    tags: ETag,
    new: NewRetentionPolicy,
) -> RetentionPolicyOut:
    """Have documents removed so many days after their newest text came in.

    Of one base, of one level, of both, or with neither of the whole tenant; the most specific policy that
    fits a document counts. Ask for what is due first: with the next look it goes. 409
    `retention_policy_exists` where there is one for just these documents; 403 `clearance_exceeded` where it
    reaches above your clearance: without a level it reaches documents of every level.
    """
    made = await services.retention_policies.create(session, caller, new_id, new)
    return tags.show(made, made.revision)


@router.get("/retention/policies")
async def list_retention_policies(
    caller: Officer, services: Services, session: Transaction, page: PageQuery
) -> Listing[RetentionPolicyOut]:
    """The tenant's retention policies, the oldest first."""
    return page.answer(await services.retention_policies.page(session, caller, page.request))


@router.get("/retention/policies/{retention_policy}")
async def get_retention_policy(
    caller: Officer, services: Services, session: Transaction, tags: ETag, retention_policy: UUID
) -> RetentionPolicyOut:
    """One retention policy."""
    found = await services.retention_policies.get(session, caller, retention_policy)
    return tags.show(found, found.revision)


@router.patch("/retention/policies/{retention_policy}")
async def update_retention_policy(
    caller: Officer,
    services: Services,
    session: Transaction,
    tags: ETag,
    retention_policy: UUID,
    change: RetentionPolicyChange,
) -> RetentionPolicyOut:
    """Give a retention policy another term, which counts from the next look on.

    403 `clearance_exceeded` where it reaches above your clearance.
    """
    changed = await services.retention_policies.update(
        session, caller, retention_policy, change, revision=tags.expected
    )
    return tags.show(changed, changed.revision)


@router.delete("/retention/policies/{retention_policy}", status_code=204)
async def delete_retention_policy(
    caller: Officer, services: Services, session: Transaction, tags: ETag, retention_policy: UUID
) -> None:
    """Remove a retention policy. What has expired stays expired.

    403 `clearance_exceeded` where it reaches above your clearance.
    """
    await services.retention_policies.delete(session, caller, retention_policy, revision=tags.expected)


@router.get("/retention/due")
async def list_due_documents(
    caller: Officer,
    services: Services,
    session: Transaction,
    page: PageQuery,
    within_days: Within = 0,
) -> Listing[DueDocument]:
    """What the policies will have removed, in the order of ids, as far as your clearance goes.

    `due_at` says when. A page may hold fewer than asked for, or none, while `has_more` is true.
    """
    return page.answer(await services.retention_policies.due(session, caller, page.request, within_days))


@router.get("/retention/expirations")
async def list_expired_documents(
    caller: Officer, services: Services, session: Transaction, page: PageQuery
) -> Listing[ExpiredDocument]:
    """What the policies had removed, the oldest first, as far as your clearance goes.

    `GET /v1/deletion-receipts/{document_id}` says what was removed of each.
    """
    return page.answer(await services.retention_policies.expired(session, caller, page.request))


@router.post("/retention/holds", status_code=201)
async def place_legal_hold(
    caller: Officer,
    services: Services,
    session: Transaction,
    new_id: NewId,
    tags: ETag,
    new: NewLegalHold,
) -> LegalHoldOut:
    """Keep a document, or every document of a base, from being removed: it neither expires nor is deleted.

    Whoever tries is told 409 `under_legal_hold`; so is whoever would write over title, metadata or source.
    Replaced texts are kept too, and texts that were stored before the hold whatever is found in them.
    """
    placed = await services.legal_holds.place(session, caller, new_id, new)
    return tags.show(placed, placed.revision)


@router.get("/retention/holds")
async def list_legal_holds(
    caller: Officer, services: Services, session: Transaction, page: PageQuery
) -> Listing[LegalHoldOut]:
    """The tenant's legal holds, released ones included, the oldest first."""
    return page.answer(await services.legal_holds.page(session, caller, page.request))


@router.get("/retention/holds/{legal_hold}")
async def get_legal_hold(
    caller: Officer, services: Services, session: Transaction, tags: ETag, legal_hold: UUID
) -> LegalHoldOut:
    """One legal hold, in force or released."""
    found = await services.legal_holds.get(session, caller, legal_hold)
    return tags.show(found, found.revision)


@router.post("/retention/holds/{legal_hold}/release")
async def release_legal_hold(
    caller: Officer,
    services: Services,
    session: Transaction,
    tags: ETag,
    legal_hold: UUID,
    release: Release,
) -> LegalHoldOut:
    """Let go of what was held, with the reason; what is due meanwhile expires with the next look."""
    released = await services.legal_holds.release(
        session, caller, legal_hold, release, revision=tags.expected
    )
    return tags.show(released, released.revision)
