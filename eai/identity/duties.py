"""Duties that one principal should not hold together."""

from collections.abc import Iterable
from uuid import UUID

import structlog

from eai.access.scopes import Role

log = structlog.get_logger(__name__)

# Who is watched does not watch, and who submits documents does not release them from quarantine.
CONFLICTS: tuple[tuple[Role, Role], ...] = (
    (Role.AUDITOR, Role.TENANT_ADMIN),
    (Role.AUDITOR, Role.SECURITY_OFFICER),
    (Role.AUDITOR, Role.DATA_STEWARD),
    (Role.DATA_STEWARD, Role.KB_MANAGER),
    (Role.DATA_STEWARD, Role.INGESTOR),
    (Role.SECURITY_OFFICER, Role.TENANT_ADMIN),
)


def conflicting_duties(roles: Iterable[Role]) -> tuple[tuple[Role, Role], ...]:
    """The pairs among `roles` that should be apart."""
    held = frozenset(roles)
    return tuple(pair for pair in CONFLICTS if held.issuperset(pair))


def warn_of_conflicting_duties(principal: UUID, roles: Iterable[Role]) -> None:
    """Log `sod_conflict` once when `principal` comes to hold duties that should be apart."""
    pairs = conflicting_duties(roles)
    if pairs:
        duties = [f"{one.value}+{other.value}" for one, other in pairs]
        log.warning("sod_conflict", principal=str(principal), duties=duties)
