"""Every query on principals, groups and keys. Each names the tenant that is bound, too."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, ClassVar, Generic, TypeVar, cast
from uuid import UUID

from sqlalchemy import (
    ARRAY,
    ColumnElement,
    Select,
    Text,
    Uuid,
    all_,
    any_,
    delete,
    func,
    literal,
    or_,
    select,
    true,
    update,
)
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import InstrumentedAttribute
from sqlalchemy.sql.elements import CollectionAggregate

from eai.access.scopes import ROLE_SCOPES, Scope
from eai.identity.models import ApiKey, Group, GroupMember, Principal, RevisedRow
from eai.kernel.errors import NotFound, PreconditionFailed
from eai.kernel.ids import TenantId
from eai.kernel.paging import PageRequest
from eai.platform.database import Database
from eai.platform.listing import part

Found = TypeVar("Found", bound=RevisedRow)


class Rows(Generic[Found]):
    """One table in a bound session: rows are found, held, changed and removed by id."""

    model: ClassVar[type[Any]]

    def __init__(self, session: AsyncSession, tenant: TenantId) -> None:
        self.session = session
        self.tenant = tenant

    async def insert(self, row: UUID, **values: Any) -> Found | None:
        """Add a row; None when the table already has this id or another value that must be unique."""
        statement = insert(self.model).values(tenant_id=self.tenant, id=row, **values)
        added: Found | None = await self.session.scalar(
            statement.on_conflict_do_nothing().returning(self.model)
        )
        return added

    async def find(self, row: UUID, *conditions: ColumnElement[bool]) -> Found | None:
        """The row as it is, if it exists and meets the conditions."""
        return await self.session.scalar(self._mine().where(self.model.id == row, *conditions))

    async def get(self, row: UUID, *conditions: ColumnElement[bool]) -> Found:
        """The row as it is. Raises NotFound."""
        return _existing(await self.find(row, *conditions))

    async def hold(self, row: UUID, *conditions: ColumnElement[bool], revision: int | None = None) -> Found:
        """The row, nobody else's to change until the transaction ends.

        Raises NotFound, and PreconditionFailed unless `revision`, when given, is the current one.
        """
        statement = self._mine().where(self.model.id == row, *conditions).with_for_update(key_share=True)
        held = _existing(await self.session.scalar(statement, execution_options={"populate_existing": True}))
        if revision not in {None, held.revision}:
            raise PreconditionFailed
        return held

    async def change(self, row: UUID, **values: Any) -> Found:
        """Set `values` and count the revision up; the change is of now unless they say otherwise."""
        changes = {"revision": self.model.revision + 1, "updated_at": func.now(), **values}
        statement = (
            update(self.model)
            .where(self.model.tenant_id == self.tenant, self.model.id == row)
            .values(**changes)
            .returning(self.model)
        )
        changed: Found | None = await self.session.scalar(
            statement, execution_options={"populate_existing": True}
        )
        return _existing(changed)

    async def remove(self, row: UUID) -> None:
        """Delete the row and what hangs on it."""
        await self.session.execute(
            delete(self.model).where(self.model.tenant_id == self.tenant, self.model.id == row)
        )

    async def unknown(self, rows: Iterable[UUID]) -> frozenset[UUID]:
        """Those of `rows` that do not exist; the others cannot be deleted before the transaction ends."""
        wanted = frozenset(rows)
        statement = (
            select(self.model.id)
            .where(self.model.tenant_id == self.tenant, self.model.id == _one_of(wanted))
            .order_by(self.model.id)
            .with_for_update(read=True, key_share=True)
        )
        return wanted.difference((await self.session.scalars(statement)).all()) if wanted else wanted

    async def page(self, request: PageRequest, *conditions: ColumnElement[bool]) -> Sequence[Found]:
        """The rows of a page and, when more follow, one of the next."""
        statement = part(self._mine().where(*conditions), self.model, request)
        return (await self.session.scalars(statement)).all()

    def _mine(self) -> Select[Found]:
        return select(self.model).where(self.model.tenant_id == self.tenant)


class PrincipalRows(Rows[Principal]):
    """Principals."""

    model = Principal

    async def has_live_holder(
        self, scope: Scope, *, besides: UUID | None = None, only_bootstrap: bool = False
    ) -> bool:
        """Whether a principal that is not suspended has a role with `scope`, not counting `besides`.

        `only_bootstrap` counts bootstrap administrators and nobody else.
        """
        roles = [role.value for role, scopes in ROLE_SCOPES.items() if scope in scopes]
        holders = self._mine().where(
            Principal.suspended_at.is_(None),
            Principal.roles.op("&&")(literal(roles, ARRAY(Text))),
            Principal.id.is_distinct_from(besides),
            Principal.is_bootstrap if only_bootstrap else true(),
        )
        return await self.session.scalar(select(holders.exists())) is True


class GroupRows(Rows[Group]):
    """Groups."""

    model = Group

    async def names(self, groups: Iterable[UUID]) -> Sequence[tuple[UUID, str]]:
        """Id and name of those of `groups` that exist, by name."""
        statement = select(Group.id, Group.name).where(
            Group.tenant_id == self.tenant, Group.id == _one_of(groups)
        )
        return [(row.id, row.name) for row in await self.session.execute(statement.order_by(Group.name))]


class ApiKeyRows(Rows[ApiKey]):
    """Keys, living and dead."""

    model = ApiKey

    async def now(self) -> datetime:
        """The database's time, which alone decides what is past."""
        return (await self.session.execute(select(func.now()))).scalar_one()

    async def has_live_key(self, principal: UUID, scope: Scope, *, besides: UUID) -> bool:
        """Whether the principal has a key that lives and is not narrowed below `scope`, besides one."""
        living = self._mine().where(
            ApiKey.principal_id == principal,
            ApiKey.id != besides,
            ApiKey.revoked_at.is_(None),
            or_(ApiKey.expires_at.is_(None), ApiKey.expires_at > func.now()),
            or_(ApiKey.scopes.is_(None), literal(scope.value) == any_(ApiKey.scopes)),
        )
        return await self.session.scalar(select(living.exists())) is True


class Memberships:
    """Who is in which group."""

    def __init__(self, session: AsyncSession, tenant: TenantId) -> None:
        self._session = session
        self._tenant = tenant

    async def groups_of(self, principals: Iterable[UUID]) -> Mapping[UUID, tuple[UUID, ...]]:
        """The groups of each principal, by id; nothing for one that is in none."""
        return await self._grouped(GroupMember.principal_id, GroupMember.group_id, principals)

    async def members_of(self, groups: Iterable[UUID]) -> Mapping[UUID, tuple[UUID, ...]]:
        """The members of each group, by id; nothing for one that has none."""
        return await self._grouped(GroupMember.group_id, GroupMember.principal_id, groups)

    async def counts(self, groups: Iterable[UUID]) -> Mapping[UUID, int]:
        """How many members each group has; nothing for one that has none."""
        statement = (
            select(GroupMember.group_id, func.count())
            .where(GroupMember.tenant_id == self._tenant, GroupMember.group_id == _one_of(groups))
            .group_by(GroupMember.group_id)
        )
        return {row[0]: row[1] for row in await self._session.execute(statement)}

    async def set_groups(self, principal: UUID, groups: Iterable[UUID]) -> None:
        """Make `groups` the whole list of the principal's groups."""
        wanted = frozenset(groups)
        await self._leave(GroupMember.principal_id == principal, GroupMember.group_id != _all_of(wanted))
        await self._join([(principal, group) for group in wanted])

    async def set_members(self, group: UUID, members: Iterable[UUID]) -> None:
        """Make `members` the whole list of the group's members."""
        wanted = frozenset(members)
        await self._leave(GroupMember.group_id == group, GroupMember.principal_id != _all_of(wanted))
        await self._join([(member, group) for member in wanted])

    async def _leave(self, *conditions: ColumnElement[bool]) -> None:
        await self._session.execute(
            delete(GroupMember).where(GroupMember.tenant_id == self._tenant, *conditions)
        )

    async def _join(self, pairs: Sequence[tuple[UUID, UUID]]) -> None:
        if pairs:
            rows = [
                {"tenant_id": self._tenant, "principal_id": principal, "group_id": group}
                for principal, group in sorted(pairs)
            ]
            await self._session.execute(insert(GroupMember).on_conflict_do_nothing(), rows)

    async def _grouped(
        self, key: InstrumentedAttribute[UUID], value: InstrumentedAttribute[UUID], keys: Iterable[UUID]
    ) -> Mapping[UUID, tuple[UUID, ...]]:
        statement = (
            select(key, func.array_agg(value.expression, type_=ARRAY(Uuid)))
            .where(GroupMember.tenant_id == self._tenant, key == _one_of(keys))
            .group_by(key)
        )
        return {found: tuple(sorted(values)) for found, values in await self._session.execute(statement)}


async def read_subject(database: Database, key_id: str, macs: Sequence[bytes]) -> Mapping[str, Any] | None:
    """Whom a credential stands for, before any tenant is bound; None when it opens nothing."""
    statement = "SELECT eai.subject(%(key_id)s, %(macs)s)"
    ((row,),) = await database.statement(statement, {"key_id": key_id, "macs": macs}, is_repeatable=True)
    return cast("Mapping[str, Any] | None", row)


def _existing(row: Found | None) -> Found:
    if row is None:
        raise NotFound
    return row


def _one_of(ids: Iterable[UUID]) -> CollectionAggregate[bool]:
    return any_(literal(list(ids), ARRAY(Uuid)))


def _all_of(ids: Iterable[UUID]) -> CollectionAggregate[bool]:
    return all_(literal(list(ids), ARRAY(Uuid)))
