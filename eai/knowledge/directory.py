"""Which principals and groups exist, as access lists and readers lists name them."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.acl import Entry, Permission
from eai.access.scopes import ROLE_SCOPES, Role, Scope, scopes_of
from eai.access.subject import EVERYONE, PrincipalKind
from eai.identity.errors import PrincipalUnknown
from eai.kernel.ids import TenantId
from eai.knowledge.directory_rows import DirectoryRows

_REFERENCE = re.compile(r"(user|service|agent|group):([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
_ADMIN_ROLES = [role.value for role, scopes in ROLE_SCOPES.items() if Scope.KB_ADMIN in scopes]


@dataclass(frozen=True, slots=True)
class Named:
    """Whom a reference means: every name they go by, and whether they hold `kb:admin`."""

    references: frozenset[str]
    is_admin: bool


async def check_references(
    session: AsyncSession, tenant: TenantId, references: Collection[tuple[str, str]]
) -> None:
    """Raise PrincipalUnknown unless every `(path, reference)` names somebody of the tenant."""
    unknown = await _unknown(session, tenant, {reference for _, reference in references})
    if unknown:
        raise PrincipalUnknown.at(*(path for path, reference in references if reference in unknown))


async def can_anyone_manage(session: AsyncSession, tenant: TenantId, entries: Iterable[Entry]) -> bool:
    """Whether a live principal has manage by `entries`, or administers every base of the tenant."""
    entries = tuple(entries)
    allowed = [e.principal for e in entries if e.effect == "allow" and e.permission is Permission.MANAGE]
    # Denying any rung denies manage, which stands above all.
    denied = [e.principal for e in entries if e.effect == "deny"]
    return await DirectoryRows(session, tenant).has_any(_ADMIN_ROLES, allowed, denied)


async def find_named(session: AsyncSession, tenant: TenantId, reference: str) -> Named | None:
    """Whom `reference` means: `user:<id>` and its like, a bare principal id, `group:<id>` or `tenant:*`."""
    if reference == EVERYONE:
        return Named(frozenset({EVERYONE}), is_admin=False)
    kind, _, text = reference.rpartition(":")
    matched = _REFERENCE.fullmatch(f"{kind or 'user'}:{text.lower()}")
    if matched is None:
        return None
    rows, found = DirectoryRows(session, tenant), UUID(matched[2])
    if kind == "group":
        return Named(frozenset({reference, EVERYONE}), is_admin=False) if await rows.groups([found]) else None
    principal = await rows.roles_and_names(found, kind)
    if principal is None:
        return None
    roles, names = principal
    return Named(frozenset(names), Scope.KB_ADMIN in scopes_of(Role(role) for role in roles))


async def _unknown(session: AsyncSession, tenant: TenantId, references: set[str]) -> set[str]:
    wanted = {r: match for r in references if (match := _REFERENCE.fullmatch(r))}
    unknown = references - wanted.keys() - {EVERYONE}
    groups = {UUID(match[2]) for match in wanted.values() if match[1] == "group"}
    people = {UUID(match[2]) for match in wanted.values() if match[1] != "group"}
    rows = DirectoryRows(session, tenant)
    known = {f"group:{found}" for found in await rows.groups(groups)}
    known |= {f"{PrincipalKind(kind)}:{found}" for kind, found in await rows.principals(people)}
    return unknown | (wanted.keys() - known)
