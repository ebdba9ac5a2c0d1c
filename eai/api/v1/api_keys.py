"""API keys: one's own with any credential, others' for administrators."""

from typing import Annotated
from uuid import UUID

from fastapi import Depends, Query

from eai.access.subject import Subject
from eai.api.dependencies import NewId, Services, Transaction
from eai.api.etags import ETag
from eai.api.governed_route import GovernedRouter
from eai.api.idempotency.records import Replay, replay
from eai.api.listing import Listing, PageQuery
from eai.api.requirement import authenticated
from eai.identity.schemas import ApiKeyOut, ApiKeyWithSecret, NewApiKey, Rotation
from eai.kernel.ids import ApiKeyId, PrincipalId

router = GovernedRouter(tags=["api keys"])

Anybody = Annotated[Subject, Depends(authenticated())]
_BY_DEFAULT = Rotation()


@router.post("/api-keys", status_code=201)
@replay(Replay.ONCE)
async def create_api_key(
    caller: Anybody, services: Services, session: Transaction, new_id: NewId, new: NewApiKey
) -> ApiKeyWithSecret:
    """Make a key; `api_key` is in this answer only. Without `scopes` it follows its principal's roles.

    Users make their own; administrators (`tenant:admin`) make those of services and agents, and the
    bootstrap administrator anybody's. 403 `scope_exceeds_own` or `clearance_exceeded` for a key that
    would open more than the credential which asks, or than its own principal; `expiry_exceeds_own` for
    one that would outlive that credential.
    """
    return await services.api_keys.create(session, caller, ApiKeyId(new_id), new)


@router.get("/api-keys")
async def list_api_keys(
    caller: Anybody,
    services: Services,
    session: Transaction,
    page: PageQuery,
    principal_id: Annotated[UUID | None, Query(description="Only the keys of this principal.")] = None,
) -> Listing[ApiKeyOut]:
    """Your own keys, or with `tenant:admin` the tenant's; the oldest first, revoked ones included."""
    principal = None if principal_id is None else PrincipalId(principal_id)
    return page.answer(await services.api_keys.page(session, caller, page.request, principal=principal))


@router.get("/api-keys/{key}")
async def get_api_key(
    caller: Anybody, services: Services, session: Transaction, tags: ETag, key: UUID
) -> ApiKeyOut:
    """One key, without its secret."""
    found = await services.api_keys.get(session, caller, ApiKeyId(key))
    return tags.show(found, found.revision)


@router.post("/api-keys/{key}/rotate")
@replay(Replay.ONCE)
async def rotate_api_key(
    caller: Anybody,
    services: Services,
    session: Transaction,
    new_id: NewId,
    tags: ETag,
    key: UUID,
    rotation: Rotation = _BY_DEFAULT,
) -> ApiKeyWithSecret:
    """Give a key a fresh secret, in this answer only; the old one opens for `grace_seconds` more.

    The grace is a day unless said otherwise, 0 ends the old secret now. A key may always rotate
    itself; for any other the rules of making one hold. 409 `key_not_live` for a key that is over,
    `secret_already_shown` for a request repeated after more than ten minutes. 403 `secret_superseded`
    for an old secret: it makes, rotates and revokes no keys, and only repeats the request that rotated it.
    """
    return await services.api_keys.rotate(
        session, caller, ApiKeyId(key), rotation, rotation_id=new_id, revision=tags.expected
    )


@router.delete("/api-keys/{key}", status_code=204)
async def revoke_api_key(
    caller: Anybody, services: Services, session: Transaction, tags: ETag, key: UUID
) -> None:
    """Revoke a key for good, both secrets at once; it stays listed.

    A key may always revoke itself. 403 `scope_exceeds_own` or `clearance_exceeded` for another one of your
    own that opens more than the credential which asks.
    409 `would_lock_out` for the last key with which the bootstrap administrator or the platform's operator
    does its work.
    """
    await services.api_keys.revoke(session, caller, ApiKeyId(key), revision=tags.expected)
