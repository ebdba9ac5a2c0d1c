"""The audit cannot be written, or what it rests on cannot be reached (faults 15, 38, 39)."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx2

from eai.bootstrap import maintain
from eai.platform.metrics import AUDIT_ALARMS
from tests.integration.faults.outages import Victim, chain_locked, documents, ingest, query
from tests.invariants import Judge
from tests.stack import Company, Stack

DEADLINE_S = 5.0
"""How long the product waits for a chain that somebody holds."""


def code_of(answer: httpx2.Response) -> str:
    assert answer.status_code == 503, answer.text
    return str(answer.json()["error"]["code"])


async def test_while_a_chain_is_held_nothing_of_its_tenant_changes_or_is_shown(
    fragile: Stack, company: Company, judge: Judge, victim: Victim
) -> None:
    base, other = await company.base(), await fragile.company()
    kept = await company.document(base, "Refunds are paid within a week.")
    others = await other.base()
    await other.document(others, "Refunds are paid within a month.")
    async with chain_locked(victim.server.admin_url, company.id), asyncio.TaskGroup() as group:
        # More changes than there are connections, all of which wait for the same row.
        waiting = [
            *[group.create_task(ingest(company.admin, base, f"Held {n}")) for n in range(6)],
            *[group.create_task(company.admin.post("/v1/groups", json={"name": f"g{n}"})) for n in range(6)],
            group.create_task(company.admin.delete(f"/v1/knowledge-bases/{base}/documents/{kept}")),
        ]
        asking = group.create_task(query(company.admin, base, "refunds"))
        async with asyncio.timeout(DEADLINE_S):
            for number in range(3):
                assert (await query(other.admin, others, "refunds")).status_code == 200
                assert (await ingest(other.admin, others, f"Free {number}")).status_code == 201
        assert not asking.done()
        assert code_of(await asking) == "audit_unavailable"
        codes = Counter([code_of(await each) for each in waiting])
    assert set(codes) <= {"audit_unavailable", "database_unavailable"}
    assert set(await documents(company.admin, base)) == {kept}
    assert (await company.admin.got("/v1/groups"))["data"] == []
    answer = await query(company.admin, base, "refunds")
    assert [hit["document_id"] for hit in answer.json()["results"]] == [kept]
    await judge.judge(company.id)
    await judge.judge(other.id)


async def test_sixty_four_writers_of_one_chain_leave_it_dense(company: Company, judge: Judge) -> None:
    async with asyncio.TaskGroup() as group:
        sent = [
            group.create_task(company.admin.post("/v1/groups", json={"name": f"group {number}"}))
            for number in range(64)
        ]
    statuses = Counter(each.result().status_code for each in sent)
    assert set(statuses) <= {201, 503}, statuses
    made = (await company.admin.got("/v1/groups", limit=200))["data"]
    assert len(made) == statuses[201]
    events = (await company.admin.got("/v1/audit/events", action="group.create", limit=200))["data"]
    assert len(events) == statuses[201]
    await judge.judge(company.id)


async def test_without_an_anchor_events_flow_and_checkpoints_wait(fragile: Stack) -> None:
    await fragile.company()
    await maintain(fragile.platform)  # so that the file is there
    other = await fragile.company()
    async with unreachable(fragile.platform.settings.anchor_path):
        alarms = alarmed("anchor_unreachable")
        await maintain(fragile.platform)
        assert alarmed("anchor_unreachable") == alarms + 1
        assert (await other.admin.post("/v1/groups", json={"name": "meanwhile"})).status_code == 201
        meanwhile = await other.admin.got("/v1/audit/verify")
        assert (meanwhile["valid"], meanwhile["anchor_reachable"]) == (True, False)
        assert (meanwhile["anchored_seq"], meanwhile["unanchored_since"] is None) == (0, False)
        signed = (await other.admin.got("/v1/audit/checkpoints"))["data"]
        assert [each["anchored_at"] for each in signed] == [None]
    await maintain(fragile.platform)
    after = await other.admin.got("/v1/audit/verify")
    assert (after["valid"], after["anchor_reachable"]) == (True, True)
    assert after["anchored_seq"] == signed[0]["seq"]


@asynccontextmanager
async def unreachable(anchor: Path) -> AsyncIterator[None]:
    """As when another mount went away: where the file was there is a folder."""
    aside = anchor.with_suffix(".aside")
    anchor.rename(aside)
    anchor.mkdir()
    yield
    anchor.rmdir()
    aside.rename(anchor)


def alarmed(reason: str) -> float:
    return float(AUDIT_ALARMS.labels(reason)._value.get())
