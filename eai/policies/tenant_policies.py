"""The policies that a tenant's security officers keep."""

from hashlib import sha256

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.subject import Subject
from eai.audit.actions import AuditAction
from eai.audit.entries import Resource
from eai.audit.service import Audit
from eai.kernel.canonical import Canonical
from eai.kernel.errors import InvalidInput, NotFound, PreconditionFailed
from eai.kernel.paging import Page, PageRequest
from eai.platform.listing import next_key
from eai.policies.errors import PolicyLimitReached
from eai.policies.models import TenantPolicy
from eai.policies.ports import PolicyEngine, PolicyFault
from eai.policies.repository import PolicyRows
from eai.policies.schemas import NAME, PolicyOut, PolicyText
from eai.tenants.repository import TenantRows

MOST_POLICIES = 100
MOST_CHARACTERS = 65_536
"""Of all of a tenant's texts together: each of them is evaluated before every call of a model."""


class TenantPolicies:
    """What a security officer does with policies; the caller's scope was checked before.

    They bind for calls that begin after the commit.
    """

    def __init__(self, audit: Audit, engine: PolicyEngine) -> None:
        self._audit = audit
        self._engine = engine

    async def get(self, session: AsyncSession, subject: Subject, name: str) -> PolicyOut:
        """One policy. Raises NotFound."""
        return _shown(await PolicyRows(session, subject.tenant).get(_known(name)))

    async def page(self, session: AsyncSession, subject: Subject, request: PageRequest) -> Page[PolicyOut]:
        """The tenant's policies, the oldest first."""
        found = await PolicyRows(session, subject.tenant).page(request)
        return Page([_shown(row) for row in found[: request.limit]], next_key(found, request))

    async def put(
        self,
        session: AsyncSession,
        subject: Subject,
        name: str,
        wanted: PolicyText,
        *,
        revision: int | None = None,
    ) -> PolicyOut:
        """Put a text in force under `name`, in place of the one that is. The same text again changes nothing.

        Raises InvalidInput for a name or a text that will not do, PreconditionFailed unless `revision` is
        the current one, and PolicyLimitReached.
        """
        await self._require_valid(name, wanted.cedar)
        await TenantRows(session, subject.tenant).hold()
        rows = PolicyRows(session, subject.tenant)
        old = await rows.find(name)
        if revision is not None and (old is None or old.revision != revision):
            raise PreconditionFailed
        if old is not None and old.cedar == wanted.cedar:
            return _shown(old)
        await _require_room(rows, name, wanted.cedar)
        row = await rows.put(name, wanted.cedar, subject.principal)
        facts: dict[str, Canonical] = {
            "version": row.version,
            "digest": sha256(wanted.cedar.encode()).hexdigest(),
            "is_new": old is None,
        }
        await self._record(session, subject, AuditAction.POLICY_SET, row, facts)
        return _shown(row)

    async def delete(
        self, session: AsyncSession, subject: Subject, name: str, *, revision: int | None = None
    ) -> None:
        """Take a policy out of force; its versions stay on record. Raises NotFound and PreconditionFailed."""
        await TenantRows(session, subject.tenant).hold()
        rows = PolicyRows(session, subject.tenant)
        row = await rows.get(_known(name))
        if revision not in {None, row.revision}:
            raise PreconditionFailed
        version = await rows.remove(name, subject.principal)
        await self._record(session, subject, AuditAction.POLICY_DELETE, row, {"version": version})

    async def _require_valid(self, name: str, cedar: str) -> None:
        if NAME.fullmatch(name) is None:
            raise InvalidInput(
                {"path": "name", "code": "string_pattern_mismatch", "message": "", "pattern": NAME.pattern}
            )
        faults = await self._engine.faults(cedar)
        if faults:
            raise InvalidInput(*map(_field, faults))

    async def _record(
        self,
        session: AsyncSession,
        subject: Subject,
        action: AuditAction,
        row: TenantPolicy,
        facts: dict[str, Canonical],
    ) -> None:
        await self._audit.record(
            session,
            subject,
            action,
            resource=Resource("policy", str(row.id)),
            facts=facts,
            private={"name": row.name},
        )


def _known(name: str) -> str:
    """`name`, which may be one. Raises NotFound for what no policy is ever called."""
    if NAME.fullmatch(name) is None:
        raise NotFound
    return name


async def _require_room(rows: PolicyRows, name: str, cedar: str) -> None:
    """The tenant's row is held, so that nobody fills the room meanwhile."""
    others = await rows.extent_beside(name)
    if others.policies >= MOST_POLICIES:
        raise PolicyLimitReached(f"{MOST_POLICIES} policies")
    if others.characters + len(cedar) > MOST_CHARACTERS:
        raise PolicyLimitReached(f"{MOST_CHARACTERS} characters")


def _field(fault: PolicyFault) -> dict[str, str]:
    place = {"line": str(fault.line), "column": str(fault.column), "reason": fault.reason}
    message = f"Line {fault.line}, column {fault.column}: {fault.reason}"
    return {"path": "cedar", "code": "policy_invalid", "message": message, **place}


def _shown(row: TenantPolicy) -> PolicyOut:
    return PolicyOut(
        name=row.name,
        cedar=row.cedar,
        version=str(row.version),
        created_at=row.created_at,
        updated_at=row.updated_at,
        revision=row.revision,
    )
