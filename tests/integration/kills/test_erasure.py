"""A worker is killed in the middle of an erasure, and another one goes on with the next document."""

import os
import signal
from collections import Counter

import psycopg
import pytest

from tests.conftest import DatabaseUrls
from tests.integration.faults.outages import documents, eventually, let_leases_run_out, somebody_waits
from tests.integration.kills.dying import Order
from tests.integration.kills.mortals import Mortals
from tests.invariants import Judge
from tests.stack import Company

MAIL = "jeanne.morel@example.org"


@pytest.mark.parametrize("action", ["remove", "redact"])
async def test_an_erasure_that_a_killed_worker_left_is_carried_out_once(
    workless_urls: DatabaseUrls, mortals: Mortals, company: Company, judge: Judge, action: str
) -> None:
    base = await company.base()
    texts = [f"Refunds of {day} go to {MAIL}." for day in "abcdef"]
    theirs = sorted([await company.document(base, text) for text in texts])
    other = await company.document(base, "Refunds go to nobody.")
    body = {"action": action, "identifiers": [MAIL], "reason": "Case 17"}
    made = await company.admin.made("/v1/privacy/erasures", body, status=202)
    path = f"/v1/privacy/erasures/{made['id']}"
    with psycopg.connect(workless_urls.admin) as blocker:
        blocker.execute("SELECT FROM eai.kb_documents WHERE id = %s FOR UPDATE", [theirs[3]])
        async with mortals.born(Order("worker")) as doomed:
            await eventually(lambda: somebody_waits(workless_urls.admin))
            os.kill(doomed.pid, signal.SIGKILL)
            await doomed.dies()
        assert (await company.admin.got(path))["state"] == "running"
    await let_leases_run_out(workless_urls.admin, company.id)
    async with mortals.born(Order("worker", sweeps=True)):

        async def ended() -> bool:
            return bool((await company.admin.got(path))["state"] == "completed")

        await eventually(ended, 60)
        await judge.judge(company.id)
    outcome = {"remove": "removed", "redact": "redacted"}[action]
    shown = await company.admin.got(path)
    assert shown["documents"] == {outcome: len(theirs)}
    told = await company.admin.got("/v1/audit/events", action="privacy.document.found", limit=200)
    assert Counter(event["resource"]["id"] for event in told["data"]) == Counter(theirs)
    left = {other} if action == "remove" else {other, *theirs}
    assert set(await documents(company.admin, base)) == left
    answer = await company.admin.made(
        f"/v1/knowledge-bases/{base}/query", {"query": "refunds", "top_k": 100}, status=200
    )
    assert MAIL not in str(answer)
