"""A demo's people and documents, put into an instance: once, again, and after something changed."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from eai.access.classification import Classification
from eai.cli.demo.api import Api, DemoFailed
from eai.cli.demo.asking import Answer, ask, knock, withheld_from
from eai.cli.demo.scenario import Person, Question, Scenario, Source
from eai.cli.demo.seeded import Seeded
from eai.cli.demo.seeding import seed
from tests.stack import Company, Stack

DESK = Person("Nora", "adviser", "user", Classification.INTERNAL, ("desk",), ("member",))
BOARD = Person("Blanche", "director", "user", Classification.RESTRICTED, ("board",), ("member",))
NOTICE = Source(
    "notice.txt",
    "Notice",
    "Will the yard be sold? Nothing is decided.",
    "text/plain",
    Classification.INTERNAL,
)
PLAN = Source(
    "plan.txt", "Plan", "The yard will be sold in May.", "text/plain",
    Classification.RESTRICTED, Classification.RESTRICTED, ("board",),
)  # fmt: skip
SCENARIO = Scenario(
    name="Yard",
    description="",
    classification=Classification.INTERNAL,
    groups=("desk", "board"),
    people=(DESK, BOARD),
    sources=(NOTICE, PLAN),
    questions=(Question("Will the yard be sold?", ("Nora", "Blanche")),),
    top_k=5,
)


@pytest.fixture
async def administrator(stack: Stack, company: Company) -> AsyncIterator[Api]:
    assert company.admin.key is not None
    async with Api(stack.url, company.admin.key) as api:
        yield api


async def titles(stack: Stack, seeded: Seeded, scenario: Scenario = SCENARIO) -> dict[str, list[str]]:
    answers: list[Answer] = await ask(stack.url, scenario, seeded, scenario.questions[0])
    return {a.person.name: sorted(c.source.title for c in a.citations) for a in answers}


async def test_each_person_is_shown_what_the_scenario_says(stack: Stack, administrator: Api) -> None:
    seen: list[tuple[int, int]] = []
    seeded = await seed(administrator, SCENARIO, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(0, 2), (1, 2), (2, 2)]
    assert (seeded.alias, seeded.passages, seeded.left_out) == ("kb_yard", 2, [])
    assert await titles(stack, seeded) == {"Nora": ["Notice"], "Blanche": ["Notice", "Plan"]}


async def test_a_hidden_passage_is_closed_like_one_that_is_missing(stack: Stack, administrator: Api) -> None:
    seeded = await seed(administrator, SCENARIO)
    nora, blanche = await ask(stack.url, SCENARIO, seeded, SCENARIO.questions[0])
    (hidden,) = withheld_from(nora, blanche)
    closed = await knock(stack.url, seeded, DESK, hidden)
    assert (closed.title, closed.status, closed.code) == ("Plan", 404, "not_found")
    with pytest.raises(DemoFailed, match="was answered, and must not be"):
        await knock(stack.url, seeded, BOARD, hidden)


async def test_the_same_again_makes_nothing_twice(stack: Stack, administrator: Api) -> None:
    first = await seed(administrator, SCENARIO)
    again = await seed(administrator, SCENARIO, known_keys=first.keys)
    assert (again.base, again.keys, again.documents) == (first.base, first.keys, first.documents)
    assert (await administrator.get(f"/v1/knowledge-bases/{first.base}"))["documents_count"] == 2


async def test_a_changed_document_takes_the_place_of_the_old_one(stack: Stack, administrator: Api) -> None:
    first = await seed(administrator, SCENARIO)
    opened = replace(PLAN, level=Classification.INTERNAL, own_level=Classification.INTERNAL, readers=None)
    scenario = replace(SCENARIO, sources=(NOTICE, opened))
    again = await seed(administrator, scenario, known_keys=first.keys)
    assert await titles(stack, again, scenario) == {"Nora": ["Notice", "Plan"], "Blanche": ["Notice", "Plan"]}
    assert (await administrator.get(f"/v1/knowledge-bases/{first.base}"))["documents_count"] == 2


async def test_documents_and_rights_that_somebody_changed_are_no_leak(
    stack: Stack, administrator: Api
) -> None:
    first = await seed(administrator, SCENARIO)
    own = {"title": "Own", "content": "Our yard will be sold, they say."}
    await administrator.post(f"/v1/knowledge-bases/{first.base}/documents", own)
    nora = [p async for p in administrator.everything("/v1/principals") if p["name"] == "Nora"]
    await administrator.patch(f"/v1/principals/{nora[0]['id']}", {"clearance": "secret"})
    again = await seed(administrator, SCENARIO, known_keys=first.keys)
    assert await titles(stack, again) == {"Nora": ["Notice", "Own"], "Blanche": ["Notice", "Own", "Plan"]}


async def test_a_passage_that_must_not_be_shown_fails_the_demo(stack: Stack, administrator: Api) -> None:
    seeded = await seed(administrator, SCENARIO)
    seeded.documents = {key: replace(source, readers=()) for key, source in seeded.documents.items()}
    with pytest.raises(DemoFailed, match="Nora was shown what is not theirs to read: Notice"):
        await titles(stack, seeded)


async def test_what_the_api_refuses_is_left_out_with_its_reason(administrator: Api) -> None:
    copy = replace(NOTICE, file="copy.txt")
    empty = replace(NOTICE, file="empty.html", content="<p></p>", content_type="text/html")
    seeded = await seed(administrator, replace(SCENARIO, sources=(NOTICE, copy, empty)))
    assert len(seeded.documents) == 1
    assert len(seeded.left_out) == 2
    with pytest.raises(DemoFailed, match="no document could be taken in"):
        await seed(administrator, replace(SCENARIO, name="Nothing", sources=(empty,)))


async def test_a_wrong_key_is_said_in_a_sentence(stack: Stack) -> None:
    async with Api(stack.url, "eai_none") as api:
        with pytest.raises(DemoFailed, match="GET /v1/groups was answered with 401 unauthenticated"):
            await seed(api, SCENARIO)
    async with Api("http://127.0.0.1:1", "eai_none") as api:
        with pytest.raises(DemoFailed, match="GET /v1/groups got no answer"):
            await seed(api, SCENARIO)
