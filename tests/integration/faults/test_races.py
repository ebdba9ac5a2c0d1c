"""A document is deleted, fenced or orphaned while it is being taken in (faults 4, 5, 26, 27)."""

import asyncio
from collections import Counter

import httpx2
import pytest

from tests.integration.faults.outages import (
    Turnstile,
    Victim,
    chain_locked,
    documents,
    eventually,
    have_jobs_taken_over,
    ingest,
    query,
    somebody_waits,
)
from tests.invariants import Judge
from tests.stack import Company, Json

AFTER_EMBEDDING, AFTER_WRITING = "ensure_space", "count"


async def delete(company: Company, base: str, document: str) -> httpx2.Response:
    return await company.admin.delete(f"/v1/knowledge-bases/{base}/documents/{document}")


async def receipt(company: Company, what: str) -> Json:
    return await company.admin.got(f"/v1/deletion-receipts/{what}")


@pytest.mark.parametrize("stage", [AFTER_EMBEDDING, AFTER_WRITING])
@pytest.mark.parametrize("prefer", ["", "respond-async"])
async def test_a_document_deleted_while_it_is_taken_in_stays_away(
    company: Company, turnstile: Turnstile, judge: Judge, stage: str, prefer: str
) -> None:
    base = await company.base()
    async with turnstile.holding(stage) as held:
        submitting = asyncio.create_task(ingest(company.admin, base, "Doomed", prefer=prefer))
        await held.reached.wait()
        (doomed,) = await documents(company.admin, base)
        assert (await delete(company, base, doomed)).json()["status"] == "deleted"
        again = await ingest(company.admin, base, "Doomed")
        assert again.status_code == 201
        held.go_on.set()
        answer = await submitting
    # Points that were there and are gone look like a store that lost them: then it is 503.
    assert answer.status_code in ({202} if prefer else {404, 503})

    await judge.judge(company.id)
    assert set(await documents(company.admin, base)) == {again.json()["id"]}
    hits = (await query(company.admin, base, "refunds")).json()["results"]
    assert {hit["document_id"] for hit in hits} == {again.json()["id"]}
    assert again.json()["id"] != doomed


async def test_of_two_deletions_one_finds_the_document(company: Company, judge: Judge) -> None:
    base = await company.base()
    document = await company.document(base, "Refunds are paid within a week.")
    async with asyncio.TaskGroup() as group:
        sent = [group.create_task(delete(company, base, document)) for _ in range(8)]
    assert Counter(each.result().status_code for each in sent) == {200: 1, 404: 7}
    await judge.judge(company.id)
    assert (await receipt(company, document))["vectors_removed"] == 1


@pytest.mark.parametrize("stage", [AFTER_EMBEDDING, AFTER_WRITING])
async def test_a_base_deleted_while_it_takes_documents_in_leaves_nothing(
    company: Company, turnstile: Turnstile, judge: Judge, stage: str
) -> None:
    base = await company.base()
    await company.document(base, "Refunds are paid within a week.")
    async with turnstile.holding(stage) as first:
        waiting = asyncio.create_task(ingest(company.admin, base, "Waits"))
        await first.reached.wait()
        async with turnstile.holding(stage) as second:
            queued = await ingest(company.admin, base, "Queued", prefer="respond-async")
            assert queued.status_code == 202
            await second.reached.wait()
            assert (await company.admin.delete(f"/v1/knowledge-bases/{base}")).status_code == 202
            await eventually(lambda: _is_deleted(company, base))
            second.go_on.set()
        first.go_on.set()
        assert (await waiting).status_code in {404, 503}
    await judge.judge(company.id)


async def test_an_attempt_that_was_taken_over_leaves_no_points_of_a_deleted_document(
    company: Company, turnstile: Turnstile, judge: Judge, victim: Victim
) -> None:
    base = await company.base()
    async with turnstile.holding("upsert") as zombie:
        made = (await ingest(company.admin, base, "Twice", prefer="respond-async")).json()
        await zombie.reached.wait()
        await have_jobs_taken_over(victim.server.admin_url, company.id)
        await eventually(lambda: _is_ready(company, base, made["id"]))
        assert (await delete(company, base, made["id"])).json()["status"] == "deleted"
        zombie.go_on.set()
        await zombie.ended.wait()
    await judge.judge(company.id)


async def test_an_attempt_that_was_taken_over_does_not_undo_a_change_of_rights(
    company: Company, turnstile: Turnstile, judge: Judge, victim: Victim
) -> None:
    base, reader = await company.base(), await company.person("member")
    async with turnstile.holding("upsert", is_frozen=True) as zombie:
        made = (await ingest(company.admin, base, "Twice", prefer="respond-async")).json()
        await zombie.reached.wait()
        await have_jobs_taken_over(victim.server.admin_url, company.id)
        await eventually(lambda: _is_ready(company, base, made["id"]))
        await _hide(company, base, made["id"], reader.reference)
        await judge.judge(company.id)
        zombie.go_on.set()
        await zombie.ended.wait()
    await judge.judge(company.id)


async def test_an_attempt_that_was_taken_over_writes_before_the_text_is_served(
    company: Company, turnstile: Turnstile, judge: Judge, victim: Victim
) -> None:
    base, reader = await company.base(), await company.person("member")
    async with turnstile.holding("upsert", is_frozen=True) as zombie, turnstile.holding("count") as present:
        made = (await ingest(company.admin, base, "Twice", prefer="respond-async")).json()
        await zombie.reached.wait()
        await _hide(company, base, made["id"], reader.reference)
        await have_jobs_taken_over(victim.server.admin_url, company.id)
        await present.reached.wait()
        zombie.go_on.set()
        await zombie.ended.wait()
    await judge.judge(company.id)
    assert await _is_ready(company, base, made["id"])


async def test_a_text_whose_audit_has_to_wait_is_served_once_it_is_written(
    company: Company, turnstile: Turnstile, judge: Judge, victim: Victim
) -> None:
    base, url = await company.base(), victim.server.admin_url
    async with turnstile.holding(AFTER_WRITING) as held:
        submitting = asyncio.create_task(ingest(company.admin, base, "Unaudited"))
        await held.reached.wait()
        async with chain_locked(url, company.id):
            held.go_on.set()
            await eventually(lambda: somebody_waits(url))
            assert not submitting.done()
    assert (await submitting).status_code == 201
    await judge.judge(company.id)
    assert [d["status"] for d in (await documents(company.admin, base)).values()] == ["ready"]


async def _is_ready(company: Company, base: str, document: str) -> bool:
    return bool((await documents(company.admin, base))[document]["status"] == "ready")


async def _hide(company: Company, base: str, document: str, reader: str) -> None:
    path = f"/v1/knowledge-bases/{base}/documents/{document}/acl"
    answer = await company.admin.put(path, json={"readers": [reader]})
    assert answer.status_code == 200, answer.text


async def _is_deleted(company: Company, base: str) -> bool:
    return bool((await receipt(company, base))["status"] == "deleted")
