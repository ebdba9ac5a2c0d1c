"""Tenants as schedules find them: made once by the product itself, then copied, rows and points."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID, uuid4

import psycopg

from eai.access.acl import Entry, Permission
from eai.access.classification import Classification
from eai.access.rights_class import generation_key
from eai.access.scopes import BOOTSTRAP_ADMINISTRATOR_ROLES, Role, scopes_of
from eai.access.subject import PrincipalKind, Subject
from eai.identity.credentials import Credential
from eai.kernel.ids import ApiKeyId, BaseId, DocumentId, GenerationId, JobId, PrincipalId, TenantId
from eai.knowledge.ports import Point, SpaceId
from tests.factories.retrieval import PEPPERS
from tests.fakes.memory_vectors import MemoryVectors

ROLES: Mapping[str, tuple[Role, ...]] = {
    "admin": BOOTSTRAP_ADMINISTRATOR_ROLES,
    "ann": (Role.MEMBER,),
    "ben": (Role.MEMBER,),
}
CLEARANCES = {"admin": Classification.SECRET, "ann": Classification.INTERNAL, "ben": Classification.SECRET}


@dataclass(frozen=True)
class Person:
    """Somebody who asks."""

    subject: Subject
    credential: str

    @property
    def reference(self) -> str:
        return f"user:{self.subject.principal}"


@dataclass(frozen=True)
class Tenant:
    """What a schedule plays on. `reindex` is one that has completed and may be taken back."""

    id: TenantId
    base: BaseId
    people: Mapping[str, Person]
    documents: Sequence[DocumentId] = ()
    reindex: JobId | None = None

    @property
    def admin(self) -> Subject:
        return self.people["admin"].subject


@dataclass(frozen=True)
class Template:
    """A tenant at rest, and its points by space."""

    tenant: Tenant
    generations: Sequence[GenerationId]
    points: Mapping[SpaceId, Sequence[Point]]

    def copied(self, admin: psycopg.Connection[Any], store: MemoryVectors, id_: TenantId) -> Tenant:
        """The same under another tenant; its points are put into `store`."""
        people = {
            name: _with_key(replace(person.subject, tenant=id_, api_key=ApiKeyId(uuid4())))
            for name, person in self.tenant.people.items()
        }
        with admin.pipeline():
            admin.execute("SELECT copy_tenant(%s, %s)", [self.tenant.id, id_])
            for person in people.values():
                insert_key(admin, person)
        keys = {generation_key(self.tenant.id, g): generation_key(id_, g) for g in self.generations}
        for space, points in self.points.items():
            store.put(space, [_moved(point, keys) for point in points])
        return replace(self.tenant, id=id_, people=people)


def new_people(admin: psycopg.Connection[Any], tenant: TenantId) -> Mapping[str, Person]:
    """The tenant and its people."""
    admin.execute(
        "INSERT INTO eai.tenants (tenant_id, slug, name) VALUES (%s, %s, 'Test')", [tenant, f"t-{tenant}"]
    )
    people = {}
    for number, (name, roles) in enumerate(ROLES.items(), 1):
        subject = Subject(
            tenant=tenant,
            principal=PrincipalId(UUID(int=number)),
            kind=PrincipalKind.USER,
            name=name,
            roles=roles,
            groups=frozenset(),
            scopes=scopes_of(roles),
            clearance=CLEARANCES[name],
            api_key=ApiKeyId(uuid4()),
        )
        admin.execute(
            "INSERT INTO eai.principals (tenant_id, id, kind, name, clearance, roles)"
            " VALUES (%s, %s, 'user', %s, %s, %s)",
            [tenant, subject.principal, name, subject.clearance.rank, [*roles]],
        )
        people[name] = _with_key(subject)
        insert_key(admin, people[name])
    return people


def entries(people: Mapping[str, Person]) -> list[Entry]:
    """Everybody reads, and the administrator manages."""
    return [
        Entry(people["admin"].reference, Permission.MANAGE),
        Entry("tenant:*", Permission.READ),
    ]


def insert_key(admin: psycopg.Connection[Any], person: Person) -> None:
    credential, subject = Credential.parse(person.credential), person.subject
    admin.execute(
        "INSERT INTO eai.api_keys (tenant_id, id, principal_id, key_id, secret_mac)"
        " VALUES (%s, %s, %s, %s, %s)",
        [subject.tenant, subject.api_key, subject.principal, credential.key_id, PEPPERS.seal(credential)],
    )


def _with_key(subject: Subject) -> Person:
    return Person(subject, Credential.generate().text)


def _moved(point: Point, keys: Mapping[str, str]) -> Point:
    key = keys[point.generation_key]
    return replace(point, generation_key=key, rights_key=f"{key}:{point.rights_key.partition(':')[2]}")
