"""What a key may be at most, measured against the credential that asks for it."""

from datetime import datetime

from eai.access.classification import LEVELS, Classification, lowest
from eai.access.scopes import Role, Scope, scopes_of
from eai.access.subject import Subject
from eai.identity.errors import ClearanceExceeded, ExpiryExceeded, ScopeExceedsOwn
from eai.identity.grants import key_clearance, key_scopes, require_clearance, require_scopes
from eai.identity.models import ApiKey, Principal
from eai.identity.repository import ApiKeyRows, PrincipalRows


async def require_within_own(
    rows: ApiKeyRows,
    subject: Subject,
    owner: Principal,
    scopes: tuple[Scope, ...] | None,
    clearance: Classification | None,
) -> None:
    """Hold the key to its principal's rights and to the subject's, today and later.

    A key that follows its principal live would outgrow a narrowed sibling that made it, so a narrowed
    credential makes only narrowed keys for its own principal.
    """
    opened = key_scopes(map(Role, owner.roles), scopes)
    require_scopes(subject, opened)
    require_clearance(subject, key_clearance(LEVELS[owner.clearance], clearance))
    if owner.id != subject.principal or (scopes is not None and clearance is not None):
        return
    parent = await rows.get(subject.api_key)
    if scopes is None and parent.scopes is not None:
        raise ScopeExceedsOwn(scopes=sorted(opened))
    if clearance is None and parent.clearance is not None:
        raise ClearanceExceeded(clearance=subject.clearance.value)


async def require_revocable(rows: ApiKeyRows, subject: Subject, row: ApiKey) -> None:
    """Raise ScopeExceedsOwn or ClearanceExceeded for another key of the subject's own that is wider.

    Only what the key opens today counts: one that names what its principal has lost is no wider for it.
    Neither does its end, since a key that is taken away opens nothing for longer.
    """
    if row.principal_id != subject.principal or row.id == subject.api_key:
        return
    owner = await PrincipalRows(rows.session, rows.tenant).get(row.principal_id)
    held = scopes_of(map(Role, owner.roles))
    scopes = None if row.scopes is None else tuple(scope for scope in map(Scope, row.scopes) if scope in held)
    clearance = None if row.clearance is None else lowest(LEVELS[owner.clearance], LEVELS[row.clearance])
    await require_within_own(rows, subject, owner, scopes, clearance)


async def require_no_longer_life(rows: ApiKeyRows, subject: Subject, expires_at: datetime | None) -> None:
    """Raise ExpiryExceeded for a key, whosever it is, that lives past the end of the one which asks.

    An absent expiry is not filled in: whoever asks for a key without end should not find it dead one day.
    """
    end = (await rows.get(subject.api_key)).expires_at
    if end is not None and (expires_at is None or expires_at > end):
        raise ExpiryExceeded(expires_at=end.isoformat())
