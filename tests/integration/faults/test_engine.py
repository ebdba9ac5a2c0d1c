"""The engine process is killed while the product is in use."""

import asyncio
import os
import signal

import httpx2

from tests.integration.faults.outages import (
    ENGINE_DEADLINE_S,
    Turnstile,
    documents,
    ingest,
    query,
    under_load,
)
from tests.invariants import Judge
from tests.stack import Company, Stack

QUICKLY_S = 2.0


def is_refused(answer: httpx2.Response) -> bool:
    """Whether the answer says that the vector store is away, as promised."""
    if answer.status_code != 503:
        return False
    error = answer.json()["error"]
    return (
        error["code"] == "vector_store_unavailable" and error["retryable"] and "retry-after" in answer.headers
    )


async def test_a_base_that_nobody_has_written_to_answers_with_nothing(
    fragile: Stack, company: Company
) -> None:
    base = await company.base()
    answer = await query(company.admin, base, "refunds")
    assert (answer.status_code, answer.json()["results"]) == (200, [])


async def test_without_an_engine_each_operation_does_what_was_promised(
    fragile: Stack, company: Company, judge: Judge
) -> None:
    base = await company.base()
    kept = await company.document(base, "Refunds are paid within a week.")
    doomed = await company.document(base, "Holidays are granted on Tuesdays.")
    await fragile.engine.kill()
    try:
        async with asyncio.timeout(3 * QUICKLY_S):
            assert is_refused(await query(company.admin, base, "refunds"))
            assert is_refused(await ingest(company.admin, base, "Refused"))
            deletion = await company.admin.delete(f"/v1/knowledge-bases/{base}/documents/{doomed}")
            assert is_refused(deletion)
            assert deletion.json()["error"]["details"] == {"receipt_id": doomed}
        waiting = await ingest(company.admin, base, "Waiting", prefer="respond-async")
        assert (waiting.status_code, waiting.json()["status"]) == (202, "pending")

        gone = await company.admin.get(f"/v1/knowledge-bases/{base}/documents/{doomed}")
        assert gone.status_code == 404
        assert set(await documents(company.admin, base)) == {kept, waiting.json()["id"]}
        receipt = await company.admin.got(f"/v1/deletion-receipts/{doomed}")
        assert (receipt["status"], receipt["vectors_remaining"]) == ("deleting", None)
        ready = await company.admin.get("/readyz")
        assert (ready.status_code, ready.json()["dependencies"]["vector_store"]) == (503, "unavailable")
    finally:
        await fragile.engine.start()

    await judge.judge(company.id)
    receipt = await company.admin.got(f"/v1/deletion-receipts/{doomed}")
    assert (receipt["status"], receipt["vectors_removed"], receipt["vectors_remaining"]) == ("deleted", 1, 0)
    shown = await documents(company.admin, base)
    assert {id_: each["status"] for id_, each in shown.items()} == {
        kept: "ready",
        waiting.json()["id"]: "ready",
    }
    answer = await query(company.admin, base, "refunds")
    assert {hit["document_id"] for hit in answer.json()["results"]} == set(shown)


async def test_an_engine_that_hangs_is_an_outage_of_the_index_and_of_nothing_else(
    fragile: Stack, company: Company, turnstile: Turnstile, judge: Judge
) -> None:
    base = await company.base()
    kept = await company.document(base, "Refunds are paid within a week.")
    async with turnstile.holding("upsert") as held, asyncio.TaskGroup() as group:
        late = group.create_task(ingest(company.admin, base, "Late"))
        await held.reached.wait()
        os.kill(fragile.engine.pid, signal.SIGSTOP)
        try:
            held.go_on.set()
            asked = [group.create_task(query(company.admin, base, "refunds")) for _ in range(20)]
            async with asyncio.timeout(QUICKLY_S):
                # Twice as many as there are connections: nobody waits for the engine with one in hand.
                for number in range(5):
                    group_ = await company.admin.post("/v1/groups", json={"name": f"group {number}"})
                    assert group_.status_code == 201
            async with asyncio.timeout(ENGINE_DEADLINE_S + QUICKLY_S):
                assert is_refused(await late)
                assert all([is_refused(await each) for each in asked])
        finally:
            os.kill(fragile.engine.pid, signal.SIGCONT)
    assert (await query(company.admin, base, "refunds")).status_code == 200
    await judge.judge(company.id)
    assert set(await documents(company.admin, base)) == {kept}


async def test_an_engine_killed_under_load_loses_nothing(
    fragile: Stack, company: Company, judge: Judge
) -> None:
    base = await company.base()
    await company.document(base, "Refunds are paid within a week.")
    async with under_load(company.admin, base) as load:
        await load.goes_on()
        await fragile.engine.kill()
        await load.is_refused()
        await fragile.engine.start()
        await load.goes_on()
    assert load.unforeseen == []
    assert load.statuses <= {200, 201, 202, 503}

    await judge.judge(company.id)
    shown = await documents(company.admin, base)
    assert {id_: shown[id_]["status"] for id_ in load.acknowledged} == dict.fromkeys(
        load.acknowledged, "ready"
    )
    assert len(shown) == 1 + len(load.acknowledged)
