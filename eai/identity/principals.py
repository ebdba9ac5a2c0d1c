"""People, services and agents: made, changed, suspended and removed by a tenant's administrators."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from sqlalchemy import func
from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import LEVELS, Classification
from eai.access.scopes import Role, Scope, scopes_of
from eai.access.subject import PrincipalKind, Subject
from eai.audit.actions import AuditAction
from eai.audit.entries import Resource
from eai.audit.service import Audit
from eai.identity.duties import warn_of_conflicting_duties
from eai.identity.errors import PrincipalUnknown, WouldLockOut
from eai.identity.grants import require_clearance_change, require_role_change
from eai.identity.models import Principal
from eai.identity.repository import GroupRows, Memberships, PrincipalRows
from eai.identity.schemas import NewPrincipal, PrincipalOut, PrincipalPatch
from eai.identity.secret_holders import SecretHolders
from eai.kernel.errors import NotFound
from eai.kernel.ids import PrincipalId, TenantId
from eai.kernel.paging import Page, PageRequest
from eai.platform.listing import next_key
from eai.tenants.repository import TenantRows


class Principals:
    """What an administrator does with principals; the caller's scope was checked before.

    `warns_of_conflicts` logs `sod_conflict` when one principal comes to hold duties that should be
    apart. Rights of others may be taken, but never given beyond the subject's own.
    """

    def __init__(self, audit: Audit, *, warns_of_conflicts: bool) -> None:
        self._audit = audit
        self._warns_of_conflicts = warns_of_conflicts

    async def create(
        self, session: AsyncSession, subject: Subject, principal: PrincipalId, new: NewPrincipal
    ) -> PrincipalOut:
        """Make a principal; the same id again by the same creator is the same principal.

        Raises ScopeExceedsOwn, ClearanceExceeded and PrincipalUnknown (for a group).
        """
        require_role_change(subject, (), new.roles)
        require_clearance_change(subject, Classification.PUBLIC, new.clearance)
        await _require_groups(session, subject.tenant, new.groups)
        rows = PrincipalRows(session, subject.tenant)
        row = await rows.insert(
            principal,
            kind=new.kind,
            name=new.name,
            clearance=new.clearance.rank,
            roles=_distinct(new.roles),
            created_by=subject.principal,
        )
        if row is None:
            return await self._created_before(session, subject, principal)
        # Whoever makes a principal can have a key of it made, by themselves or by somebody they ask.
        await SecretHolders(session, subject.tenant).add(principal, subject.principal)
        await Memberships(session, subject.tenant).set_groups(principal, new.groups)
        if self._warns_of_conflicts:
            warn_of_conflicting_duties(row.id, map(Role, row.roles))
        await self._record(
            session, subject, AuditAction.PRINCIPAL_CREATE, row, new.model_dump(mode="json", exclude={"name"})
        )
        return _shown(row, tuple(sorted(set(new.groups))))

    async def get(self, session: AsyncSession, subject: Subject, principal: PrincipalId) -> PrincipalOut:
        """One principal. Raises NotFound."""
        row = await PrincipalRows(session, subject.tenant).get(principal)
        groups = await Memberships(session, subject.tenant).groups_of([principal])
        return _shown(row, groups.get(principal, ()))

    async def page(self, session: AsyncSession, subject: Subject, request: PageRequest) -> Page[PrincipalOut]:
        """The tenant's principals, the oldest first."""
        found = await PrincipalRows(session, subject.tenant).page(request)
        rows = found[: request.limit]
        groups = await Memberships(session, subject.tenant).groups_of(row.id for row in rows)
        return Page([_shown(row, groups.get(row.id, ())) for row in rows], next_key(found, request))

    async def update(
        self,
        session: AsyncSession,
        subject: Subject,
        principal: PrincipalId,
        patch: PrincipalPatch,
        *,
        revision: int | None = None,
    ) -> PrincipalOut:
        """Change what `patch` names.

        Raises NotFound, PreconditionFailed, ScopeExceedsOwn, ClearanceExceeded, PrincipalUnknown (for
        a group) and WouldLockOut.
        """
        rows = PrincipalRows(session, subject.tenant)
        old = await rows.hold(principal, revision=revision)
        _require_grantable(subject, old, patch)
        await _require_groups(session, subject.tenant, patch.groups or ())
        if _loses_administration(old, patch):
            await _require_another_administrator(session, subject.tenant, old)
        row = await rows.change(principal, **_changes(patch))
        memberships = Memberships(session, subject.tenant)
        if patch.groups is not None:
            await memberships.set_groups(principal, patch.groups)
        groups = await memberships.groups_of([principal])
        if self._warns_of_conflicts:
            warn_of_conflicting_duties(row.id, map(Role, row.roles))
        await self._record(
            session,
            subject,
            AuditAction.PRINCIPAL_UPDATE,
            row,
            patch.model_dump(mode="json", exclude={"name"}, exclude_none=True),
        )
        return _shown(row, groups.get(principal, ()))

    async def delete(
        self,
        session: AsyncSession,
        subject: Subject,
        principal: PrincipalId,
        *,
        revision: int | None = None,
    ) -> None:
        """Remove a principal with its keys and memberships; its keys open nothing from the commit on.

        Raises NotFound, PreconditionFailed and WouldLockOut.
        """
        rows = PrincipalRows(session, subject.tenant)
        row = await rows.hold(principal, revision=revision)
        if _administers(row):
            await _require_another_administrator(session, subject.tenant, row)
        await rows.remove(principal)
        await self._record(session, subject, AuditAction.PRINCIPAL_DELETE, row, {})

    async def has_live_holder(self, session: AsyncSession, tenant: TenantId, scope: Scope) -> bool:
        """Whether some principal that is not suspended has a role with `scope`."""
        return await PrincipalRows(session, tenant).has_live_holder(scope)

    async def _created_before(
        self, session: AsyncSession, subject: Subject, principal: PrincipalId
    ) -> PrincipalOut:
        row = await PrincipalRows(session, subject.tenant).get(principal)
        if row.created_by != subject.principal:
            raise NotFound
        return await self.get(session, subject, principal)

    async def _record(
        self,
        session: AsyncSession,
        subject: Subject,
        action: AuditAction,
        row: Principal,
        facts: dict[str, Any],
    ) -> None:
        await self._audit.record(
            session,
            subject,
            action,
            resource=Resource("principal", str(row.id)),
            facts=facts,
            private={"name": row.name},
        )


async def _require_groups(session: AsyncSession, tenant: TenantId, groups: Iterable[UUID]) -> None:
    named = list(groups)
    unknown = await GroupRows(session, tenant).unknown(named)
    if unknown:
        raise PrincipalUnknown.at(*(f"groups.{i}" for i, group in enumerate(named) if group in unknown))


async def _require_another_administrator(session: AsyncSession, tenant: TenantId, row: Principal) -> None:
    """The tenant's row is held from here on, so that two administrators cannot remove each other.

    Only a bootstrap administrator can stand in for one: nobody else makes the first key of a user.
    """
    await TenantRows(session, tenant).hold()
    rows = PrincipalRows(session, tenant)
    if not await rows.has_live_holder(Scope.TENANT_ADMIN, besides=row.id, only_bootstrap=row.is_bootstrap):
        raise WouldLockOut


def _require_grantable(subject: Subject, old: Principal, patch: PrincipalPatch) -> None:
    if patch.roles is not None:
        require_role_change(subject, map(Role, old.roles), patch.roles)
    if patch.clearance is not None:
        require_clearance_change(subject, LEVELS[old.clearance], patch.clearance)


def _administers(row: Principal) -> bool:
    return row.suspended_at is None and Scope.TENANT_ADMIN in scopes_of(map(Role, row.roles))


def _loses_administration(old: Principal, patch: PrincipalPatch) -> bool:
    is_stripped = patch.roles is not None and Scope.TENANT_ADMIN not in scopes_of(patch.roles)
    return _administers(old) and (is_stripped or patch.suspended is True)


def _changes(patch: PrincipalPatch) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if patch.name is not None:
        changes["name"] = patch.name
    if patch.clearance is not None:
        changes["clearance"] = patch.clearance.rank
    if patch.roles is not None:
        changes["roles"] = _distinct(patch.roles)
    if patch.suspended is not None:
        since = func.coalesce(Principal.suspended_at, func.now())
        changes["suspended_at"] = since if patch.suspended else None
    return changes


def _distinct(roles: Iterable[Role]) -> list[str]:
    return list(dict.fromkeys(role.value for role in roles))


def _shown(row: Principal, groups: tuple[UUID, ...]) -> PrincipalOut:
    return PrincipalOut(
        id=row.id,
        kind=PrincipalKind(row.kind),
        name=row.name,
        clearance=LEVELS[row.clearance],
        roles=tuple(map(Role, row.roles)),
        groups=groups,
        is_bootstrap=row.is_bootstrap,
        suspended=row.suspended_at is not None,
        suspended_at=row.suspended_at,
        created_at=row.created_at,
        updated_at=row.updated_at,
        revision=row.revision,
    )
