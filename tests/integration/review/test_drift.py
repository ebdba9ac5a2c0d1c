"""Another text in the place of one that a steward has let pass."""

from tests.api.test_privacy_routes import erased
from tests.integration.review.holding import ORDER, RULES, Desk, code_of

POISONED = f"{RULES} {ORDER}"
LETTERS = (
    "Letters that carry no stamp are kept behind the counter, where their addressees are told of them by a "
    "card, and may fetch them within nine days; whoever fetches one pays for the stamp and for the card. "
    "What is not fetched goes back to whoever sent it, or is burned in the presence of two witnesses."
)
HOLIDAYS = (
    "Holidays are asked for a month ahead, in writing, and are granted by whoever plans the shifts of the "
    "depot. Days that were not taken by the end of March are lost, unless an illness or the depot itself was "
    "the reason, in which case they stay until summer. Nobody works on more than six days in a row; nights "
    "count double towards the week. Shifts may be swapped between two drivers as long as both have signed, "
    "and the plan on the wall is always the one that holds. Sick notes go to the office before ten, by post, "
    "telephone or a colleague; from the third day on a doctor has to confirm them. Uniforms belong to the "
    "company, are washed at its cost every Friday, and are handed back clean on the last working day."
)


async def approved(desk: Desk) -> str:
    """A document with a text that a steward has let pass."""
    document = await desk.held(POISONED)
    await desk.released(document)
    return document


async def version_and_status(desk: Desk, document: str, content: str, newest: str) -> tuple[str, str]:
    """Which version answers once `content` has been put in, and what became of the newest."""
    shown = await desk.replaced(document, content, newest)
    return shown["version"], (shown["pending_version"] or shown)["status"]


async def test_another_text_under_an_approved_document_waits_and_is_not_held_again_once_released(
    desk: Desk,
) -> None:
    document = await approved(desk)
    assert await version_and_status(desk, document, HOLIDAYS, "2") == ("1", "quarantined")
    item = await desk.steward.api.got(f"/v1/knowledge-bases/{desk.base}/quarantine/{document}")
    [found] = item["findings"]
    assert (found["detector"], found["severity"], found["place"]) == ("drift", "high", "text")
    assert (found["start"], found["end"]) == (0, len(HOLIDAYS) - 1)
    assert found["excerpt"] == HOLIDAYS[:200]
    assert found["context"]["text"].startswith("Holidays are asked for a month ahead")
    assert found["reason"] == {
        "code": "replaces_approved",
        "message_i18n": {
            "en": "Next to nothing of this is in the last text of the document that a steward let pass.",
            "fr": "Presque rien de ceci ne figure dans le dernier texte du document qu'un responsable a "
            "laissé passer.",
        },
    }
    await desk.decided(document, "release", "2")
    assert (await desk.settled(document, "2"))["version"] == "2"
    assert await version_and_status(desk, document, POISONED, "3") == ("3", "ready")
    assert await version_and_status(desk, document, HOLIDAYS, "4") == ("4", "ready")


async def test_whoever_brings_the_text_is_not_told_how_far_it_is_from_one_they_may_not_read(
    desk: Desk,
) -> None:
    document = await approved(desk)
    await desk.replaced(document, f"{HOLIDAYS} {ORDER}", "2")
    assert await desk.reasons(document) == {
        "replaces_approved",
        "overrides_instructions",
        "asks_for_prompt",
    }
    again = (await desk.put(document, f"{HOLIDAYS} {ORDER}")).json()
    told = {finding["reason"]["code"] for finding in again["findings"]}
    assert told == {"overrides_instructions", "asks_for_prompt"}


async def test_an_approved_document_that_is_edited_goes_on_answering(desk: Desk) -> None:
    document = await approved(desk)
    assert await version_and_status(desk, document, RULES, "2") == ("2", "ready")
    shorter = RULES[RULES.index("Parcels that are heavier") :].replace("thirty", "forty")
    assert await version_and_status(desk, document, shorter, "3") == ("3", "ready")
    longer = f"{RULES.replace('two weeks', 'a month')} Letters are kept for a week and then sent back."
    assert await version_and_status(desk, document, longer, "4") == ("4", "ready")


async def test_a_text_that_is_changed_little_by_little_is_held_against_the_one_that_was_approved(
    desk: Desk,
) -> None:
    document = await approved(desk)
    old, new = RULES.split(), HOLIDAYS.split()
    third, two = len(old) // 3, 2 * len(old) // 3
    first = " ".join([*old[:two], *new[two:]])
    second = " ".join([*old[:third], *new[third:]])
    assert await version_and_status(desk, document, first, "2") == ("2", "ready")
    assert await version_and_status(desk, document, second, "3") == ("3", "ready")
    assert await version_and_status(desk, document, HOLIDAYS, "4") == ("3", "quarantined")
    assert await desk.reasons(document) == {"replaces_approved"}


async def test_another_text_where_none_was_approved_is_taken_in_unless_the_tenant_wants_to_see_it(
    desk: Desk,
) -> None:
    document = (await desk.submit(RULES))["id"]
    assert await version_and_status(desk, document, HOLIDAYS, "2") == ("2", "ready")
    answer = await desk.company.admin.patch("/v1/settings", json={"quarantine": {"threshold": "low"}})
    assert answer.status_code == 200
    assert await version_and_status(desk, document, RULES, "3") == ("2", "quarantined")
    assert await desk.reasons(document) == {"replaces_served"}


async def test_a_release_for_one_document_does_not_put_the_text_in_place_of_another(desk: Desk) -> None:
    unimportant, relied_on = await approved(desk), await desk.held(f"{LETTERS} {ORDER}")
    await desk.released(relied_on)
    await desk.replaced(unimportant, HOLIDAYS, "2")
    await desk.decided(unimportant, "release", "2")
    assert (await desk.settled(unimportant, "2"))["version"] == "2"
    body = {"content": HOLIDAYS, "content_type": "text/markdown"}
    answer = await desk.author.api.put(desk.path(relied_on), json=body)
    assert answer.status_code == 202, answer.text
    shown = await desk.settled(relied_on, "2")
    assert (shown["version"], shown["pending_version"]["status"]) == ("1", "quarantined")
    assert await desk.reasons(relied_on) == {"replaces_approved"}


async def test_what_an_erasure_has_emptied_is_not_what_an_edited_text_is_compared_with(desk: Desk) -> None:
    officer = await desk.company.person("data_steward", clearance="confidential")
    asked = "Ask jeanne.morel@example.org about it."
    document = await desk.held(f"{POISONED} {asked}")
    await desk.released(document)
    assert await version_and_status(desk, document, f"{RULES} {asked}", "2") == ("2", "ready")
    await erased(officer, "redact", "jeanne.morel@example.org")
    assert (await desk.settled(document, "3"))["version"] == "3"
    edited = f"{RULES.replace('paid', 'billed')} Ask the counter."
    assert await version_and_status(desk, document, edited, "4") == ("4", "ready")
    assert await version_and_status(desk, document, HOLIDAYS, "5") == ("4", "quarantined")
    assert await desk.reasons(document) == {"replaces_approved"}


async def test_a_redaction_approves_what_it_has_left_and_not_what_it_took_away(desk: Desk) -> None:
    document = await approved(desk)
    mixed = f"{' '.join(RULES.split()[:10])} {HOLIDAYS}"
    await desk.replaced(document, mixed, "2")
    await desk.decided(document, "redact", "2")
    shown = await desk.settled(document, "2")
    assert (shown["version"], shown["status"]) == ("2", "ready")
    content = (await desk.author.api.got(f"{desk.path(document)}/content"))["content"]
    assert content.startswith("Whoever sends a parcel abroad fills in the ███")
    assert "Holidays" not in content
    assert await version_and_status(desk, document, POISONED, "3") == ("3", "ready")
    assert await version_and_status(desk, document, mixed, "4") == ("3", "quarantined")
    assert await desk.reasons(document) == {"replaces_approved"}


async def test_of_a_text_that_is_all_new_a_redaction_would_leave_nothing(desk: Desk) -> None:
    document = await approved(desk)
    await desk.replaced(document, HOLIDAYS, "2")
    assert code_of(await desk.decide(document, "redact", version="2")) == (409, "redaction_leaves_nothing")
    await desk.decided(document, "reject", "2")
    assert (await desk.settled(document, "2"))["version"] == "1"


async def test_what_dlp_takes_out_of_a_text_each_time_is_nothing_new(desk: Desk) -> None:
    answer = await desk.company.admin.patch("/v1/settings", json={"dlp": {"email": "redact"}})
    assert answer.status_code == 200
    towns = "Aalen Bremen Celle Dresden Essen Fulda Goslar Hanau Ilmenau Jena Kiel Lindau".split()
    addresses = "; ".join(f"{town}: {town.lower()}@depots-of-our-company.com" for town in towns)
    document = await desk.held(f"{addresses} {ORDER}")
    await desk.released(document)
    assert await version_and_status(desk, document, addresses, "2") == ("2", "ready")
