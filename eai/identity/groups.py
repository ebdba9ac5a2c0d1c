"""Groups and who is in them."""

from hashlib import sha256
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.subject import Subject
from eai.audit.actions import AuditAction
from eai.audit.entries import Resource
from eai.audit.service import Audit
from eai.identity.errors import NameTaken, PrincipalUnknown
from eai.identity.models import Group
from eai.identity.repository import GroupRows, Memberships, PrincipalRows
from eai.identity.schemas import GroupDetail, GroupMembers, GroupOut, NewGroup
from eai.kernel.canonical import Canonical
from eai.kernel.ids import GroupId
from eai.kernel.paging import Page, PageRequest
from eai.platform.listing import next_key


class Groups:
    """What an administrator does with groups; the caller's scope was checked before."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit

    async def create(
        self, session: AsyncSession, subject: Subject, group: GroupId, new: NewGroup
    ) -> GroupDetail:
        """Make an empty group; the same id again by the same creator is the same group.

        Raises NameTaken.
        """
        rows = GroupRows(session, subject.tenant)
        row = await rows.insert(group, name=new.name, created_by=subject.principal)
        if row is None:
            return await self._created_before(session, subject, group)
        await self._record(session, subject, AuditAction.GROUP_CREATE, row, {})
        return _detail(row, ())

    async def get(self, session: AsyncSession, subject: Subject, group: GroupId) -> GroupDetail:
        """One group with its members. Raises NotFound."""
        row = await GroupRows(session, subject.tenant).get(group)
        members = await Memberships(session, subject.tenant).members_of([group])
        return _detail(row, members.get(group, ()))

    async def page(self, session: AsyncSession, subject: Subject, request: PageRequest) -> Page[GroupOut]:
        """The tenant's groups, the oldest first."""
        found = await GroupRows(session, subject.tenant).page(request)
        rows = found[: request.limit]
        counts = await Memberships(session, subject.tenant).counts(row.id for row in rows)
        return Page([_shown(row, counts.get(row.id, 0)) for row in rows], next_key(found, request))

    async def set_members(
        self,
        session: AsyncSession,
        subject: Subject,
        group: GroupId,
        wanted: GroupMembers,
        *,
        revision: int | None = None,
    ) -> GroupDetail:
        """Make the list the group's whole membership.

        Raises NotFound, PreconditionFailed and PrincipalUnknown.
        """
        rows = GroupRows(session, subject.tenant)
        await rows.hold(group, revision=revision)
        unknown = await PrincipalRows(session, subject.tenant).unknown(wanted.members)
        if unknown:
            places = (i for i, member in enumerate(wanted.members) if member in unknown)
            raise PrincipalUnknown.at(*(f"members.{place}" for place in places))
        members = tuple(sorted(set(wanted.members)))
        await Memberships(session, subject.tenant).set_members(group, members)
        row = await rows.change(group)
        facts: dict[str, Canonical] = {"members_count": len(members), "members_digest": _digest(members)}
        await self._record(session, subject, AuditAction.GROUP_MEMBERS_SET, row, facts)
        return _detail(row, members)

    async def delete(
        self, session: AsyncSession, subject: Subject, group: GroupId, *, revision: int | None = None
    ) -> None:
        """Remove a group; whoever could read through it cannot from the commit on.

        Raises NotFound and PreconditionFailed.
        """
        rows = GroupRows(session, subject.tenant)
        row = await rows.hold(group, revision=revision)
        await rows.remove(group)
        await self._record(session, subject, AuditAction.GROUP_DELETE, row, {})

    async def _created_before(self, session: AsyncSession, subject: Subject, group: GroupId) -> GroupDetail:
        row = await GroupRows(session, subject.tenant).find(group)
        if row is None or row.created_by != subject.principal:
            raise NameTaken
        return await self.get(session, subject, group)

    async def _record(
        self,
        session: AsyncSession,
        subject: Subject,
        action: AuditAction,
        row: Group,
        facts: dict[str, Canonical],
    ) -> None:
        await self._audit.record(
            session,
            subject,
            action,
            resource=Resource("group", str(row.id)),
            facts=facts,
            private={"name": row.name},
        )


def _digest(members: tuple[UUID, ...]) -> str:
    """A list of ten thousand ids would weigh on the chain for ever; its digest proves it as well."""
    return sha256(b"".join(member.bytes for member in members)).hexdigest()


def _shown(row: Group, members_count: int) -> GroupOut:
    return GroupOut(
        id=row.id,
        name=row.name,
        members_count=members_count,
        created_at=row.created_at,
        updated_at=row.updated_at,
        revision=row.revision,
    )


def _detail(row: Group, members: tuple[UUID, ...]) -> GroupDetail:
    shown = _shown(row, len(members))
    return GroupDetail(**dict(shown), members=members)
