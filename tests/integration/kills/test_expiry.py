"""A worker is killed in the middle of what is due, and another one goes on where it was."""

import os
import signal
from collections import Counter
from uuid import UUID

import psycopg

from eai.kernel.ids import TenantId
from tests.conftest import DatabaseUrls
from tests.integration.faults.outages import documents, eventually, let_leases_run_out, somebody_waits
from tests.integration.kills.dying import Order
from tests.integration.kills.mortals import Mortals
from tests.invariants import Judge
from tests.stack import Company, Stack


async def test_what_a_killed_worker_left_expires_once(
    workless: Stack, workless_urls: DatabaseUrls, mortals: Mortals, company: Company, judge: Judge
) -> None:
    base = await company.base()
    due = sorted([await company.document(base, f"Refunds are paid by {day}.") for day in "abcdef"])
    kept = await company.document(base, "Refunds are never paid.", classification="secret")
    for level, days in (("internal", 1), ("secret", 36_500)):
        await company.admin.made("/v1/retention/policies", {"classification": level, "keep_days": days})
    with psycopg.connect(workless_urls.admin) as admin:
        admin.execute(
            "UPDATE eai.kb_document_versions SET created_at = created_at - interval '2 days'"
            " WHERE tenant_id = %s", [company.id],
        )  # fmt: skip
    job = await workless.platform.expiry.queue(TenantId(UUID(company.id)))
    with psycopg.connect(workless_urls.admin) as blocker:
        blocker.execute("SELECT FROM eai.kb_documents WHERE id = %s FOR UPDATE", [due[3]])
        async with mortals.born(Order("worker")) as doomed:
            await eventually(lambda: somebody_waits(workless_urls.admin))
            os.kill(doomed.pid, signal.SIGKILL)
            await doomed.dies()
        left = set(await documents(company.admin, base))
    assert left == {*due[3:], kept}
    await let_leases_run_out(workless_urls.admin, company.id)
    async with mortals.born(Order("worker", sweeps=True)):

        async def ended() -> bool:
            shown = await company.admin.got(f"/v1/jobs/{job}")
            return bool(shown["state"] == "completed" and shown["progress"]["documents_done"] == len(due))

        await eventually(ended)
        await judge.judge(company.id)
    assert set(await documents(company.admin, base)) == {kept}
    told = await company.admin.got("/v1/audit/events", action="retention.document.expire", limit=200)
    assert Counter(event["resource"]["id"] for event in told["data"]) == Counter(due)
    listed = await company.admin.got("/v1/retention/expirations")
    assert [each["status"] for each in listed["data"]] == ["deleted"] * len(due)
