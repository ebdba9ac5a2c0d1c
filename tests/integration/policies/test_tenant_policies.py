import asyncio

import pytest
from sqlalchemy import text
from sqlalchemy.exc import ProgrammingError

from eai.kernel.errors import InvalidInput, NotFound, PreconditionFailed
from eai.kernel.ids import TenantId
from eai.kernel.paging import PageRequest
from eai.policies.errors import PolicyLimitReached
from eai.policies.repository import PolicyRows
from eai.policies.tenant_policies import MOST_CHARACTERS, MOST_POLICIES
from tests.integration.policies.conftest import Officers

AGENTS = "forbid (principal is Agent, action, resource);"
ABROAD = 'forbid (principal, action, resource) unless { resource.region == "eu" };'


async def _told(officers: Officers, tenant: TenantId) -> list[tuple[str, str, dict[str, object]]]:
    async with officers.database.transaction(tenant) as session:
        rows = await session.execute(
            text("SELECT action, resource_id, convert_from(body, 'UTF8')::jsonb->'facts' "
                 "FROM eai.audit_events WHERE action LIKE 'policy.%' ORDER BY seq")
        )  # fmt: skip
        return [tuple(row) for row in rows]


async def test_every_change_is_a_version_that_stays(officers: Officers) -> None:
    officer = await officers.officer()
    made = await officers.put(officer, "agents", AGENTS)
    assert (made.name, made.cedar, made.version, made.revision) == ("agents", AGENTS, "1", 1)
    await officers.put(officer, "abroad", ABROAD)
    changed = await officers.put(officer, "agents", ABROAD, revision=1)
    assert (changed.version, changed.revision) == ("3", 2)
    await officers.delete(officer, "abroad")
    versions = [await officers.at(officer.tenant, version) for version in range(6)]
    assert versions == [
        {},
        {"agents": AGENTS},
        {"agents": AGENTS, "abroad": ABROAD},
        {"agents": ABROAD, "abroad": ABROAD},
        {"agents": ABROAD},
        {"agents": ABROAD},
    ]


async def test_changes_are_on_record_without_their_words(officers: Officers) -> None:
    officer = await officers.officer()
    await officers.put(officer, "agents", AGENTS)
    await officers.put(officer, "agents", ABROAD)
    await officers.delete(officer, "agents")
    told = await _told(officers, officer.tenant)
    assert [(action, facts["version"]) for action, _, facts in told] == [
        ("policy.set", 1),
        ("policy.set", 2),
        ("policy.delete", 3),
    ]
    assert len({resource for _, resource, _ in told}) == 1
    assert [facts["is_new"] for _, _, facts in told[:2]] == [True, False]
    assert "agents" not in str(told)
    assert "forbid" not in str(told)


async def test_the_same_text_again_changes_nothing(officers: Officers) -> None:
    officer = await officers.officer()
    made = await officers.put(officer, "agents", AGENTS)
    assert await officers.put(officer, "agents", AGENTS, revision=1) == made
    assert len(await _told(officers, officer.tenant)) == 1


async def test_an_outdated_revision_changes_nothing(officers: Officers) -> None:
    officer = await officers.officer()
    with pytest.raises(PreconditionFailed):
        await officers.put(officer, "agents", AGENTS, revision=1)
    await officers.put(officer, "agents", AGENTS)
    for revision in (0, 2):
        with pytest.raises(PreconditionFailed):
            await officers.put(officer, "agents", ABROAD, revision=revision)
        with pytest.raises(PreconditionFailed):
            await officers.delete(officer, "agents", revision=revision)
    assert await officers.at(officer.tenant, 9) == {"agents": AGENTS}


async def test_what_is_deleted_can_be_made_again(officers: Officers) -> None:
    officer = await officers.officer()
    await officers.put(officer, "agents", AGENTS)
    await officers.delete(officer, "agents", revision=1)
    with pytest.raises(NotFound):
        await officers.delete(officer, "agents")
    made = await officers.put(officer, "agents", AGENTS)
    assert (made.version, made.revision) == ("3", 1)


async def test_policies_are_listed_from_the_oldest_on(officers: Officers) -> None:
    officer = await officers.officer()
    for name in ("c", "a", "b"):
        await officers.put(officer, name, AGENTS)
    seen, after = [], None
    for _ in range(2):
        async with officers.database.transaction(officer.tenant) as session:
            page = await officers.tenant_policies.page(session, officer, PageRequest(2, after))
        seen += [policy.name for policy in page.items]
        after = page.next_key
    assert (seen, after) == (["c", "a", "b"], None)


@pytest.mark.parametrize("name", ["", "A", "a b", "-a", "a-", "a/b", "../a", "é", "a" * 64, "a\n", "a#1"])
async def test_a_name_is_short_and_plain(officers: Officers, name: str) -> None:
    officer = await officers.officer()
    with pytest.raises(InvalidInput) as refused:
        await officers.put(officer, name, AGENTS)
    assert [fault["path"] for fault in refused.value.details["fields"]] == ["name"]  # type: ignore[union-attr,index]
    with pytest.raises(NotFound):
        await officers.delete(officer, name)


async def test_there_is_room_for_so_many(officers: Officers) -> None:
    officer = await officers.officer()
    async with officers.database.transaction(officer.tenant) as session:
        rows = PolicyRows(session, officer.tenant)
        for number in range(MOST_POLICIES):
            await rows.put(f"p{number}", AGENTS, officer.principal)
    with pytest.raises(PolicyLimitReached) as refused:
        await officers.put(officer, "one-more", AGENTS)
    assert refused.value.details == {"limit": "100 policies"}
    await officers.put(officer, "p0", ABROAD)
    await officers.delete(officer, "p1")
    await officers.put(officer, "one-more", AGENTS)


async def test_there_is_room_for_so_much(officers: Officers) -> None:
    officer = await officers.officer()
    async with officers.database.transaction(officer.tenant) as session:
        await PolicyRows(session, officer.tenant).put("long", "/" * (MOST_CHARACTERS - 50), officer.principal)
    with pytest.raises(PolicyLimitReached) as refused:
        await officers.put(officer, "abroad", ABROAD)
    assert refused.value.details == {"limit": "65536 characters"}
    await officers.put(officer, "agents", AGENTS)
    await officers.put(officer, "long", ABROAD)


async def test_two_officers_at_once_make_two_versions(officers: Officers) -> None:
    officer = await officers.officer()
    names = [f"p{number}" for number in range(8)]
    made = await asyncio.gather(*(officers.put(officer, name, AGENTS) for name in names))
    assert sorted(policy.version for policy in made) == [str(version) for version in range(1, 9)]
    assert set(await officers.at(officer.tenant, 8)) == set(names)


async def test_of_two_that_saw_the_same_revision_one_wins(officers: Officers) -> None:
    officer = await officers.officer()
    await officers.put(officer, "agents", AGENTS)
    texts = [f"{AGENTS} // {number}" for number in range(4)]
    ends = await asyncio.gather(
        *(officers.put(officer, "agents", cedar, revision=1) for cedar in texts), return_exceptions=True
    )
    assert sorted(type(end).__name__ for end in ends) == ["PolicyOut", *["PreconditionFailed"] * 3]


@pytest.mark.parametrize(
    "verb", ["UPDATE eai.policy_versions SET cedar = ''", "DELETE FROM eai.policy_versions"]
)
async def test_what_was_in_force_cannot_be_rewritten(officers: Officers, verb: str) -> None:
    officer = await officers.officer()
    await officers.put(officer, "agents", AGENTS)
    with pytest.raises(ProgrammingError, match="permission denied"):
        async with officers.database.transaction(officer.tenant) as session:
            await session.execute(text(verb))
