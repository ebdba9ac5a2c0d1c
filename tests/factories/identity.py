"""Tenants with people in them, made the way the product makes them."""

from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from eai.access.classification import Classification
from eai.access.scopes import Role, Scope
from eai.access.subject import PrincipalKind, Subject
from eai.audit.details import Details
from eai.audit.service import Audit
from eai.identity.api_keys import ApiKeys
from eai.identity.authentication import Authentication
from eai.identity.credentials import Peppers
from eai.identity.groups import Groups
from eai.identity.issuing import Issuing
from eai.identity.me import Introspection
from eai.identity.onboarding import Onboarding
from eai.identity.principals import Principals
from eai.identity.schemas import ApiKeyWithSecret, GroupMembers, NewApiKey, NewGroup, NewPrincipal
from eai.kernel.clock import SystemClock
from eai.kernel.ids import PLATFORM_TENANT, ApiKeyId, GroupId, PrincipalId, TenantId
from eai.platform.database import Database
from eai.platform.keys import Keyring, MasterKey
from eai.tenants.schemas import NewTenant
from eai.tenants.service import Tenants
from eai.tenants.settings import TenantSettings

MASTER_KEY = MasterKey(b"a master key for tests, 32 bytes.")

OPERATOR = Subject(
    tenant=PLATFORM_TENANT,
    principal=PrincipalId(uuid4()),
    kind=PrincipalKind.USER,
    name="Operator",
    roles=(Role.PLATFORM_OPERATOR,),
    groups=frozenset(),
    scopes=frozenset({Scope.PLATFORM_ADMIN}),
    clearance=Classification.PUBLIC,
    api_key=ApiKeyId(uuid4()),
)


@dataclass(frozen=True)
class Person:
    """Somebody who is signed in."""

    subject: Subject
    api_key: str


@dataclass(frozen=True)
class Identity:
    """Every service of tenants and identity over one database."""

    database: Database
    audit: Audit
    peppers: Peppers
    authentication: Authentication
    tenants: Tenants
    settings: TenantSettings
    onboarding: Onboarding
    principals: Principals
    groups: Groups
    api_keys: ApiKeys
    introspection: Introspection

    @classmethod
    def over(cls, database: Database, *, warns_of_conflicts: bool = False) -> "Identity":
        audit = Audit(database, Details(database, Keyring(MASTER_KEY, database)), SystemClock())
        peppers = Peppers(MASTER_KEY)
        tenants = Tenants(database)
        issuing = Issuing(peppers)
        return cls(
            database=database,
            audit=audit,
            peppers=peppers,
            authentication=Authentication(database, peppers),
            tenants=tenants,
            settings=TenantSettings(audit),
            onboarding=Onboarding(database, tenants, issuing, audit, warns_of_conflicts=warns_of_conflicts),
            principals=Principals(audit, warns_of_conflicts=warns_of_conflicts),
            groups=Groups(audit),
            api_keys=ApiKeys(audit, issuing),
            introspection=Introspection(tenants),
        )

    async def administrator(self) -> Person:
        """The bootstrap administrator of a new tenant."""
        tenant = TenantId(uuid4())
        made = await self.onboarding.create(OPERATOR, tenant, NewTenant(name="Acme", slug=f"acme-{tenant}"))
        return await self.signed_in(made.admin_api_key)

    async def signed_in(self, api_key: str) -> Person:
        """Whoever holds `api_key`, as authentication tells."""
        return Person(await self.authentication.authenticate(api_key), api_key)

    async def person(self, by: Person, *roles: Role, **fields: Any) -> Person:
        """A new principal with these roles and a key that follows them."""
        subject = by.subject
        new = NewPrincipal(**{"kind": PrincipalKind.USER, "name": "Bea", "roles": roles, **fields})
        async with self.database.transaction(subject.tenant) as session:
            principal = await self.principals.create(session, subject, PrincipalId(uuid4()), new)
        key = await self.key(by, principal_id=principal.id)
        return await self.signed_in(key.api_key)

    async def key(self, by: Person, **fields: Any) -> ApiKeyWithSecret:
        """A key minted by `by`, for itself unless another principal is named."""
        new = NewApiKey(**{"principal_id": by.subject.principal, **fields})
        async with self.database.transaction(by.subject.tenant) as session:
            return await self.api_keys.create(session, by.subject, ApiKeyId(uuid4()), new)

    async def narrowed(self, by: Person, **fields: Any) -> Person:
        """The same principal behind a narrower key of its own."""
        return await self.signed_in((await self.key(by, **fields)).api_key)

    async def group(self, by: Person, *members: Person) -> GroupId:
        """A group of these people."""
        group = GroupId(uuid4())
        wanted = GroupMembers(members=tuple(member.subject.principal for member in members))
        async with self.database.transaction(by.subject.tenant) as session:
            await self.groups.create(session, by.subject, group, NewGroup(name=f"group {group}"))
            await self.groups.set_members(session, by.subject, group, wanted)
        return group
