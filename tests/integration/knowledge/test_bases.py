"""Bases: made, named, seen, changed and gone."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest

from eai.access.classification import Classification
from eai.access.scopes import Role
from eai.identity.errors import ClearanceExceeded, NameTaken, PrincipalUnknown, WouldLockOut
from eai.kernel.errors import InvalidInput, NotFound, PreconditionFailed
from eai.kernel.ids import BaseId
from eai.kernel.paging import PageRequest
from eai.knowledge.bases.schemas import BaseOut, BasePatch, NewBase
from eai.knowledge.errors import ClassificationExceeded, PermissionMissing
from tests.factories.identity import Person
from tests.factories.knowledge import Knowledge, me


async def create(knowledge: Knowledge, by: Person, **fields: Any) -> BaseOut:
    async with knowledge.database.transaction(by.subject.tenant) as session:
        return await knowledge.bases.create(session, by.subject, BaseId(uuid4()), NewBase(**fields))


async def get(knowledge: Knowledge, by: Person, reference: object) -> BaseOut:
    async with knowledge.database.transaction(by.subject.tenant) as session:
        return await knowledge.bases.get(session, by.subject, str(reference))


async def patch(
    knowledge: Knowledge, by: Person, base: BaseOut, revision: int | None = None, **fields: Any
) -> BaseOut:
    async with knowledge.database.transaction(by.subject.tenant) as session:
        return await knowledge.bases.update(session, by.subject, str(base.id), BasePatch(**fields), revision)


async def visible(knowledge: Knowledge, by: Person) -> set[str]:
    async with knowledge.database.transaction(by.subject.tenant) as session:
        page = await knowledge.bases.page(session, by.subject, PageRequest(200))
    return {base.name for base in page.items}


async def test_a_base_is_found_by_its_id_and_by_its_alias(knowledge: Knowledge, admin: Person) -> None:
    made = await create(knowledge, admin, name="Support Équipe")
    assert made.alias == "kb_support-equipe"
    assert made.classification is Classification.INTERNAL
    assert (made.chunk_size, made.chunk_overlap) == (800, 100)
    assert (made.documents_count, made.chunks_count) == (0, 0)
    assert await get(knowledge, admin, made.id) == await get(knowledge, admin, "kb_support-equipe") == made


async def test_the_creator_manages_and_nobody_else_sees_it(knowledge: Knowledge, admin: Person) -> None:
    maker = await knowledge.identity.person(admin, Role.KB_MANAGER)
    other = await knowledge.identity.person(admin, Role.KB_MANAGER)
    made = await create(knowledge, maker, name="mine")
    async with knowledge.database.transaction(maker.subject.tenant) as session:
        acl = await knowledge.access_lists.get(session, maker.subject, str(made.id))
    assert [(e.principal, e.permission, e.effect) for e in acl.entries] == [(me(maker), "manage", "allow")]
    for reference in (made.id, made.alias):
        with pytest.raises(NotFound):
            await get(knowledge, other, reference)
    assert await visible(knowledge, other) == set()


@pytest.mark.parametrize(
    "reference",
    ["", "x", "kb_", "kb_../x", "kb_nothing", "0" * 32, "0b6f3c1e-9a52-4d7e-8c1a-2f4e6d8b0a13", "space_1"],
)
async def test_what_names_no_base_is_not_found(knowledge: Knowledge, admin: Person, reference: str) -> None:
    with pytest.raises(NotFound):
        await get(knowledge, admin, reference)


async def test_another_tenants_base_is_not_found(knowledge: Knowledge, admin: Person) -> None:
    stranger = await knowledge.identity.administrator()
    made = await create(knowledge, admin, name="mine")
    for reference in (made.id, made.alias):
        with pytest.raises(NotFound):
            await get(knowledge, stranger, reference)
    assert (await create(knowledge, stranger, name="mine")).alias == "kb_mine"


async def test_a_name_is_taken_only_by_a_base_that_one_sees(knowledge: Knowledge, admin: Person) -> None:
    maker = await knowledge.identity.person(admin, Role.KB_MANAGER)
    other = await knowledge.identity.person(admin, Role.KB_MANAGER)
    await create(knowledge, maker, name="Plans")
    with pytest.raises(NameTaken):
        await create(knowledge, maker, name="plans")
    made = await create(knowledge, other, name="Plans")
    assert made.alias == f"kb_plans-{made.id.hex[:8]}"
    assert (await get(knowledge, other, made.alias)).id == made.id


async def test_of_two_creations_of_one_name_at_once_one_wins(knowledge: Knowledge, admin: Person) -> None:
    outcomes = await asyncio.gather(
        *(create(knowledge, admin, name="race") for _ in range(4)), return_exceptions=True
    )
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["BaseOut"] + ["NameTaken"] * 3


async def test_strangers_creating_one_name_at_once_all_succeed(knowledge: Knowledge, admin: Person) -> None:
    makers = [await knowledge.identity.person(admin, Role.KB_MANAGER) for _ in range(3)]
    made = await asyncio.gather(*(create(knowledge, maker, name="race") for maker in makers))
    assert len({base.alias for base in made}) == 3
    assert "kb_race" in {base.alias for base in made}


async def test_the_same_id_again_makes_nothing_new(knowledge: Knowledge, admin: Person) -> None:
    base = BaseId(uuid4())
    for _ in range(2):
        async with knowledge.database.transaction(admin.subject.tenant) as session:
            made = await knowledge.bases.create(session, admin.subject, base, NewBase(name="once"))
        assert made.id == base
    assert await visible(knowledge, admin) == {"once"}


async def test_a_level_above_ones_own_is_refused(knowledge: Knowledge, admin: Person) -> None:
    maker = await knowledge.identity.person(admin, Role.KB_MANAGER)
    with pytest.raises(ClearanceExceeded):
        await create(knowledge, maker, name="x", classification="restricted")


async def test_a_level_above_the_models_ceiling_is_refused(knowledge: Knowledge, admin: Person) -> None:
    with pytest.raises(ClassificationExceeded):
        await create(knowledge, admin, name="x", classification="secret", embedding_model="capped")
    made = await create(knowledge, admin, name="x", classification="internal", embedding_model="capped")
    with pytest.raises(ClassificationExceeded):
        await patch(knowledge, admin, made, classification="restricted")


async def test_a_model_or_principal_that_does_not_exist_is_named(knowledge: Knowledge, admin: Person) -> None:
    with pytest.raises(InvalidInput) as refused:
        await create(knowledge, admin, name="x", embedding_model="gpt-9")
    assert refused.value.details["fields"][0]["path"] == "embedding_model"  # type: ignore[index]
    stranger = await knowledge.identity.administrator()
    own = {"principal": me(admin), "permission": "manage"}
    for name in (me(stranger), f"group:{uuid4()}", f"agent:{admin.subject.principal}", "everyone"):
        acl = [own, {"principal": name, "permission": "read"}]
        with pytest.raises(PrincipalUnknown) as unknown:
            await create(knowledge, admin, name="x", acl=acl)
        assert unknown.value.details["fields"][0]["path"] == "acl.1.principal"  # type: ignore[index]


async def test_nobody_can_lock_everybody_out(knowledge: Knowledge, admin: Person) -> None:
    maker = await knowledge.identity.person(admin, Role.KB_MANAGER)
    made = await create(knowledge, maker, name="mine")
    # While an administrator of all bases lives, even an empty list locks nobody out.
    async with knowledge.database.transaction(maker.subject.tenant) as session:
        await knowledge.access_lists.replace(session, maker.subject, str(made.id), [], None)
    await knowledge.rows(
        maker.subject.tenant,
        "UPDATE eai.principals SET suspended_at = now() WHERE id = :id",
        id=admin.subject.principal,
    )
    own = {"principal": me(maker), "permission": "manage"}
    for acl in ([], [own | {"permission": "write"}], [own, own | {"effect": "deny", "permission": "read"}]):
        with pytest.raises(WouldLockOut):
            await create(knowledge, maker, name="locked", acl=acl)
    assert (await create(knowledge, maker, name="open", acl=[own])).name == "open"
    everyone = [{"principal": "tenant:*", "permission": "manage"}]
    assert (await create(knowledge, maker, name="for all", acl=everyone)).name == "for all"


async def test_a_member_of_a_managing_group_is_somebody(knowledge: Knowledge, admin: Person) -> None:
    maker = await knowledge.identity.person(admin, Role.KB_MANAGER)
    full = await knowledge.identity.group(admin, maker)
    empty = await knowledge.identity.group(admin)
    await knowledge.rows(
        maker.subject.tenant,
        "UPDATE eai.principals SET suspended_at = now() WHERE id = :id",
        id=admin.subject.principal,
    )
    acl = [{"principal": f"group:{full}", "permission": "manage"}]
    assert (await create(knowledge, maker, name="by group", acl=acl)).name == "by group"
    acl = [{"principal": f"group:{empty}", "permission": "manage"}]
    with pytest.raises(WouldLockOut):
        await create(knowledge, maker, name="by nobody", acl=acl)


async def test_counts_are_for_those_who_manage(knowledge: Knowledge, admin: Person) -> None:
    reader = await knowledge.identity.person(admin, Role.MEMBER)
    base = await knowledge.base(admin, (me(reader), "read"))
    await knowledge.document(admin, base, "one", "two")
    shown = await get(knowledge, admin, base.id)
    assert (shown.documents_count, shown.chunks_count) == (1, 2)
    shown = await get(knowledge, reader, base.id)
    assert (shown.documents_count, shown.chunks_count) == (None, None)


async def test_pages_follow_each_other_without_gaps(knowledge: Knowledge, admin: Person) -> None:
    for number in range(5):
        await create(knowledge, admin, name=f"base {number}")
    seen, after = [], None
    while True:
        async with knowledge.database.transaction(admin.subject.tenant) as session:
            page = await knowledge.bases.page(session, admin.subject, PageRequest(2, after))
        seen += [base.name for base in page.items]
        after = page.next_key
        if after is None:
            break
    assert seen == [f"base {number}" for number in range(5)]


async def test_a_rename_moves_nothing(knowledge: Knowledge, admin: Person) -> None:
    made = await create(knowledge, admin, name="Old")
    renamed = await patch(knowledge, admin, made, name="New", description="About us")
    assert (renamed.name, renamed.description, renamed.alias) == ("New", "About us", "kb_old")
    assert renamed.revision == made.revision + 1
    assert (await get(knowledge, admin, "kb_old")).name == "New"


async def test_a_change_based_on_an_old_revision_is_refused(knowledge: Knowledge, admin: Person) -> None:
    made = await create(knowledge, admin, name="x")
    await patch(knowledge, admin, made, revision=made.revision, name="y")
    with pytest.raises(PreconditionFailed):
        await patch(knowledge, admin, made, revision=made.revision, name="z")


async def test_lowering_the_level_takes_a_reason_and_the_clearance_for_what_it_was(
    knowledge: Knowledge, admin: Person
) -> None:
    manager = await knowledge.identity.person(admin, Role.KB_MANAGER, clearance="internal")
    base = await knowledge.base(admin, (me(manager), "manage"), classification="restricted")
    with pytest.raises(InvalidInput):
        await patch(knowledge, admin, base, classification="public")
    with pytest.raises(ClearanceExceeded):
        await patch(knowledge, manager, base, classification="public", reason="I want to read it")
    lowered = await patch(knowledge, admin, base, classification="public", reason="Published")
    assert lowered.classification is Classification.PUBLIC


async def test_only_managers_change_a_base(knowledge: Knowledge, admin: Person) -> None:
    writer = await knowledge.identity.person(admin, Role.KB_MANAGER)
    base = await knowledge.base(admin, (me(writer), "write"))
    with pytest.raises(PermissionMissing):
        await patch(knowledge, writer, base, name="mine now")
    with pytest.raises(PermissionMissing):
        await knowledge.set_entries(writer, base)
    async with knowledge.database.transaction(writer.subject.tenant) as session:
        with pytest.raises(PermissionMissing):
            await knowledge.access_lists.get(session, writer.subject, str(base.id))


async def test_access_is_explained_to_managers(knowledge: Knowledge, admin: Person) -> None:
    ann = await knowledge.identity.person(admin, Role.MEMBER)
    bob = await knowledge.identity.person(admin, Role.MEMBER)
    group = await knowledge.identity.group(admin, ann, bob)
    base = await knowledge.base(admin, (f"group:{group}", "write"), (me(bob), "write", "deny"))

    async def explain(reference: str) -> tuple[list[bool], str | None, str | None]:
        async with knowledge.database.transaction(admin.subject.tenant) as session:
            told = await knowledge.access_lists.explain(session, admin.subject, str(base.id), reference)
        allowed = [told.allowed.read, told.allowed.write, told.allowed.manage]
        return allowed, told.decided_by and told.decided_by.principal, told.by_scope

    assert await explain(me(ann)) == ([True, True, False], f"group:{group}", None)
    assert await explain(str(bob.subject.principal)) == ([True, False, False], f"group:{group}", None)
    assert await explain(f"group:{group}") == ([True, True, False], f"group:{group}", None)
    assert await explain("tenant:*") == ([False, False, False], None, None)
    assert await explain(me(admin)) == ([True, True, True], me(admin), "kb:admin")
    with pytest.raises(PrincipalUnknown):
        await explain(f"user:{uuid4()}")


async def test_every_change_of_a_base_is_one_audit_event(knowledge: Knowledge, admin: Person) -> None:
    base = await knowledge.base(admin)
    await patch(knowledge, admin, base, name="New")
    await patch(knowledge, admin, base, name="New")
    await knowledge.set_entries(admin, base, ("tenant:*", "read"))
    await knowledge.set_entries(admin, base, ("tenant:*", "read"))
    rows = await knowledge.rows(
        admin.subject.tenant,
        "SELECT action FROM eai.audit_events WHERE resource_id = :id ORDER BY seq",
        id=str(base.id),
    )
    assert [action for (action,) in rows] == [
        "knowledge_base.create",
        "knowledge_base.update",
        "knowledge_base.acl.set",
    ]
