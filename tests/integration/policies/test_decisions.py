"""What stored policies come to: they narrow, they are one tenant's, and the version that was named binds."""

from dataclasses import replace

import pytest

from eai.integrations.opa import OpaPolicies
from eai.policies.errors import PolicyDenied, PolicyFailed, PolicyUnavailable
from eai.policies.repository import PolicyRows
from eai.policies.rule_sets import RuleSets
from tests.factories.policies import CONTEXT, MODEL, PRINCIPAL, question
from tests.fakes.recorder import Answer, recording
from tests.integration.policies.conftest import Officers

EVERYTHING = "permit (principal, action, resource);"
NOTHING = "forbid (principal, action, resource);"
AGENTS = "forbid (principal is Agent, action, resource);"


async def test_a_tenants_forbid_binds(officers: Officers) -> None:
    officer = await officers.officer()
    await officers.put(officer, "no-agents", AGENTS)
    await officers.require(officer.tenant, 1)
    with pytest.raises(PolicyDenied) as denied:
        await officers.require(officer.tenant, 1, principal=replace(PRINCIPAL, kind="agent"))
    assert denied.value.details == {"policies": ["no-agents"]}


async def test_a_tenant_that_permits_everything_widens_nothing(officers: Officers) -> None:
    officer = await officers.officer()
    await officers.put(officer, "everything", EVERYTHING)
    too_high = {**CONTEXT, "level": 3}
    for version in (0, 1):
        with pytest.raises(PolicyDenied) as denied:
            await officers.require(officer.tenant, version, context=too_high)
        assert denied.value.details == {"policies": ["shipped/ceiling"]}
    await officers.put(officer, "nothing", NOTHING)
    with pytest.raises(PolicyDenied) as denied:
        await officers.require(officer.tenant, 2)
    assert denied.value.details == {"policies": ["nothing"]}


async def test_a_forbid_that_errors_denies(officers: Officers) -> None:
    officer = await officers.officer()
    await officers.put(officer, "agents", AGENTS)
    overflowing = "forbid (principal, action, resource) when { context.texts * 9223372036854775807 > 0 };"
    await officers.put(officer, "overflowing", overflowing)
    with pytest.raises(PolicyFailed) as failed:
        await officers.require(officer.tenant, 2)
    assert failed.value.details == {"policies": ["overflowing"]}
    await officers.delete(officer, "overflowing")
    await officers.require(officer.tenant, 3)


async def test_an_attribute_that_is_unknown_denies_even_where_the_text_was_stored(officers: Officers) -> None:
    """As after an upgrade that takes an attribute from the schema."""
    officer = await officers.officer()
    async with officers.database.transaction(officer.tenant) as session:
        unknown = "forbid (principal, action, resource) when { context.colour == 1 };"
        await PolicyRows(session, officer.tenant).put("old", unknown, officer.principal)
    with pytest.raises(PolicyFailed) as failed:
        await officers.require(officer.tenant, 1)
    assert failed.value.details == {"policies": ["old"]}


async def test_a_stored_text_that_cannot_be_read_denies(officers: Officers) -> None:
    officer = await officers.officer()
    async with officers.database.transaction(officer.tenant) as session:
        await PolicyRows(session, officer.tenant).put("torn", "forbid (", officer.principal)
    with pytest.raises(PolicyFailed) as failed:
        await officers.require(officer.tenant, 1)
    assert failed.value.details == {"policies": ["torn"]}


async def test_a_question_with_an_unknown_attribute_denies(officers: Officers) -> None:
    officer = await officers.officer()
    with pytest.raises(PolicyFailed):
        await officers.require(officer.tenant, 0, context={**CONTEXT, "colour": "red"})
    with pytest.raises(PolicyFailed):
        await officers.require(
            officer.tenant, 0, resource=replace(MODEL, attributes={**MODEL.attributes, "colour": "red"})
        )


async def test_another_tenants_policies_never_apply(officers: Officers) -> None:
    mine, theirs = await officers.officer(), await officers.officer()
    await officers.put(theirs, "nothing", NOTHING)
    deciding = officers.deciding()
    for _ in range(2):
        await deciding.require(question(tenant=mine.tenant, version=1))
        with pytest.raises(PolicyDenied):
            await deciding.require(question(tenant=theirs.tenant, version=1))
    await officers.put(mine, "agents", AGENTS)
    await officers.require(mine.tenant, 1)


async def test_policies_cannot_be_read_across_tenants(officers: Officers) -> None:
    mine, theirs = await officers.officer(), await officers.officer()
    await officers.put(theirs, "nothing", NOTHING)
    async with officers.database.transaction(mine.tenant) as session:
        rows = PolicyRows(session, theirs.tenant)
        assert await rows.find("nothing") is None
        assert await rows.at(1) == {}
        assert (await rows.extent_beside("x")).policies == 0


async def test_the_version_that_is_named_binds_whatever_came_later(officers: Officers) -> None:
    officer = await officers.officer()
    await officers.put(officer, "agents", AGENTS)
    await officers.put(officer, "nothing", NOTHING)
    await officers.delete(officer, "nothing")
    await officers.delete(officer, "agents")
    deciding = officers.deciding()
    for version, is_allowed in ((1, True), (2, False), (3, True), (4, True), (2, False), (1, True)):
        asked = question(tenant=officer.tenant, version=version)
        if is_allowed:
            await deciding.require(asked)
        else:
            with pytest.raises(PolicyDenied):
                await deciding.require(asked)


async def test_a_set_is_read_once_and_the_longest_unused_goes_first(officers: Officers) -> None:
    officer = await officers.officer()
    for number in range(3):
        await officers.put(officer, f"p{number}", AGENTS)
    sets = RuleSets(officers.database, officers.engine, most_kept=2)
    first, second = await sets.of(officer.tenant, 1), await sets.of(officer.tenant, 2)
    assert await sets.of(officer.tenant, 1) is first
    await sets.of(officer.tenant, 3)
    assert await sets.of(officer.tenant, 1) is first
    assert await sets.of(officer.tenant, 2) is not second


async def test_an_outside_engine_only_narrows(officers: Officers) -> None:
    officer = await officers.officer()
    await officers.put(officer, "agents", AGENTS)
    answers = {"allow": True}
    async with recording(lambda _: Answer({"result": answers})) as opa:
        outside = OpaPolicies(opa.url)
        deciding = officers.deciding(outside)
        asked = question(tenant=officer.tenant, version=1)
        await deciding.require(asked)
        with pytest.raises(PolicyDenied) as denied:
            await deciding.require(replace(asked, principal=replace(PRINCIPAL, kind="agent")))
        assert denied.value.details == {"policies": ["agents"]}
        assert len(opa.requests) == 1
        answers["allow"] = False
        with pytest.raises(PolicyDenied) as denied:
            await deciding.require(asked)
        assert denied.value.details == {"policies": ["opa"]}
        answers.clear()
        with pytest.raises(PolicyFailed):
            await deciding.require(asked)
        await outside.close()
    with pytest.raises(PolicyUnavailable):
        await officers.deciding(OpaPolicies(opa.url)).require(asked)
