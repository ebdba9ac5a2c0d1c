"""Cedar decides: what denies, what cannot be evaluated, and where a text is wrong."""

from dataclasses import replace

import pytest

from eai.access.classification import Classification
from eai.integrations.cedar import CedarEngine
from eai.policies.errors import PolicyFailed
from eai.policies.ports import PolicyDecision, PolicyRequest
from tests.factories.policies import CONTEXT, GROUP, MODEL, PRINCIPAL, SOMEBODY, question


@pytest.fixture(scope="module")
def engine() -> CedarEngine:
    return CedarEngine()


async def _decided(engine: CedarEngine, request: PolicyRequest, **texts: str) -> PolicyDecision:
    return (await engine.narrowing(texts)).decide(request)


FORBID = 'forbid (principal, action == Action::"model.invoke", resource)'


@pytest.mark.parametrize("kind", ["user", "service", "agent"])
def test_the_shipped_policies_allow_whoever_comes_so_far(engine: CedarEngine, kind: str) -> None:
    asked = question(principal=replace(PRINCIPAL, kind=kind))
    assert engine.shipped.decide(asked) == PolicyDecision(True, ("shipped/invoke",))


def test_a_part_of_the_platform_may_call(engine: CedarEngine) -> None:
    system = replace(PRINCIPAL, kind="system", id=None, roles=(), groups=())
    assert engine.shipped.decide(question(principal=system)).is_allowed


def test_the_shipped_policies_hold_the_ceiling_too(engine: CedarEngine) -> None:
    asked = question(context={**CONTEXT, "level": 3})
    assert engine.shipped.decide(asked) == PolicyDecision(False, ("shipped/ceiling",))


async def test_a_tenant_without_a_fitting_forbid_forbids_nothing(engine: CedarEngine) -> None:
    decision = await _decided(engine, question(), agents="forbid (principal is Agent, action, resource);")
    assert decision.is_allowed
    assert decision.errors == ()


@pytest.mark.parametrize("name", ["tenant", "shipped", "policy0"])
async def test_no_name_of_a_policy_takes_the_place_of_what_it_narrows(engine: CedarEngine, name: str) -> None:
    decision = await _decided(engine, question(), **{name: "forbid (principal is Agent, action, resource);"})
    assert (decision.is_allowed, decision.errors) == (True, ())


@pytest.mark.parametrize(
    "condition",
    [
        "context.level >= 1",
        'context.operation == "query"',
        "context.texts > 2",
        'resource.region == "us"',
        'resource.provider == "openai"',
        'resource.capability == "embeddings"',
        "!resource.is_local",
        "principal.clearance < context.level + 1",
        f'principal == User::"{SOMEBODY}"',
        f'principal in Group::"{GROUP}"',
        'principal in Role::"developer"',
        "principal is User",
        'resource == Model::"text-embedding-3-small"',
    ],
)
async def test_a_tenant_forbids_by_all_that_the_schema_names(engine: CedarEngine, condition: str) -> None:
    text = f"{FORBID} when {{ {condition} }};"
    assert await engine.faults(text) == []
    assert await _decided(engine, question(), mine=text) == PolicyDecision(False, ("mine",))


async def test_what_decided_is_named_once_whatever_its_statements(engine: CedarEngine) -> None:
    text = "forbid (principal, action, resource); forbid (principal, action, resource is Model);"
    decision = await _decided(engine, question(), a=text, b=text, c="permit (principal, action, resource);")
    assert decision.policies == ("a", "b")


ERRORS = {
    "an overflow": f"{FORBID} when {{ context.texts * 9223372036854775807 > 0 }};",
    "an unknown attribute of the context": f"{FORBID} when {{ context.colour == 1 }};",
    "an unknown attribute of the principal": f'{FORBID} when {{ principal.name == "x" }};',
    "an unknown attribute of the model": f'{FORBID} when {{ resource.url == "x" }};',
    "another type": f'{FORBID} when {{ context.level > "1" }};',
    "a permit": 'permit (principal, action, resource) when { context.colour == "red" };',
}


@pytest.mark.parametrize("text", ERRORS.values(), ids=ERRORS)
async def test_what_cannot_be_evaluated_denies(engine: CedarEngine, text: str) -> None:
    decision = await _decided(
        engine, question(), fine="forbid (principal is Agent, action, resource);", bad=text
    )
    assert not decision.is_allowed
    assert decision.policies == ("bad",)
    assert len(decision.errors) == 1


QUESTIONS = {
    "more context than the schema knows": question(context={**CONTEXT, "colour": "red"}),
    "less context": question(context={"operation": "query", "level": 1}),
    "context of another type": question(context={**CONTEXT, "level": "1"}),
    "more attributes": question(resource=replace(MODEL, attributes={**MODEL.attributes, "colour": "red"})),
    "fewer attributes": question(resource=replace(MODEL, attributes={"provider": "openai"})),
    "a number that is too large": question(context={**CONTEXT, "texts": 2**63}),
    "a number of more than 64 bits": question(context={**CONTEXT, "texts": 2**64}),
    "half a sign": question(resource=replace(MODEL, id="half \ud800")),
    "an unknown kind of resource": question(resource=replace(MODEL, kind="Document")),
    "an unknown kind of principal": question(principal=replace(PRINCIPAL, kind="robot")),
    "a kind that is no name": question(principal=replace(PRINCIPAL, kind='User"::')),
    "an id with everything in it": question(resource=replace(MODEL, id='x"\\\n\u0000', attributes={})),
}


@pytest.mark.parametrize("asked", QUESTIONS.values(), ids=QUESTIONS)
async def test_a_question_outside_the_schema_denies(engine: CedarEngine, asked: PolicyRequest) -> None:
    shipped = engine.shipped.decide(asked)
    assert (shipped.is_allowed, shipped.policies) == (False, ("shipped",))
    assert shipped.errors
    own = await _decided(engine, asked, everything="permit (principal, action, resource);")
    assert (own.is_allowed, own.policies) == (False, ("tenant",))
    assert own.errors


def test_an_unusual_name_is_a_name(engine: CedarEngine) -> None:
    for name in ('a"b', "a\\b", "a\nb", "é\u202e", "${x}", 'Model::"x"'):
        assert engine.shipped.decide(question(resource=replace(MODEL, id=name))).is_allowed, name


async def test_clearance_is_compared_by_rank(engine: CedarEngine) -> None:
    text = f"{FORBID} unless {{ principal.clearance >= 3 }};"
    for clearance, is_allowed in ((Classification.CONFIDENTIAL, False), (Classification.RESTRICTED, True)):
        asked = question(principal=replace(PRINCIPAL, clearance=clearance))
        assert (await _decided(engine, asked, mine=text)).is_allowed is is_allowed


@pytest.mark.parametrize(
    "text",
    [
        "",
        "// nothing",
        "forbid (",
        f"{FORBID} when {{ {'(' * 5_000}true{')' * 5_000} }};",
        f"{FORBID} when {{ context.texts > {'+'.join('1' * 200)} }};",
        "forbid (principal == ?principal, action, resource);",
    ],
)
async def test_a_text_that_cannot_be_read_denies(engine: CedarEngine, text: str) -> None:
    with pytest.raises(PolicyFailed) as failed:
        await engine.narrowing({"fine": "forbid (principal, action, resource);", "bad": text})
    assert failed.value.details == {"policies": ["bad"]}


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("", [(1, 1)]),
        ("// nothing", [(1, 1)]),
        (";", [(1, 1)]),
        (f"{FORBID} when {{ context.colour == 1 }};", [(1, 79)]),
        ("forbid (principal is Robot, action, resource);", [(1, 22)]),
        ("forbid (principal, action, resource)\n whem { true };", [(2, 2)]),
        ("deny (principal, action, resource);", [(1, 1)]),
        ('forbid (principal, action, resource)\nwhen { context.level > "high" };', [(1, 1)]),
        ("permit (principal, action, resource);\n\n  forbid (principal, action", [(3, 28)]),
        ("forbid (principal == ?principal, action, resource);", [(1, 22)]),
        (f"{FORBID} when {{ resource has retention && true }};", [(1, 84)]),
        (f"{FORBID} when {{ principal.clearance > 1 || ({'(' * 40}true{')' * 40}) }};", [(1, 1)]),
        (f"{FORBID} when {{ context.texts > {'+'.join('1' * 200)} }};", [(1, 1)]),
        ("forbid (a);\nforbid (principal is Robot, action, resource);\nforbid (", [(1, 9), (2, 22), (3, 9)]),
    ],
)
async def test_a_fault_is_told_with_its_place(
    engine: CedarEngine, text: str, places: list[tuple[int, int]]
) -> None:
    faults = await engine.faults(text)
    assert [(fault.line, fault.column) for fault in faults] == places
    assert all(0 < len(fault.reason) <= 300 for fault in faults)
    assert "policy0" not in str(faults)


async def test_a_comment_that_says_the_word_is_not_the_place(engine: CedarEngine) -> None:
    text = f"{FORBID} // colour\nwhen {{ context.colour == 1 }};"
    assert [(fault.line, fault.column) for fault in await engine.faults(text)] == [(2, 16)]


async def test_so_many_faults_are_told(engine: CedarEngine) -> None:
    assert len(await engine.faults("forbid (principal is Robot, action, resource);\n" * 100)) == 20


async def test_a_text_as_long_as_may_be_is_read(engine: CedarEngine) -> None:
    text = ("forbid (principal is Agent, action, resource);" * 400)[:16_384].rpartition(";")[0] + ";"
    assert await engine.faults(text) == []
    assert (await _decided(engine, question(), long=text)).is_allowed


async def test_what_only_partial_evaluation_knows_denies(engine: CedarEngine) -> None:
    decision = await _decided(engine, question(), partial=f'{FORBID} when {{ unknown("x") }};')
    assert not decision.is_allowed


async def test_a_question_asked_again_has_its_own_answer_however_many_came_between(
    engine: CedarEngine,
) -> None:
    rules = await engine.narrowing({"mine": f"{FORBID} when {{ context.texts > 100 }};"})
    for _ in range(2):
        for texts in range(50, 150):
            asked = question(context={**CONTEXT, "texts": texts})
            assert rules.decide(asked).is_allowed is (texts <= 100)
