"""A worker is killed in the middle of an erasure, and another one goes on with the next document."""

import os
import signal
from collections import Counter

import psycopg
import pytest

from tests.integration.faults.outages import documents, eventually, somebody_waits
from tests.integration.kills.dying import Order
from tests.integration.kills.mortals import Mortals
from tests.integration.kills.recoveries import Recoveries
from tests.invariants import Judge
from tests.stack import Company

MAIL = "jeanne.morel@example.org"


@pytest.mark.parametrize("action", ["remove", "redact"])
async def test_an_erasure_that_a_killed_worker_left_is_carried_out_once(
    mortals: Mortals, company: Company, judge: Judge, recoveries: Recoveries, action: str
) -> None:
    base = await company.base()
    texts = [f"Refunds of {day} go to {MAIL}." for day in "abcdef"]
    theirs = sorted([await company.document(base, text) for text in texts])
    other = await company.document(base, "Refunds go to nobody.")
    body = {"action": action, "identifiers": [MAIL], "reason": "Case 17"}
    made = await company.admin.made("/v1/privacy/erasures", body, status=202)
    path = f"/v1/privacy/erasures/{made['id']}"
    with psycopg.connect(judge.admin_url) as blocker:
        blocker.execute("SELECT FROM eai.kb_documents WHERE id = %s FOR UPDATE", [theirs[3]])
        async with mortals.born(Order("worker")) as doomed:
            await eventually(lambda: somebody_waits(judge.admin_url))
            os.kill(doomed.pid, signal.SIGKILL)
            await doomed.dies()
        assert (await company.admin.got(path))["state"] == "running"
    async with recoveries.one("an erasure") as recovery, mortals.born(Order("worker")):
        await judge.judge(company.id, within_s=recovery.left_s)
    outcome = {"remove": "removed", "redact": "redacted"}[action]
    shown = await company.admin.got(path)
    assert (shown["state"], shown["documents"]) == ("completed", {outcome: len(theirs)})
    told = await company.admin.got("/v1/audit/events", action="privacy.document.found", limit=200)
    assert Counter(event["resource"]["id"] for event in told["data"]) == Counter(theirs)
    left = {other} if action == "remove" else {other, *theirs}
    assert set(await documents(company.admin, base)) == left
    answer = await company.admin.made(
        f"/v1/knowledge-bases/{base}/query", {"query": "refunds", "top_k": 100}, status=200
    )
    assert MAIL not in str(answer)
