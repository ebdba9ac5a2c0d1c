"""Keys: minted, listed, rotated and revoked, never beyond the rights of whoever asks."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, true
from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import LEVELS
from eai.access.scopes import Scope
from eai.access.subject import PrincipalKind, Subject
from eai.audit.actions import AuditAction
from eai.audit.entries import Resource
from eai.audit.service import Audit
from eai.identity.credentials import Credential
from eai.identity.errors import (
    KeyNotLive,
    MintedByItsUser,
    PrincipalUnknown,
    ScopeMissing,
    SecretSuperseded,
    WouldLockOut,
)
from eai.identity.issuing import Issuing
from eai.identity.key_bounds import require_no_longer_life, require_revocable, require_within_own
from eai.identity.models import ApiKey, Principal
from eai.identity.repository import ApiKeyRows, PrincipalRows
from eai.identity.schemas import ApiKeyOut, ApiKeyWithSecret, NewApiKey, Rotation
from eai.kernel.canonical import Canonical
from eai.kernel.errors import InvalidInput
from eai.kernel.ids import PLATFORM_TENANT, ApiKeyId, PrincipalId
from eai.kernel.paging import Page, PageRequest
from eai.platform.listing import next_key
from eai.tenants.repository import TenantRows


class ApiKeys:
    """What a principal does with its own keys, and an administrator with others'.

    Without `tenant:admin` no other principal's key exists. A key of a user is made only by that user
    or by the bootstrap administrator; a service or an agent gets its keys from administrators. The old
    secret of a rotated key changes no key.
    """

    def __init__(self, audit: Audit, issuing: Issuing) -> None:
        self._audit = audit
        self._issuing = issuing

    async def create(
        self, session: AsyncSession, subject: Subject, key: ApiKeyId, new: NewApiKey
    ) -> ApiKeyWithSecret:
        """Mint a key; its secret is in this answer only.

        The same id again by the same creator, soon after, is the same key with another secret; later
        it is SecretAlreadyShown. Raises SecretSuperseded, ScopeMissing, MintedByItsUser, PrincipalUnknown,
        ScopeExceedsOwn, ClearanceExceeded, ExpiryExceeded, and InvalidInput for an expiry in the past.
        """
        _require_current_secret(subject)
        rows = ApiKeyRows(session, subject.tenant)
        owner = await _owner(session, subject, new.principal_id)
        await require_within_own(rows, subject, owner, new.scopes, new.clearance)
        await require_no_longer_life(rows, subject, new.expires_at)
        if new.expires_at is not None and new.expires_at <= await rows.now():
            raise InvalidInput.field("expires_at", "datetime_future", "lies in the past")
        issued = await self._issuing.issue(
            rows,
            key,
            owner.id,
            created_by=subject.principal,
            name=new.name or "",
            scopes=_distinct(new.scopes),
            clearance=new.clearance,
            expires_at=new.expires_at,
        )
        action = AuditAction.API_KEY_CREATE
        if issued is None:
            issued = await self._issuing.issue_again(rows, key, subject.principal)
            action = AuditAction.API_KEY_ROTATE
        row, credential = issued
        await self._record(session, subject, action, row, _facts(row))
        return _with_secret(row, credential)

    async def get(self, session: AsyncSession, subject: Subject, key: ApiKeyId) -> ApiKeyOut:
        """One key. Raises NotFound."""
        return _shown(await ApiKeyRows(session, subject.tenant).get(key, _visible(subject)))

    async def page(
        self,
        session: AsyncSession,
        subject: Subject,
        request: PageRequest,
        *,
        principal: PrincipalId | None = None,
    ) -> Page[ApiKeyOut]:
        """The keys that the subject may know of, the oldest first, or only those of `principal`."""
        is_wanted = true() if principal is None else ApiKey.principal_id == principal
        found = await ApiKeyRows(session, subject.tenant).page(request, _visible(subject), is_wanted)
        return Page([_shown(row) for row in found[: request.limit]], next_key(found, request))

    async def rotate(
        self,
        session: AsyncSession,
        subject: Subject,
        key: ApiKeyId,
        rotation: Rotation,
        *,
        rotation_id: UUID,
        revision: int | None = None,
    ) -> ApiKeyWithSecret:
        """Give the key a fresh secret; the old one opens until its grace is over.

        The same `rotation_id` again, soon after, is the same rotation with another secret; later it is
        SecretAlreadyShown. A key may always rotate itself; for any other the rules of minting hold.
        Raises NotFound, PreconditionFailed, KeyNotLive and what `create` raises for them.
        """
        rows = ApiKeyRows(session, subject.tenant)
        row = await rows.hold(key, _visible(subject), revision=revision)
        # Whoever repeats its own rotation, whose answer was lost, has no other secret.
        if row.id != subject.api_key or row.last_rotation != rotation_id:
            _require_current_secret(subject)
        if row.id != subject.api_key:
            owner = await _owner(session, subject, row.principal_id)
            scopes = None if row.scopes is None else tuple(map(Scope, row.scopes))
            clearance = None if row.clearance is None else LEVELS[row.clearance]
            await require_within_own(rows, subject, owner, scopes, clearance)
            await require_no_longer_life(rows, subject, row.expires_at)
        if row.revoked_at is not None or (row.expires_at is not None and row.expires_at <= await rows.now()):
            raise KeyNotLive
        grace = timedelta(seconds=rotation.grace_seconds)
        row, credential = await self._issuing.rotate(rows, row, grace, rotation_id, by=subject.principal)
        facts: dict[str, Canonical] = {"grace_seconds": rotation.grace_seconds}
        await self._record(session, subject, AuditAction.API_KEY_ROTATE, row, facts)
        return _with_secret(row, credential)

    async def revoke(
        self, session: AsyncSession, subject: Subject, key: ApiKeyId, *, revision: int | None = None
    ) -> None:
        """End both secrets of the key for good; a key that is revoked stays so.

        A key may always revoke itself, and of its principal's others those that open no more than it
        does. Raises NotFound, PreconditionFailed, SecretSuperseded, ScopeExceedsOwn, ClearanceExceeded,
        and WouldLockOut for the last one of the bootstrap administrator that opens `tenant:admin`, or of
        the platform's operator that opens `platform:admin`.
        """
        rows = ApiKeyRows(session, subject.tenant)
        row = await rows.hold(key, _visible(subject), revision=revision)
        _require_current_secret(subject)
        await require_revocable(rows, subject, row)
        if row.revoked_at is not None:
            return
        await _require_another_founders_key(rows, row)
        row = await rows.change(key, revoked_at=await rows.now(), previous_mac=None, previous_expires_at=None)
        await self._record(session, subject, AuditAction.API_KEY_REVOKE, row, {})

    async def _record(
        self,
        session: AsyncSession,
        subject: Subject,
        action: AuditAction,
        row: ApiKey,
        facts: dict[str, Canonical],
    ) -> None:
        await self._audit.record(
            session,
            subject,
            action,
            resource=Resource("api_key", str(row.id)),
            facts={"principal": str(row.principal_id), **facts},
            private={"name": row.name},
        )


async def _owner(session: AsyncSession, subject: Subject, principal: UUID) -> Principal:
    """The principal whose key is to be made, if it is the subject's to make."""
    is_own = principal == subject.principal
    is_self_minting = is_own and subject.kind is PrincipalKind.USER
    if not is_self_minting and Scope.TENANT_ADMIN not in subject.scopes:
        raise ScopeMissing(scopes=[Scope.TENANT_ADMIN.value])
    owner = await PrincipalRows(session, subject.tenant).find(principal)
    if owner is None:
        raise PrincipalUnknown.at("principal_id")
    if not is_own and owner.kind == PrincipalKind.USER and not subject.is_bootstrap:
        raise MintedByItsUser
    return owner


async def _require_another_founders_key(rows: ApiKeyRows, row: ApiKey) -> None:
    """Keep a key to the bootstrap administrator, or the platform's operator, whom nobody could replace.

    The tenant's row is held before counting, so that two last keys cannot end together.
    """
    duty = Scope.PLATFORM_ADMIN if rows.tenant == PLATFORM_TENANT else Scope.TENANT_ADMIN
    owner = await PrincipalRows(rows.session, rows.tenant).get(row.principal_id)
    is_past = row.expires_at is not None and row.expires_at <= await rows.now()
    is_narrow = row.scopes is not None and duty not in row.scopes
    is_founder = owner.is_bootstrap or rows.tenant == PLATFORM_TENANT
    if not is_founder or is_past or is_narrow:
        return
    await TenantRows(rows.session, rows.tenant).hold()
    if not await rows.has_live_key(owner.id, duty, besides=row.id):
        raise WouldLockOut


def _require_current_secret(subject: Subject) -> None:
    """An old secret that leaked must not outlast its grace, nor end the secret that took its place."""
    if subject.presents_old_secret:
        raise SecretSuperseded


def _visible(subject: Subject) -> ColumnElement[bool]:
    return true() if Scope.TENANT_ADMIN in subject.scopes else ApiKey.principal_id == subject.principal


def _distinct(scopes: tuple[Scope, ...] | None) -> list[str] | None:
    return None if scopes is None else sorted(set(scopes))


def _facts(row: ApiKey) -> dict[str, Canonical]:
    return {
        "scopes": row.scopes,
        "clearance": None if row.clearance is None else LEVELS[row.clearance].value,
        "expires_at": None if row.expires_at is None else row.expires_at.isoformat(),
    }


def _shown(row: ApiKey) -> ApiKeyOut:
    return ApiKeyOut(**_fields(row))


def _with_secret(row: ApiKey, credential: Credential) -> ApiKeyWithSecret:
    return ApiKeyWithSecret(**_fields(row), api_key=credential.text)


def _fields(row: ApiKey) -> dict[str, Any]:
    return {
        "id": row.id,
        "principal_id": row.principal_id,
        "name": row.name or None,
        "prefix": f"eai_{row.key_id}",
        "scopes": None if row.scopes is None else tuple(map(Scope, row.scopes)),
        "clearance": None if row.clearance is None else LEVELS[row.clearance],
        "expires_at": row.expires_at,
        "revoked_at": row.revoked_at,
        "old_secret_expires_at": row.previous_expires_at,
        "created_by": row.created_by,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "revision": row.revision,
    }
