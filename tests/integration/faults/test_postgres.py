"""PostgreSQL stops without a word while the product is in use, and comes back (fault 13)."""

import asyncio
from contextlib import AsyncExitStack
from datetime import timedelta

import pytest

from eai.api.idempotency import repository as idempotency
from eai.platform.jobs import Pace
from tests.integration.faults.outages import (
    HURRY,
    Turnstile,
    Victim,
    documents,
    eventually,
    ingest,
    query,
    under_load,
)
from tests.integration.kills.trials import repeat
from tests.integration.kills.workloads import DeleteBase, DeleteDocument, Ingest, Reindex, Replace
from tests.invariants import Judge
from tests.stack import Company, Stack

LONGER_THAN_A_HEARTBEAT_S = 4.0
BACK_WITHIN_S = 10.0
UNDER_WAY = [Ingest("worker"), Ingest("api"), Replace("worker"), DeleteDocument("api"), DeleteBase("worker")]
UNDER_WAY += [Reindex("worker")]
WRITES = {
    "delete": "delete",
    "delete base": "delete",
    "ingest": "upsert",
    "replace": "upsert",
    "reindex": "upsert",
}
"""With what each begins to change the vector store."""


async def test_a_database_that_stops_under_load_costs_only_refusals(
    victim: Victim, company: Company, judge: Judge
) -> None:
    base = await company.base()
    await company.document(base, "Refunds are paid within a week.")
    async with under_load(company.admin, base) as load:
        await load.goes_on()
        for outage_s in (0, LONGER_THAN_A_HEARTBEAT_S):
            await victim.stop_immediately()
            await load.is_refused()
            await asyncio.sleep(outage_s)
            await victim.start()
            async with asyncio.timeout(BACK_WITHIN_S):
                await load.goes_on()
    assert load.unforeseen == []
    assert load.statuses <= {200, 201, 202, 503}

    await eventually(victim.is_listened_to)
    later = await ingest(company.admin, base, "Later", prefer="respond-async")
    assert later.status_code == 202
    await judge.judge(company.id)
    shown = await documents(company.admin, base)
    expected = {**load.acknowledged, later.json()["id"]: "Later"}
    assert {id_: shown[id_]["status"] for id_ in expected} == dict.fromkeys(expected, "ready")
    answer = await query(company.admin, base, "Later")
    assert answer.json()["results"][0]["document_id"] == later.json()["id"]


@pytest.fixture
def _claims_end_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(idempotency, "LEASE", timedelta(seconds=HURRY.lease_s))


@pytest.mark.usefixtures("_claims_end_soon")
@pytest.mark.parametrize("stage", ["before anything is written", "before it is known what was written"])
async def test_a_database_that_stops_in_the_middle_of_everything_leaves_nothing_half_done(
    victim: Victim,
    company: Company,
    turnstile: Turnstile,
    judge: Judge,
    stage: str,
) -> None:
    scenes = [await workload.prepare(company, "local-hash-256") for workload in UNDER_WAY]
    async with AsyncExitStack() as held, asyncio.TaskGroup() as group:
        for workload, scene in zip(UNDER_WAY, scenes, strict=True):
            writes = "delete" if workload.name.startswith("delete") else "upsert"
            method = writes if stage == "before anything is written" else "count"
            call = await held.enter_async_context(turnstile.holding(method))
            group.create_task(workload.ask(company.admin, scene))
            await call.reached.wait()
        await victim.stop_immediately()
        await held.aclose()
        await victim.start()
    await judge.judge(company.id, within_s=HURRY.lease_s + BACK_WITHIN_S)
    await asyncio.gather(*map(repeat, UNDER_WAY, scenes))
    await judge.judge(company.id)
    for workload, scene in zip(UNDER_WAY, scenes, strict=True):
        await workload.judge(scene)


async def test_a_database_without_a_connection_to_spare_costs_only_refusals(
    victim: Victim, company: Company, judge: Judge
) -> None:
    base = await company.base()
    async with under_load(company.admin, base) as load:
        await load.goes_on()
        async with victim.exhausted():
            await load.is_refused()
        async with asyncio.timeout(BACK_WITHIN_S):
            await load.goes_on()
    assert load.unforeseen == []
    await judge.judge(company.id)
    shown = await documents(company.admin, base)
    assert {id_: shown[id_]["status"] for id_ in load.acknowledged} == dict.fromkeys(
        load.acknowledged, "ready"
    )


async def test_a_frozen_process_lets_go_of_its_rows_before_its_jobs_are_given_to_others(
    fragile: Stack,
) -> None:
    ((bound,),) = await fragile.platform.database.statement(
        "SELECT setting::int FROM pg_settings WHERE name = 'idle_in_transaction_session_timeout'", {}
    )
    assert 0 < bound / 1000 <= Pace().lease_s / 2
