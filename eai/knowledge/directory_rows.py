"""Every query on the principals and groups that access lists and readers lists may name."""

from collections.abc import Collection, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, TEXT, ColumnElement, and_, cast, func, literal, not_, or_, select
from sqlalchemy.dialects.postgresql import array
from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.subject import EVERYONE
from eai.identity.models import Group, GroupMember, Principal
from eai.kernel.ids import TenantId
from eai.knowledge.visibility import overlaps, text_array

_TEXTS = ARRAY(TEXT)


class DirectoryRows:
    """The principals and groups of one tenant. Names are references, such as `user:<id>` or `tenant:*`."""

    def __init__(self, session: AsyncSession, tenant: TenantId) -> None:
        self._session = session
        self._tenant = tenant
        self._live = (Principal.tenant_id == tenant, Principal.suspended_at.is_(None))

    async def groups(self, ids: Collection[UUID]) -> Collection[UUID]:
        """Those of `ids` that are groups."""
        found = select(Group.id).where(Group.tenant_id == self._tenant, Group.id.in_(ids))
        return (await self._session.scalars(found)).all()

    async def principals(self, ids: Collection[UUID]) -> Collection[tuple[str, UUID]]:
        """Kind and id of those of `ids` that are principals, suspended or not."""
        found = select(Principal.kind, Principal.id).where(
            Principal.tenant_id == self._tenant, Principal.id.in_(ids)
        )
        return [(kind, principal) for kind, principal in await self._session.execute(found)]

    async def roles_and_names(self, principal: UUID, kind: str) -> tuple[Sequence[str], Sequence[str]] | None:
        """The roles of a live principal and every name it goes by. An empty `kind` takes any."""
        found = select(Principal.roles, _names_of_principal()).where(
            *self._live, Principal.id == principal, or_(literal(kind) == "", Principal.kind == kind)
        )
        row = (await self._session.execute(found)).one_or_none()
        return None if row is None else (row[0], row[1])

    async def has_any(
        self, roles: Collection[str], allowed: Collection[str], denied: Collection[str]
    ) -> bool:
        """Whether a live principal holds one of `roles`, or has a name in `allowed` and none in `denied`."""
        names = _names_of_principal()
        is_named = and_(overlaps(names, allowed), not_(overlaps(names, denied)))
        found = select(Principal.id).where(*self._live, or_(overlaps(Principal.roles, roles), is_named))
        return bool(await self._session.scalar(select(found.exists())))


def _names_of_principal() -> ColumnElement[list[str]]:
    groups = (
        select(func.array_agg("group:" + cast(GroupMember.group_id, TEXT)))
        .where(GroupMember.tenant_id == Principal.tenant_id, GroupMember.principal_id == Principal.id)
        .scalar_subquery()
    )
    own: Any = array([literal(EVERYONE), Principal.kind + ":" + cast(Principal.id, TEXT)], type_=TEXT())
    return func.array_cat(own, func.coalesce(groups, text_array([])), type_=_TEXTS)
