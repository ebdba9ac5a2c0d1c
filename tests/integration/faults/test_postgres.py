"""PostgreSQL stops without a word while the product is in use, and comes back (fault 13)."""

import asyncio
from contextlib import AsyncExitStack
from datetime import timedelta

import psycopg
import pytest

from eai.api.idempotency import repository as idempotency
from eai.knowledge.jobs import try_later
from eai.platform.database import Database
from eai.platform.handlers import Group, JobHandler
from eai.platform.jobs import JobRun, Jobs, Pace
from eai.platform.worker import STOP_WITHIN_S, Worker
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


async def test_a_worker_that_is_told_to_stop_while_the_database_is_away_stops(victim: Victim) -> None:
    async def run(_: JobRun) -> None:
        """There is no such job."""

    database = Database(victim.server.app_url)
    await database.open()
    jobs = Jobs(database)
    handlers = {f"test.{group}": JobHandler(run, try_later(database, jobs), group) for group in Group}
    before = await _carriers(victim)
    working = asyncio.create_task(Worker(database, jobs, handlers).run())

    async def works() -> bool:
        return await _carriers(victim) == before + len(Group)

    await eventually(works)
    await victim.stop_immediately()
    try:
        working.cancel()
        await asyncio.wait([working], timeout=2 * STOP_WITHIN_S)
        assert working.cancelled()
    finally:
        await victim.start()
        working.cancel()
        await asyncio.wait([working])
        await database.close()


async def _carriers(victim: Victim) -> int:
    """What brings jobs of one group to one process counts once."""
    async with await psycopg.AsyncConnection.connect(victim.server.admin_url) as admin:
        found = await admin.execute("SELECT count(*) FROM eai_jobs.procrastinate_workers")
        row = await found.fetchone()
        assert row is not None
        return int(row[0])


async def test_a_frozen_process_lets_go_of_its_rows_before_its_jobs_are_given_to_others(
    fragile: Stack,
) -> None:
    ((bound,),) = await fragile.platform.database.statement(
        "SELECT setting::int FROM pg_settings WHERE name = 'idle_in_transaction_session_timeout'", {}
    )
    assert 0 < bound / 1000 <= Pace().lease_s / 2
