"""PostgreSQL stops without a word while the product is in use, and comes back (fault 13)."""

import asyncio

import pytest

from tests.integration.faults.outages import Victim, documents, eventually, ingest, query, under_load
from tests.invariants import Judge
from tests.stack import Company

pytestmark = pytest.mark.xdist_group("faults")

LONGER_THAN_A_HEARTBEAT_S = 4.0
BACK_WITHIN_S = 10.0
POLLING_S = 4.0
"""A worker that no longer hears of new jobs would find one only when it next looks."""


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

    began = asyncio.get_running_loop().time()
    later = await ingest(company.admin, base, "Later", prefer="respond-async")
    assert later.status_code == 202
    await eventually(lambda: _is_ready(company, base, later.json()["id"]))
    assert asyncio.get_running_loop().time() - began < POLLING_S

    await judge.judge(company.id)
    shown = await documents(company.admin, base)
    expected = {**load.acknowledged, later.json()["id"]: "Later"}
    assert {id_: shown[id_]["status"] for id_ in expected} == dict.fromkeys(expected, "ready")
    answer = await query(company.admin, base, "Later")
    assert answer.json()["results"][0]["document_id"] == later.json()["id"]


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


async def _is_ready(company: Company, base: str, document: str) -> bool:
    return bool((await documents(company.admin, base))[document]["status"] == "ready")
