"""Clients repeat what they had no answer to, or a refusal; it has one effect (faults 3 and 24)."""

import asyncio
from collections import Counter
from uuid import uuid4

import pytest

from tests.integration.faults.outages import documents, ingest
from tests.invariants import Judge
from tests.stack import Company, Stack


@pytest.mark.parametrize("is_swept", [False, True])
async def test_a_refused_submission_may_be_repeated_under_its_key(
    fragile: Stack, company: Company, judge: Judge, is_swept: bool
) -> None:
    base, key = await company.base(), str(uuid4())
    await fragile.engine.kill()
    try:
        refused = await ingest(company.admin, base, "Again", key=key)
        assert refused.json()["error"]["code"] == "vector_store_unavailable"
        again = await ingest(company.admin, base, "Again", key=key)
        assert again.json()["error"]["code"] == "vector_store_unavailable"
    finally:
        await fragile.engine.start()
    if is_swept:
        await judge.judge(company.id)

    made = await ingest(company.admin, base, "Again", key=key)
    assert (made.status_code, made.json()["status"]) == (201, "ready")
    repeated = await ingest(company.admin, base, "Again", key=key)
    assert (repeated.status_code, repeated.json()) == (201, made.json())
    await judge.judge(company.id)
    assert list(await documents(company.admin, base)) == [made.json()["id"]]

    deleted = await company.admin.delete(f"/v1/knowledge-bases/{base}/documents/{made.json()['id']}")
    assert (deleted.status_code, deleted.json()["status"]) == (200, "deleted")
    await judge.judge(company.id)


async def test_a_hundred_requests_with_one_key_make_one_document(company: Company, judge: Judge) -> None:
    base, key = await company.base(), str(uuid4())
    async with asyncio.TaskGroup() as group:
        sent = [group.create_task(ingest(company.admin, base, "Once", key=key)) for _ in range(100)]
    answers = [each.result() for each in sent]
    statuses = Counter(answer.status_code for answer in answers)
    assert set(statuses) <= {201, 409}, statuses
    assert len({answer.json()["id"] for answer in answers if answer.is_success}) == 1
    assert {a.json()["error"]["code"] for a in answers if a.is_error} <= {"idempotency_in_progress"}
    await judge.judge(company.id)
    assert len(await documents(company.admin, base)) == 1


async def test_the_same_content_from_a_storm_of_clients_is_one_document(
    company: Company, judge: Judge
) -> None:
    base = await company.base()
    async with asyncio.TaskGroup() as group:
        sent = [group.create_task(ingest(company.admin, base, "Same")) for _ in range(30)]
    answers = [each.result() for each in sent]
    assert Counter(answer.status_code for answer in answers) == {201: 1, 200: 29}
    assert len({answer.json()["id"] for answer in answers}) == 1
    await judge.judge(company.id)
    assert len(await documents(company.admin, base)) == 1
