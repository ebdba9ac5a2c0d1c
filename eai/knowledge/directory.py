"""Which principals and groups exist, as access lists and readers lists name them."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, TEXT, ColumnElement, Select, and_, cast, func, literal, not_, or_, select
from sqlalchemy.dialects.postgresql import array
from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.acl import Entry, Permission
from eai.access.scopes import ROLE_SCOPES, Role, Scope, scopes_of
from eai.access.subject import EVERYONE, PrincipalKind
from eai.identity.errors import PrincipalUnknown
from eai.identity.models import Group, GroupMember, Principal
from eai.kernel.ids import TenantId
from eai.knowledge.visibility import overlaps, text_array

_REFERENCE = re.compile(r"(user|service|agent|group):([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")
_TEXTS = ARRAY(TEXT)
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
    names = _names_of_principal()
    manages = and_(overlaps(names, allowed), not_(overlaps(names, denied)))
    administers = overlaps(Principal.roles, _ADMIN_ROLES)
    return bool(await session.scalar(select(_live(tenant).where(or_(administers, manages)).exists())))


async def find_named(session: AsyncSession, tenant: TenantId, reference: str) -> Named | None:
    """Whom `reference` means: `user:<id>` and its like, a bare principal id, `group:<id>` or `tenant:*`."""
    if reference == EVERYONE:
        return Named(frozenset({EVERYONE}), is_admin=False)
    kind, _, text = reference.rpartition(":")
    matched = _REFERENCE.fullmatch(f"{kind or 'user'}:{text.lower()}")
    if matched is None:
        return None
    found = UUID(matched[2])
    if kind == "group":
        is_there = await session.scalar(_groups(tenant, [found]))
        return Named(frozenset({reference, EVERYONE}), is_admin=False) if is_there else None
    row = (
        await session.execute(
            select(Principal.kind, Principal.roles, _names_of_principal())
            .where(Principal.tenant_id == tenant, Principal.id == found, Principal.suspended_at.is_(None))
            .where(or_(literal(kind) == "", Principal.kind == kind))
        )
    ).one_or_none()
    if row is None:
        return None
    return Named(frozenset(row[2]), Scope.KB_ADMIN in scopes_of(Role(role) for role in row.roles))


async def _unknown(session: AsyncSession, tenant: TenantId, references: set[str]) -> set[str]:
    wanted = {r: match for r in references if (match := _REFERENCE.fullmatch(r))}
    unknown = references - wanted.keys() - {EVERYONE}
    groups = {UUID(match[2]) for match in wanted.values() if match[1] == "group"}
    people = {UUID(match[2]) for match in wanted.values() if match[1] != "group"}
    known = {f"group:{found}" for found in await session.scalars(_groups(tenant, groups))}
    rows = await session.execute(
        select(Principal.kind, Principal.id).where(Principal.tenant_id == tenant, Principal.id.in_(people))
    )
    known |= {f"{PrincipalKind(kind)}:{found}" for kind, found in rows}
    return unknown | (wanted.keys() - known)


def _groups(tenant: TenantId, ids: Collection[UUID]) -> Select[UUID]:
    return select(Group.id).where(Group.tenant_id == tenant, Group.id.in_(ids))


def _live(tenant: TenantId) -> Select[UUID]:
    return select(Principal.id).where(Principal.tenant_id == tenant, Principal.suspended_at.is_(None))


def _names_of_principal() -> ColumnElement[list[str]]:
    groups = (
        select(func.array_agg("group:" + cast(GroupMember.group_id, TEXT)))
        .where(GroupMember.tenant_id == Principal.tenant_id, GroupMember.principal_id == Principal.id)
        .scalar_subquery()
    )
    own: Any = array([literal(EVERYONE), Principal.kind + ":" + cast(Principal.id, TEXT)], type_=TEXT())
    return func.array_cat(own, func.coalesce(groups, text_array([])), type_=_TEXTS)
