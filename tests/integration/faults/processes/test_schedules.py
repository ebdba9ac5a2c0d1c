"""What is due is looked for in two processes at the same moment, or asked for twice (fault 41)."""

import asyncio

import psycopg

from tests.integration.faults.outages import eventually, let_leases_run_out
from tests.integration.kills.dying import Fate, Order
from tests.integration.kills.mortals import Mortals
from tests.integration.kills.test_zombies import WRITING
from tests.invariants import Judge
from tests.stack import Caller, Company

WRITTEN = Fate(*WRITING, "ensure_space")


async def waiting_for_locks(admin_url: str) -> int:
    async with await psycopg.AsyncConnection.connect(admin_url) as connection:
        found = await connection.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND usename = 'eai_app' AND wait_event_type = 'Lock'"
        )
        row = await found.fetchone()
        assert row is not None
        return int(row[0])


async def test_what_two_processes_find_due_at_once_is_done_once(
    mortals: Mortals, company: Company, judge: Judge
) -> None:
    base = await company.base()
    await company.document(base, "Refunds are paid within a week.")
    path = f"/v1/knowledge-bases/{base}"
    job = await company.admin.made(f"{path}/reindex", {}, status=202)
    async with mortals.born(Order("worker")):
        await judge.judge(company.id)
    headers = {"prefer": "respond-async"}
    body = {"title": "Left", "content": "Refunds, left by somebody who died."}
    left = (await company.admin.post(f"{path}/documents", json=body, headers=headers)).json()
    async with mortals.born(Order("worker", left["id"], fate=WRITTEN)) as dead:
        await dead.dies()
    await let_leases_run_out(judge.admin_url, company.id)
    async with await psycopg.AsyncConnection.connect(judge.admin_url) as holding:
        await holding.execute(
            "SELECT FROM eai.kb_generations WHERE id = %s FOR UPDATE", [job["from"]["generation"]]
        )
        async with mortals.born(Order("sweeper")) as one, mortals.born(Order("sweeper")) as other:

            async def both_wait() -> bool:
                return await waiting_for_locks(judge.admin_url) == 2

            await eventually(both_wait)
            await holding.rollback()
            await asyncio.gather(one.dies(), other.dies())
    async with await psycopg.AsyncConnection.connect(judge.admin_url) as admin:
        tenant = {"tenant": company.id}
        dropping = await (await admin.execute(_DROPPING, tenant)).fetchall()
        announced = await (await admin.execute(_ANNOUNCED, tenant | {"job": left["job_id"]})).fetchall()
        heads = await (await admin.execute(_SIGNED_TWICE, tenant)).fetchall()
    assert (dropping, len(announced), heads) == ([(1,)], 1, [])
    async with mortals.born(Order("worker")):
        await judge.judge(company.id)
    told = await company.admin.got("/v1/audit/events", action="knowledge_base.generation.dropped")
    assert len(told["data"]) == 1
    assert (await company.admin.got(f"/v1/jobs/{left['job_id']}"))["attempt"] == 2


async def test_of_two_who_ask_for_a_reindex_at_once_one_has_it(
    mortals: Mortals, company: Company, judge: Judge
) -> None:
    base = await company.base()
    await company.document(base, "Refunds are paid within a week.")
    path, key = f"/v1/knowledge-bases/{base}/reindex", company.admin.key
    async with (
        mortals.born(Order("api")) as one,
        mortals.born(Order("api")) as other,
        Caller(one.url, key) as first,
        Caller(other.url, key) as second,
    ):
        async with await psycopg.AsyncConnection.connect(judge.admin_url) as holding:
            await holding.execute("SELECT FROM eai.knowledge_bases WHERE id = %s FOR UPDATE", [base])
            asked = [asyncio.create_task(caller.post(path, json={})) for caller in (first, second)]

            async def both_wait() -> bool:
                return await waiting_for_locks(judge.admin_url) == 2

            await eventually(both_wait)
            await holding.rollback()
        answers = sorted([await each for each in asked], key=lambda answer: answer.status_code)
    assert [answer.status_code for answer in answers] == [202, 409]
    assert answers[1].json()["error"]["code"] == "reindex_in_progress"
    async with mortals.born(Order("worker")):
        await judge.judge(company.id)
    jobs = (await company.admin.got(f"/v1/knowledge-bases/{base}/reindex-jobs"))["data"]
    assert [each["status"] for each in jobs] == ["completed"]


_DROPPING = "SELECT count(*) FROM eai.jobs WHERE tenant_id = %(tenant)s AND name = 'reindex.drop_generation'"
_ANNOUNCED = "SELECT FROM eai_jobs.procrastinate_jobs WHERE status = 'todo' AND args ->> 'job' = %(job)s"
_SIGNED_TWICE = """
    SELECT seq FROM eai.audit_checkpoints WHERE tenant_id = %(tenant)s GROUP BY seq HAVING count(*) > 1"""
