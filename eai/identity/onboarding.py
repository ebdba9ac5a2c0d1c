"""How a tenant comes to be, with the one administrator who can make all the others."""

from dataclasses import dataclass, field, replace
from uuid import uuid4, uuid5

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import Classification
from eai.access.scopes import BOOTSTRAP_ADMINISTRATOR_ROLES, Role, scopes_of
from eai.access.subject import PrincipalKind, Subject
from eai.audit.actions import AuditAction
from eai.audit.entries import Resource
from eai.audit.service import Audit
from eai.identity.credentials import Credential
from eai.identity.duties import warn_of_conflicting_duties
from eai.identity.errors import SecretAlreadyShown
from eai.identity.issuing import Issuing
from eai.identity.repository import ApiKeyRows, PrincipalRows
from eai.identity.schemas import TenantWithKey
from eai.kernel.ids import PLATFORM_TENANT, ApiKeyId, PrincipalId, TenantId
from eai.platform.database import Database
from eai.tenants.errors import SlugTaken
from eai.tenants.schemas import NewTenant
from eai.tenants.service import Tenants

PLATFORM = NewTenant(name="Platform", slug="platform")
DEFAULT = NewTenant(name="Default", slug="default")


@dataclass(frozen=True, slots=True)
class FirstKeys:
    """The keys of the two principals that a new installation starts with."""

    administrator: Credential = field(default_factory=Credential.generate)
    operator: Credential = field(default_factory=Credential.generate)


@dataclass(frozen=True, slots=True)
class _Founder:
    """The first principal of a tenant. Its ids follow from the tenant's, so that a repetition finds them."""

    tenant: TenantId
    name: str
    roles: tuple[Role, ...]
    clearance: Classification
    is_bootstrap: bool

    @property
    def principal(self) -> PrincipalId:
        return PrincipalId(uuid5(self.tenant, "founder"))

    @property
    def key(self) -> ApiKeyId:
        return ApiKeyId(uuid5(self.tenant, "founder.key"))

    def subject(self) -> Subject:
        return Subject(
            tenant=self.tenant,
            principal=self.principal,
            kind=PrincipalKind.USER,
            name=self.name,
            roles=self.roles,
            groups=frozenset(),
            scopes=scopes_of(self.roles),
            clearance=self.clearance,
            api_key=self.key,
            is_bootstrap=self.is_bootstrap,
        )


@dataclass(frozen=True, slots=True)
class _Founded:
    """The key of a founder as it now is, and whether its tenant was made with it."""

    founder: _Founder
    credential: Credential
    is_new: bool


def _administrator(tenant: TenantId) -> _Founder:
    return _Founder(
        tenant, "Administrator", BOOTSTRAP_ADMINISTRATOR_ROLES, Classification.SECRET, is_bootstrap=True
    )


def _operator() -> _Founder:
    return _Founder(
        PLATFORM_TENANT,
        "Platform operator",
        (Role.PLATFORM_OPERATOR,),
        Classification.PUBLIC,
        is_bootstrap=False,
    )


class Onboarding:
    """Creates tenants, each in a transaction bound to it.

    `warns_of_conflicts` logs `sod_conflict` for a first administrator, who holds every duty.
    """

    def __init__(
        self,
        database: Database,
        tenants: Tenants,
        issuing: Issuing,
        audit: Audit,
        *,
        warns_of_conflicts: bool,
    ) -> None:
        self._warns_of_conflicts = warns_of_conflicts
        self._database = database
        self._tenants = tenants
        self._issuing = issuing
        self._audit = audit

    async def create(self, subject: Subject, tenant: TenantId, new: NewTenant) -> TenantWithKey:
        """Create a tenant with its bootstrap administrator, whose key is in this answer only.

        Both the tenant's chain and the platform's record it once, each in its own transaction, the
        tenant's first: no chain ever tells of a tenant that is not there. The same id again, soon after,
        is the same tenant with another key; later it is SecretAlreadyShown. Either way it completes what
        a crash has left out. Raises SlugTaken.
        """
        try:
            async with self._database.transaction(tenant) as session:
                founded = await self._found(session, _administrator(tenant), new, subject.principal)
                shown = await self._tenants.get(session, tenant)
                await self._record(session, replace(subject, tenant=tenant), founded, new)
        except SecretAlreadyShown:
            await self._tell_platform(subject, tenant, new)
            raise
        await self._tell_platform(subject, tenant, new)
        return TenantWithKey(**dict(shown), admin_api_key=founded.credential.text)

    async def first_start(self, keys: FirstKeys | None = None) -> FirstKeys | None:
        """Create tenant `default`, its administrator and the platform's operator; None if they exist.

        A caller that must not lose the keys to a crash stores its own first and hands them in again
        until None comes back. Needs two connections at once: the new tenant's row, not yet committed,
        keeps a second process waiting until the platform is complete.
        """
        made = keys or FirstKeys()
        tenant = TenantId(uuid4())
        try:
            async with self._database.transaction(tenant) as session:
                administrator = _administrator(tenant)
                founded = await self._found(session, administrator, DEFAULT, None, made.administrator)
                await self._ensure_platform(made.operator)
                await self._record(session, administrator.subject(), founded, DEFAULT)
        except SlugTaken:
            return None
        return made

    async def _ensure_platform(self, credential: Credential) -> None:
        operator = _operator()
        async with self._database.transaction(PLATFORM_TENANT) as session:
            founded = await self._found(session, operator, PLATFORM, None, credential)
            await self._record(session, operator.subject(), founded, PLATFORM)

    async def _tell_platform(self, subject: Subject, tenant: TenantId, new: NewTenant) -> None:
        """Record the creation in the chain of the platform, unless an earlier request got as far."""
        async with self._database.transaction(subject.tenant) as session:
            # Two requests for one tenant would both find nothing.
            await session.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(str(tenant), 0))))
            resource = _tenant_resource(tenant)
            action = AuditAction.TENANT_CREATE
            if not await self._audit.has_recorded(session, subject.tenant, action, resource):
                await self._audit.record(session, subject, action, resource=resource, private=_names(new))

    async def _found(
        self,
        session: AsyncSession,
        founder: _Founder,
        new: NewTenant,
        creator: PrincipalId | None,
        credential: Credential | None = None,
    ) -> _Founded:
        """Add the tenant, its first principal and that one's key; what is there already is completed."""
        is_new = await self._tenants.add(session, founder.tenant, new)
        await PrincipalRows(session, founder.tenant).insert(
            founder.principal,
            kind=PrincipalKind.USER,
            name=founder.name,
            clearance=founder.clearance.rank,
            roles=[role.value for role in founder.roles],
            is_bootstrap=founder.is_bootstrap,
            created_by=creator,
        )
        if self._warns_of_conflicts:
            warn_of_conflicting_duties(founder.principal, founder.roles)
        keys = ApiKeyRows(session, founder.tenant)
        issued = await self._issuing.issue(
            keys, founder.key, founder.principal, created_by=creator, credential=credential, name="first key"
        )
        if issued is not None:
            secret = issued[1]
        elif credential is not None:
            secret = await self._issuing.replace(keys, founder.key, credential)
        else:
            _, secret = await self._issuing.issue_again(keys, founder.key, creator)
        return _Founded(founder, secret, is_new)

    async def _record(
        self, session: AsyncSession, subject: Subject, founded: _Founded, new: NewTenant
    ) -> None:
        """What was done: the tenant made, or only its first key given another secret."""
        if founded.is_new:
            action, resource = AuditAction.TENANT_CREATE, _tenant_resource(founded.founder.tenant)
            await self._audit.record(session, subject, action, resource=resource, private=_names(new))
        else:
            action, resource = AuditAction.API_KEY_ROTATE, Resource("api_key", str(founded.founder.key))
            facts = {"principal": str(founded.founder.principal)}
            await self._audit.record(session, subject, action, resource=resource, facts=facts)


def _tenant_resource(tenant: TenantId) -> Resource:
    return Resource("tenant", str(tenant))


def _names(new: NewTenant) -> dict[str, str]:
    return {"name": new.name, "slug": new.slug}
