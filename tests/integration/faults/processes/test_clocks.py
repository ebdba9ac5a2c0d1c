"""The clocks of machines jump by an hour, each its own way; PostgreSQL's goes on (fault 29)."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime

import pytest
from psycopg import AsyncConnection

from tests.integration.faults.outages import documents, eventually, ingest, query
from tests.integration.kills.dying import Fate, Order
from tests.integration.kills.mortals import Mortal, Mortals
from tests.integration.kills.surroundings import Surroundings
from tests.invariants import Judge
from tests.provider.steps import Step
from tests.stack import Caller, Company, Json, Stack

HOUR_S = 3600.0
JUMPS = pytest.mark.parametrize("jump_s", [HOUR_S, -HOUR_S], ids=["forth", "back"])
WRITTEN = Fate("ingestion.run", "eai/ingestion/components.py WritePoints.run_async", "ensure_space")
OFTEN = {"EAI_AUDIT_CHECKPOINT_INTERVAL_SECONDS": "1"}


@asynccontextmanager
async def jumped(mortals: Mortals, kind: str, jump_s: float) -> AsyncIterator[Mortal]:
    """A process whose clock jumps once it works."""
    surroundings = Surroundings(clock_jumps_s=jump_s, environ=OFTEN)
    async with mortals.born(Order(kind, surroundings=surroundings)) as process:
        process.has_its_clock_jump()
        yield process


@pytest.fixture
async def patient(workless: Stack) -> AsyncIterator[Mortals]:
    """Leases as long as in production: those of three seconds are lost by whoever waits for a processor."""
    async with Mortals.over(workless.platform.settings, is_patient=True) as made:
        yield made


async def job_of(company: Company, document: Json) -> Json:
    return await company.admin.got(f"/v1/jobs/{document['job_id']}")


@JUMPS
async def test_what_is_put_off_is_done_when_its_time_has_come_by_the_database(
    mortals: Mortals, workless: Stack, company: Company, judge: Judge, jump_s: float
) -> None:
    base = await company.base()
    await company.document(base, "Refunds are paid within a week.")
    await workless.engine.kill()
    made = (await ingest(company.admin, base, "Put off", prefer="respond-async")).json()

    async def is_put_off() -> bool:
        job = await job_of(company, made)
        return (job["state"], job["attempt"] > 0) == ("queued", True)

    async with jumped(mortals, "worker", jump_s):
        try:
            await eventually(is_put_off)
        finally:
            await workless.engine.start()
        await judge.judge(company.id)
    assert (await documents(company.admin, base))[made["id"]]["status"] == "ready"


@pytest.mark.timeout(300)
async def test_what_the_dead_have_left_is_taken_over_and_what_the_living_hold_is_not(
    patient: Mortals, workless: Stack, company: Company, judge: Judge
) -> None:
    provider = await workless.provider()
    model = await company.model(await company.answering(), capability="embeddings", dimensions=[8])
    base, slow = await company.base(), await company.base(embedding_model=model)
    await provider.forget()
    await provider.say(Step(is_held=True))
    left = (await ingest(company.admin, base, "Left", prefer="respond-async")).json()
    async with patient.born(Order("worker", left["id"], fate=WRITTEN)) as dead:
        await dead.dies()
    held = (await ingest(company.admin, slow, "Held", prefer="respond-async")).json()
    async with jumped(patient, "worker", -HOUR_S):
        await provider.has_come(within_s=60)
        first = await lease_of(judge, held)
        async with jumped(patient, "worker", HOUR_S):
            # Long enough for the lease that it began with to be over, if nobody kept it.
            await eventually(lambda: is_kept(judge, held, first), within_s=90)
            await provider.go_on()
            await judge.judge(company.id)
    assert [(await job_of(company, each))["attempt"] for each in (left, held)] == [2, 1]
    assert len(await provider.requests()) == 1


@JUMPS
async def test_whoever_asks_is_answered_as_ever(
    mortals: Mortals, company: Company, judge: Judge, jump_s: float
) -> None:
    base = await company.base()
    async with jumped(mortals, "api", jump_s) as api, Caller(api.url, company.admin.key) as caller:
        (first, again) = [await ingest(caller, base, "Kept", key="once") for _ in range(2)]
        assert (first.status_code, again.headers["idempotent-replayed"]) == (201, "true")
        waiting = await ingest(caller, base, "Waiting", prefer="respond-async")
        assert waiting.status_code == 202
        async with mortals.born(Order("worker")):
            await judge.judge(company.id)
        hits = (await query(caller, base, "refunds")).json()["results"]
        verdict = await caller.got("/v1/audit/verify")
    assert {hit["document_id"] for hit in hits} == {first.json()["id"], waiting.json()["id"]}
    assert verdict["valid"] is True
    # Entries stand in the order of their commits; that their times do not is remarked.
    assert verdict["clock_back_at"] is not None


async def test_a_checkpoint_from_another_hour_puts_off_none_after_it(
    mortals: Mortals, company: Company
) -> None:
    async def is_signed() -> bool:
        head = (await company.admin.got("/v1/audit/verify"))["head"]["seq"]
        signed = (await company.admin.got("/v1/audit/checkpoints"))["data"]
        return head in [each["seq"] for each in signed]

    for jumps_s in (HOUR_S, -HOUR_S, 0.0):
        await company.group()
        async with jumped(mortals, "worker", jumps_s):
            await eventually(is_signed)


async def is_kept(judge: Judge, document: Json, past: datetime) -> bool:
    """Whether whoever has the job of the document has it still, after this instant."""
    async with await AsyncConnection.connect(judge.admin_url) as connection:
        found = await connection.execute(
            "SELECT FROM eai.jobs WHERE id = %s AND state = 'running' AND lease_until > clock_timestamp()"
            " AND clock_timestamp() > %s",
            [document["job_id"], past],
        )
        return await found.fetchone() is not None


async def lease_of(judge: Judge, document: Json) -> datetime:
    """Until when it is held."""
    async with await AsyncConnection.connect(judge.admin_url) as connection:
        found = await connection.execute(
            "SELECT lease_until FROM eai.jobs WHERE id = %s", [document["job_id"]]
        )
        row = await found.fetchone()
        assert row is not None
        return row[0]
