"""What can go wrong with principals, groups and keys."""

from collections.abc import Iterable

from eai.kernel.errors import Conflict, Forbidden, InvalidInput


class PrincipalUnknown(InvalidInput):
    """The body names a principal or a group that the tenant does not have."""

    code = "principal_unknown"

    @classmethod
    def at(cls, *paths: str) -> "PrincipalUnknown":
        """Every place that names one, in dotted form (`members.3`)."""
        return cls(*({"path": path, "code": "principal_unknown", "message": "unknown"} for path in paths))


class NameTaken(Conflict):
    """Another one of the tenant goes by that name."""

    code = "name_taken"


class WouldLockOut(Conflict):
    """Nobody would be left who can do this again."""

    code = "would_lock_out"


class ScopeExceedsOwn(Forbidden):
    """It would open operations that the credential which asks, or the key's principal, does not open."""

    code = "scope_exceeds_own"


class ClearanceExceeded(Forbidden):
    """It would reach a level above the clearance of the credential which asks."""

    code = "clearance_exceeded"


class ExpiryExceeded(Forbidden):
    """It would open longer than the credential which asks, whose end `expires_at` tells."""

    code = "expiry_exceeds_own"


class ScopeMissing(Forbidden):
    """The credential lacks a scope of the operation; `scopes` names what would open it."""

    code = "scope_missing"

    def __init__(self, scopes: Iterable[str]) -> None:
        super().__init__(scopes=sorted(scopes))


class MintedByItsUser(Forbidden):
    """Keys of a user are made by that user, or by the tenant's bootstrap administrator."""

    code = "user_mints_own_keys"


class KeyNotLive(Conflict):
    """The key is revoked or past its time and stays so."""

    code = "key_not_live"


class SecretAlreadyShown(Conflict):
    """The key was made by an earlier request, and secrets are shown once; rotate it for another."""

    code = "secret_already_shown"


class SecretSuperseded(Forbidden):
    """The key was rotated; its old secret still opens what it did, but changes no key."""

    code = "secret_superseded"
