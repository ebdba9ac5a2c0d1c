"""Passages that are to their base as none of its own are to each other, by the vectors made of them."""

import re
from random import Random

import pytest

from tests.integration.faults.outages import eventually
from tests.integration.review.holding import RULES, Desk
from tests.integration.review.test_drift import HOLIDAYS
from tests.invariants import Judge
from tests.stack import Company, Json

WORDS = sorted(set(re.findall(r"[a-z]{4,}", f"{RULES} {HOLIDAYS}")))
HUB = "Of the depot: a notice, a notice of the depot."
STRANGER = "Quarterly dividends rose sharply; analysts disagree about Zurich."
FEWEST = 64


def notices(count: int, seed: int) -> str:
    """A text of so many passages, which have little in common but what HUB says."""
    dice = Random(seed)
    return "\n\n".join(f"Notice of the depot: {' '.join(dice.sample(WORDS, 8))}." for _ in range(count))


USUAL = notices(1, 2)


async def filled(company: Company, *passages: int) -> Desk:
    """A desk whose base has documents of so many passages each, where every finding holds a text."""
    desk = await Desk.of(company, chunk_size=100, chunk_overlap=0)
    for seed, count in enumerate(passages):
        await desk.submit(notices(count, 100 + seed))
    await threshold(desk, "low")
    return desk


async def threshold(desk: Desk, severity: str) -> None:
    answer = await desk.company.admin.patch("/v1/settings", json={"quarantine": {"threshold": severity}})
    assert answer.status_code == 200, answer.text


async def item(desk: Desk, document: str) -> Json:
    return await desk.steward.api.got(f"/v1/knowledge-bases/{desk.base}/quarantine/{document}")


async def ended(company: Company, base: str, job: str) -> None:
    """Return once the reindex is over; fail unless it has moved the base."""
    path = f"/v1/knowledge-bases/{base}/reindex-jobs/{job}"

    async def over() -> str | None:
        status = str((await company.admin.got(path))["status"])
        return None if status in {"queued", "running", "verifying"} else status

    assert await eventually(over) == "completed"


async def noted(desk: Desk, document: str) -> list[str] | None:
    """What the event says that lets a document answer."""
    events = await desk.company.admin.got("/v1/audit/events", action="knowledge.document.ready", limit=200)
    [facts] = [each["facts"] for each in events["data"] if each["resource"]["id"] == document]
    return facts.get("noted")


async def test_a_passage_near_everything_is_held_with_its_vectors_and_nothing_of_it_can_be_found(
    company: Company, judge: Judge
) -> None:
    desk = await filled(company, 80)
    made = await desk.submit(f"{USUAL}\n\n{HUB}")
    assert (made["status"], made["chunks_count"], made["findings"]) == ("quarantined", 0, [])
    document = made["id"]
    [found] = (await item(desk, document))["findings"]
    assert (found["detector"], found["severity"], found["place"]) == ("hubs", "medium", "text")
    assert (found["start"], found["end"], found["excerpt"]) == (len(USUAL) + 2, len(USUAL) + 48, HUB)
    assert found["reason"] == {
        "code": "near_everything",
        "message_i18n": {
            "en": "Is among the nearest to far more of the passages that answer in the base than these are "
            "themselves.",
            "fr": "Compte parmi les plus proches de bien plus de passages qui répondent dans la base que "
            "ceux-ci eux-mêmes.",
        },
    }
    assert document not in await desk.ask("notice of the depot")
    await judge.judge(company.id)
    await desk.released(document)
    assert document in await desk.ask("notice of the depot")
    await judge.judge(company.id)


async def test_a_text_that_was_released_is_not_compared_again_wherever_it_is_in_the_base(
    company: Company,
) -> None:
    desk = await filled(company, 80)
    text = f"{USUAL}\n\n{HUB}"
    document = (await desk.submit(text))["id"]
    await desk.released(document)
    assert (await desk.replaced(document, USUAL, "2"))["version"] == "2"
    assert (await desk.replaced(document, text, "3"))["version"] == "3"
    assert (await desk.replaced(document, USUAL, "4"))["version"] == "4"
    assert (await desk.submit(text, title="Another with this text"))["status"] == "ready"
    assert (await desk.submit(f"{text}\n\n{USUAL}"))["status"] == "quarantined"


async def test_a_passage_of_another_kind_is_held(company: Company) -> None:
    desk = await filled(company, 80)
    made = await desk.submit(f"{STRANGER}\n\n{USUAL}")
    assert made["status"] == "quarantined"
    [found] = (await item(desk, made["id"]))["findings"]
    assert (found["detector"], found["severity"]) == ("outliers", "low")
    assert (found["start"], found["end"], found["excerpt"]) == (0, len(STRANGER), STRANGER)
    assert found["reason"] == {
        "code": "far_from_base",
        "message_i18n": {
            "en": "Is far less like any passage that answers in the base than these are like each other.",
            "fr": "Ressemble bien moins aux passages qui répondent dans la base que ceux-ci ne se "
            "ressemblent entre eux.",
        },
    }


@pytest.mark.parametrize(
    ("text", "reason"), [(HUB, ["near_everything"]), (STRANGER, ["far_from_base"]), (USUAL, None)]
)
async def test_unless_the_tenant_wants_to_see_it_it_is_taken_in_and_noted(
    company: Company, text: str, reason: list[str] | None
) -> None:
    desk = await filled(company, 80)
    await threshold(desk, "high")
    made = await desk.submit(text)
    assert made["status"] == "ready"
    assert await noted(desk, made["id"]) == reason


async def test_a_base_of_few_passages_is_not_judged_by_what_is_elsewhere(company: Company) -> None:
    desk = await filled(company, FEWEST - 1)
    other = await company.base(chunk_size=100, chunk_overlap=0)
    await company.document(other, notices(80, 7))
    stranger = await desk.submit(STRANGER)
    assert stranger["status"] == "ready"
    # With it there are enough; but a text is not compared with what it takes the place of.
    assert (await desk.replaced(stranger["id"], f"{HUB} {STRANGER}", "2"))["version"] == "2"
    assert (await desk.submit(HUB))["status"] == "quarantined"


async def test_what_answers_no_more_is_not_compared_with(company: Company) -> None:
    desk = await filled(company, 80, 80)
    page = await desk.author.api.got(desk.path())
    for each in page["data"]:
        answer = await desk.company.admin.delete(desk.path(each["id"]))
        assert answer.is_success, answer.text
    assert (await desk.submit(STRANGER))["status"] == "ready"


async def test_the_text_before_goes_on_answering(company: Company) -> None:
    desk = await filled(company, 80)
    document = (await desk.submit(USUAL))["id"]
    shown = await desk.replaced(document, HUB, "2")
    assert (shown["version"], shown["pending_version"]["status"]) == ("1", "quarantined")
    await desk.decided(document, "reject", "2")
    assert (await desk.settled(document, "2"))["version"] == "1"
    assert document in await desk.ask("notice of the depot")


async def test_a_redaction_takes_the_passage_away(company: Company) -> None:
    desk = await filled(company, 80)
    document = (await desk.submit(f"{USUAL}\n\n{HUB}"))["id"]
    await desk.decided(document, "redact")
    assert (await desk.settled(document))["status"] == "ready"
    content = (await desk.author.api.got(f"{desk.path(document)}/content"))["content"]
    assert content == f"{USUAL}\n\n{'█' * len(HUB)}"


async def test_places_count_in_the_text_as_it_was_before_dlp_took_out_of_it(company: Company) -> None:
    desk = await filled(company, 80)
    answer = await company.admin.patch("/v1/settings", json={"dlp": {"email": "redact"}})
    assert answer.status_code == 200
    first = f"{USUAL[:70]} somebody@depots-of-our-company.com."
    document = (await desk.submit(f"{first}\n\n{STRANGER}"))["id"]
    places = {(each["start"], each["end"]) for each in (await item(desk, document))["findings"]}
    assert (len(first) + 2, len(first) + 2 + len(STRANGER)) in places


async def test_a_base_that_was_moved_to_another_model_compares_with_what_that_has_made(
    company: Company,
) -> None:
    desk = await filled(company, 80)
    text = f"{USUAL}\n\n{HUB}"
    document = (await desk.submit(text))["id"]
    await desk.released(document)
    model = await company.model(await company.answering(), capability="embeddings", dimensions=[8])
    path = f"/v1/knowledge-bases/{desk.base}/reindex"
    job = await company.admin.made(path, {"embedding_model": model}, status=202)
    await ended(desk.company, desk.base, job["job_id"])
    assert (await desk.author.api.got(desk.path(document)))["status"] == "ready"
    assert (await desk.replaced(document, USUAL, "2"))["version"] == "2"
    assert (await desk.replaced(document, text, "3"))["version"] == "3"
    made = await desk.submit(f"{STRANGER}\n\n{USUAL}")
    [found] = (await item(desk, made["id"]))["findings"]
    assert (found["detector"], found["excerpt"]) == ("outliers", STRANGER)
