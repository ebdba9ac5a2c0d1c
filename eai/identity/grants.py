"""Nobody hands out more than they hold: pure rules, no I/O."""

from collections.abc import Iterable

from eai.access.classification import Classification, lowest
from eai.access.scopes import Role, Scope, scopes_of
from eai.access.subject import Subject
from eai.identity.errors import ClearanceExceeded, ScopeExceedsOwn


def require_scopes(subject: Subject, wanted: Iterable[Scope]) -> None:
    """Raise ScopeExceedsOwn unless `subject` holds every wanted scope itself."""
    excess = frozenset(wanted) - subject.scopes
    if excess:
        raise ScopeExceedsOwn(scopes=sorted(excess))


def require_clearance(subject: Subject, wanted: Classification) -> None:
    """Raise ClearanceExceeded when `wanted` is above the subject's own clearance."""
    if wanted.exceeds(subject.clearance):
        raise ClearanceExceeded(clearance=subject.clearance.value)


def require_role_change(subject: Subject, old: Iterable[Role], new: Iterable[Role]) -> None:
    """Raise ScopeExceedsOwn when a role that is added opens more than `subject` does."""
    require_scopes(subject, scopes_of(frozenset(new) - frozenset(old)))


def require_clearance_change(subject: Subject, old: Classification, new: Classification) -> None:
    """Raise ClearanceExceeded when a clearance is raised above the subject's own."""
    if new.exceeds(old):
        require_clearance(subject, new)


def key_scopes(roles: Iterable[Role], narrowed: Iterable[Scope] | None) -> frozenset[Scope]:
    """What a key opens. Raises ScopeExceedsOwn when it names what its principal does not hold."""
    held = scopes_of(roles)
    if narrowed is None:
        return held
    excess = frozenset(narrowed) - held
    if excess:
        raise ScopeExceedsOwn(scopes=sorted(excess))
    return frozenset(narrowed)


def key_clearance(principal: Classification, narrowed: Classification | None) -> Classification:
    """How high a key reaches. Raises ClearanceExceeded when it names more than its principal's."""
    if narrowed is not None and narrowed.exceeds(principal):
        raise ClearanceExceeded(clearance=principal.value)
    return lowest(principal, narrowed)
