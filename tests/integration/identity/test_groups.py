import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import pytest

from eai.access.scopes import Role
from eai.identity.errors import NameTaken, PrincipalUnknown
from eai.identity.schemas import GroupDetail, GroupMembers, NewGroup
from eai.kernel.errors import EaiError, NotFound, PreconditionFailed
from eai.kernel.ids import GroupId, TenantId
from eai.kernel.paging import PageRequest
from tests.factories.identity import Identity, Person

Actions = Callable[[TenantId], Awaitable[list[str]]]


async def _create(identity: Identity, by: Person, name: str, group: Any = None) -> GroupDetail:
    async with identity.database.transaction(by.subject.tenant) as session:
        return await identity.groups.create(
            session, by.subject, GroupId(group or uuid4()), NewGroup(name=name)
        )


async def _set(identity: Identity, by: Person, group: Any, *members: Any, **options: Any) -> GroupDetail:
    async with identity.database.transaction(by.subject.tenant) as session:
        return await identity.groups.set_members(
            session, by.subject, GroupId(group), GroupMembers(members=members), **options
        )


async def test_a_group_starts_empty_and_takes_a_whole_list(
    identity: Identity, admin: Person, actions: Actions
) -> None:
    bea, carl = await identity.person(admin), await identity.person(admin, kind="agent")
    group = await _create(identity, admin, "Claims")
    assert (group.name, group.members, group.members_count) == ("Claims", (), 0)
    ids = sorted([bea.subject.principal, carl.subject.principal])
    assert (await _set(identity, admin, group.id, *ids, ids[0])).members == tuple(ids)
    only_carl = await _set(identity, admin, group.id, carl.subject.principal)
    assert (only_carl.members, only_carl.members_count) == ((carl.subject.principal,), 1)
    async with identity.database.transaction(admin.subject.tenant) as session:
        assert await identity.groups.get(session, admin.subject, GroupId(group.id)) == only_carl
        listed = await identity.groups.page(session, admin.subject, PageRequest())
    assert [(g.name, g.members_count) for g in listed.items] == [("Claims", 1)]
    assert (await actions(admin.subject.tenant))[-3:] == [
        "group.create",
        "group.members.set",
        "group.members.set",
    ]


async def test_unknown_members_change_nothing(identity: Identity, admin: Person) -> None:
    bea, stranger = await identity.person(admin), await identity.administrator()
    group = await identity.group(admin, bea)
    for unknown in (stranger.subject.principal, uuid4(), group):
        with pytest.raises(PrincipalUnknown) as refused:
            await _set(identity, admin, group, unknown, bea.subject.principal)
        assert refused.value.details == {
            "fields": [{"path": "members.0", "code": "principal_unknown", "message": "unknown"}]
        }
    assert (await identity.signed_in(bea.api_key)).subject.groups == {group}


async def test_a_name_is_taken_within_its_tenant_only(identity: Identity, admin: Person) -> None:
    await _create(identity, admin, "Legal")
    with pytest.raises(NameTaken):
        await _create(identity, admin, "Legal")
    await _create(identity, await identity.administrator(), "Legal")


async def test_a_repeated_creation_has_one_effect(
    identity: Identity, admin: Person, actions: Actions
) -> None:
    group = uuid4()
    first = await _create(identity, admin, "Legal", group)
    assert await _create(identity, admin, "Legal", group) == first
    assert (await actions(admin.subject.tenant)).count("group.create") == 1
    deputy = await identity.person(admin, Role.TENANT_ADMIN)
    with pytest.raises(NameTaken):
        await _create(identity, deputy, "Other", group)


async def test_deleting_a_group_ends_its_memberships(
    identity: Identity, admin: Person, actions: Actions
) -> None:
    bea = await identity.person(admin)
    group = await identity.group(admin, bea)
    async with identity.database.transaction(admin.subject.tenant) as session:
        await identity.groups.delete(session, admin.subject, group)
    assert (await identity.signed_in(bea.api_key)).subject.groups == frozenset()
    assert (await actions(admin.subject.tenant))[-1] == "group.delete"
    with pytest.raises(NotFound):
        await _set(identity, admin, group, bea.subject.principal)


async def test_another_tenants_group_does_not_exist(identity: Identity, admin: Person) -> None:
    foreign = await identity.group(await identity.administrator())
    with pytest.raises(NotFound):
        await _set(identity, admin, foreign)
    with pytest.raises(NotFound):
        async with identity.database.transaction(admin.subject.tenant) as session:
            await identity.groups.get(session, admin.subject, foreign)


async def test_an_outdated_revision_changes_nothing(identity: Identity, admin: Person) -> None:
    group = await _create(identity, admin, "Legal")
    await _set(identity, admin, group.id, admin.subject.principal, revision=group.revision)
    with pytest.raises(PreconditionFailed):
        await _set(identity, admin, group.id, revision=group.revision)


async def test_a_member_who_is_deleted_meanwhile_is_unknown_or_gone(
    identity: Identity, admin: Person
) -> None:
    for _ in range(5):
        bea = await identity.person(admin)
        group = await identity.group(admin)

        async def remove(person: Person = bea) -> None:
            async with identity.database.transaction(admin.subject.tenant) as session:
                await identity.principals.delete(session, admin.subject, person.subject.principal)

        results = await asyncio.gather(
            remove(), _set(identity, admin, group, bea.subject.principal), return_exceptions=True
        )
        failed = [result for result in results if isinstance(result, BaseException)]
        assert all(isinstance(result, EaiError) and result.code == "principal_unknown" for result in failed)
        async with identity.database.transaction(admin.subject.tenant) as session:
            assert (await identity.groups.get(session, admin.subject, group)).members == ()
