"""Several people at one held document at once."""

import asyncio
from collections import Counter

import pytest

from tests.integration.review.holding import ORDER, Desk
from tests.invariants import Judge


async def test_of_several_stewards_one_decides(desk: Desk, judge: Judge) -> None:
    stewards = [await desk.company.person("data_steward", clearance="secret") for _ in range(6)]
    verdicts = ["release", "reject", "redact"] * 2
    document = await desk.held(f"{ORDER} Parcels leave at noon.")
    async with asyncio.TaskGroup() as group:
        asked = [
            group.create_task(desk.decide(document, verdict, by=steward))
            for verdict, steward in zip(verdicts, stewards, strict=True)
        ]
    answers = [each.result() for each in asked]
    assert Counter(answer.status_code for answer in answers) == {200: 1, 409: 5}
    assert {a.json()["error"]["code"] for a in answers if a.status_code == 409} == {"not_held"}
    (made,) = [answer.json() for answer in answers if answer.status_code == 200]
    shown = await desk.settled(document)
    assert shown["status"] == ("rejected" if made["decision"] == "reject" else "ready")
    events = await desk.company.admin.got("/v1/audit/events", action="knowledge.document.review")
    assert [event["facts"]["review"] for event in events["data"]] == [made["id"]]
    await judge.judge(desk.company.id)


@pytest.mark.parametrize("attempt", range(6))
async def test_a_release_while_the_text_is_replaced_never_lets_the_old_text_answer_last(
    desk: Desk, judge: Judge, attempt: int
) -> None:
    document = await desk.held(f"{ORDER} Parcels leave at noon, {attempt}.")
    async with asyncio.TaskGroup() as group:
        deciding = group.create_task(desk.decide(document, "release"))
        replacing = group.create_task(desk.put(document, f"Letters leave at six, {attempt}."))
    assert replacing.result().status_code == 202
    assert deciding.result().status_code in {200, 409}
    shown = await desk.settled(document, "2")
    await judge.judge(desk.company.id)
    if deciding.result().status_code == 409:
        assert deciding.result().json()["error"]["code"] == "not_held"
        assert (shown["status"], shown["version"]) == ("quarantined", "2")
        assert await desk.ask("parcels letters") == set()
    else:
        assert (shown["status"], shown["version"]) == ("ready", "2")


@pytest.mark.parametrize("attempt", range(6))
async def test_a_release_while_the_document_is_deleted_brings_nothing_back(
    desk: Desk, judge: Judge, attempt: int
) -> None:
    document = await desk.held(f"{ORDER} Parcels leave at noon, {attempt}.")
    async with asyncio.TaskGroup() as group:
        deciding = group.create_task(desk.decide(document, "release"))
        deleting = group.create_task(desk.author.api.delete(desk.path(document)))
    assert deleting.result().status_code == 200
    assert deciding.result().status_code in {200, 404}
    assert (await desk.author.api.get(desk.path(document))).status_code == 404
    assert (await desk.steward.api.got("/v1/quarantine"))["data"] == []
    await judge.judge(desk.company.id)
    assert await desk.ask("parcels") == set()
