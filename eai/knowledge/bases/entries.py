"""Access lists of bases: who may change them, and what must never happen to them."""

from collections.abc import Sequence

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.acl import Entry, Permission
from eai.access.subject import Subject
from eai.audit.actions import AuditAction
from eai.audit.entries import Resource
from eai.audit.service import Audit
from eai.identity.errors import PrincipalUnknown, WouldLockOut
from eai.kernel.ids import TenantId
from eai.knowledge.bases.access import authorise, managed
from eai.knowledge.bases.answers import access_out, entries_out
from eai.knowledge.bases.repository import BaseRows
from eai.knowledge.bases.schemas import AccessOut, EntriesOut
from eai.knowledge.directory import can_anyone_manage, check_references, find_named


class AccessLists:
    """The access lists of a tenant's bases."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit

    async def get(self, session: AsyncSession, subject: Subject, reference: str) -> EntriesOut:
        """The list, for those who manage the base."""
        base = await authorise(session, subject, reference, Permission.MANAGE)
        return entries_out(await BaseRows(session, subject.tenant).entries(base.id), base.revision)

    async def replace(
        self,
        session: AsyncSession,
        subject: Subject,
        reference: str,
        entries: Sequence[Entry],
        revision: int | None,
    ) -> EntriesOut:
        """Make `entries` the whole list. Raises PrincipalUnknown, WouldLockOut."""
        base = await managed(session, subject, reference, revision)
        rows = BaseRows(session, subject.tenant)
        if list(entries) == await rows.entries(base.id):
            return entries_out(entries, base.revision)
        await check_entries(session, subject.tenant, "entries", entries)
        await rows.replace_entries(base.id, entries)
        await rows.update(base.id, {})
        await self._audit.record(
            session,
            subject,
            AuditAction.KNOWLEDGE_BASE_ACL_SET,
            resource=Resource("knowledge_base", str(base.id)),
            facts={"entries": facts_of(entries)},
        )
        return entries_out(entries, base.revision + 1)

    async def explain(
        self, session: AsyncSession, subject: Subject, reference: str, principal: str
    ) -> AccessOut:
        """What `principal` may do with the base, told to those who manage it. Raises PrincipalUnknown."""
        base = await authorise(session, subject, reference, Permission.MANAGE)
        named = await find_named(session, subject.tenant, principal)
        if named is None:
            raise PrincipalUnknown.at("principal")
        return access_out(principal, named, await BaseRows(session, subject.tenant).entries(base.id))


async def check_entries(session: AsyncSession, tenant: TenantId, path: str, entries: Sequence[Entry]) -> None:
    """Raise PrincipalUnknown for a name that means nobody, WouldLockOut if nobody could manage."""
    named = [(f"{path}.{place}.principal", entry.principal) for place, entry in enumerate(entries)]
    await check_references(session, tenant, named)
    if not await can_anyone_manage(session, tenant, entries):
        raise WouldLockOut


def facts_of(entries: Sequence[Entry]) -> list[str]:
    """The list as audit records it: ids and enums only."""
    return [f"{entry.effect} {entry.permission.value} {entry.principal}" for entry in entries]
