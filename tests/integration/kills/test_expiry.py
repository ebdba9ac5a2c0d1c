"""A worker is killed in the middle of what is due, and another one goes on where it was."""

import os
import signal
from collections import Counter
from dataclasses import dataclass
from uuid import UUID

import psycopg
import pytest

from eai.kernel.ids import TenantId
from tests.integration.faults.outages import documents, eventually, somebody_waits
from tests.integration.kills.dying import Order
from tests.integration.kills.mortals import Mortals
from tests.integration.kills.passages import Passage
from tests.integration.kills.recoveries import EVERY, Recoveries
from tests.integration.kills.trials import ALIKE, Laboratory, fates, met, read
from tests.invariants import Judge
from tests.stack import Company, Stack

EXPIRED = "expired"


async def two_days_old(company: Company, admin_url: str, days: str) -> tuple[str, list[str], str]:
    """A base, its documents that are due, and one that is not."""
    base = await company.base()
    due = sorted([await company.document(base, f"Refunds are paid by {day}.") for day in days])
    kept = await company.document(base, "Refunds are never paid.", classification="secret")
    for level, keep_days in (("internal", 1), ("secret", 36_500)):
        await company.admin.made("/v1/retention/policies", {"classification": level, "keep_days": keep_days})
    async with await psycopg.AsyncConnection.connect(admin_url) as admin:
        await admin.execute(
            "UPDATE eai.kb_document_versions SET created_at = created_at - interval '2 days'"
            " WHERE tenant_id = %s", [company.id],
        )  # fmt: skip
    return base, due, kept


@dataclass(frozen=True)
class Due:
    """A tenant of which one document is due, and the job that is to see to it."""

    company: Company
    base: str
    due: str
    kept: str
    job: str

    @classmethod
    async def prepare(cls, laboratory: Laboratory) -> "Due":
        company = await laboratory.stack.company()
        base, (due,), kept = await two_days_old(company, laboratory.admin_url, "a")
        job = await laboratory.stack.platform.expiry.queue(TenantId(UUID(company.id)))
        return cls(company, base, due, kept, str(job))

    async def is_over(self) -> bool:
        return bool((await self.company.admin.got(f"/v1/jobs/{self.job}"))["state"] == "completed")


async def expired_passages(laboratory: Laboratory) -> list[Passage]:
    """Every passage of one who sees to what is due, when nobody dies over it."""
    if EXPIRED not in laboratory.recorded:
        due = await Due.prepare(laboratory)
        path = laboratory.folder / f"{EXPIRED}.jsonl"
        async with laboratory.mortals.born(Order("worker", due.job, record=str(path))):
            await eventually(due.is_over)
        laboratory.recorded[EXPIRED] = read(path)
    return laboratory.recorded[EXPIRED]


@pytest.mark.timeout(300)
async def test_whoever_dies_over_what_is_due_leaves_it_to_another(
    laboratory: Laboratory, recoveries: Recoveries
) -> None:
    found = [each for each in fates(await expired_passages(laboratory)) if not each.site.endswith(ALIKE)]
    assert {each.site.partition(" ")[0] for each in found} == {"eai/retention/expiry.py"}
    trials = [(fate, await Due.prepare(laboratory)) for fate in found[::EVERY]]
    for fate, due in trials:
        async with laboratory.mortals.born(Order("worker", due.job, fate=fate)) as mortal:
            await met(laboratory.mortals, mortal, fate)
    async with recoveries.one("what is due") as recovery, laboratory.mortals.born(Order("worker")):
        for _, due in trials:
            await laboratory.judge.judge(due.company.id, within_s=recovery.left_s)
            assert await due.is_over()
    for _, due in trials:
        assert set(await documents(due.company.admin, due.base)) == {due.kept}
        told = await due.company.admin.got("/v1/audit/events", action="retention.document.expire")
        assert [event["resource"]["id"] for event in told["data"]] == [due.due]


async def test_what_a_killed_worker_left_expires_once(
    workless: Stack, mortals: Mortals, company: Company, judge: Judge, recoveries: Recoveries
) -> None:
    base, due, kept = await two_days_old(company, judge.admin_url, "abcdef")
    job = await workless.platform.expiry.queue(TenantId(UUID(company.id)))
    with psycopg.connect(judge.admin_url) as blocker:
        blocker.execute("SELECT FROM eai.kb_documents WHERE id = %s FOR UPDATE", [due[3]])
        async with mortals.born(Order("worker")) as doomed:
            await eventually(lambda: somebody_waits(judge.admin_url))
            os.kill(doomed.pid, signal.SIGKILL)
            await doomed.dies()
        left = set(await documents(company.admin, base))
    assert left == {*due[3:], kept}
    async with recoveries.one("what is due") as recovery, mortals.born(Order("worker")):
        await judge.judge(company.id, within_s=recovery.left_s)
    shown = await company.admin.got(f"/v1/jobs/{job}")
    assert (shown["state"], shown["progress"]["documents_done"]) == ("completed", len(due))
    assert set(await documents(company.admin, base)) == {kept}
    told = await company.admin.got("/v1/audit/events", action="retention.document.expire", limit=200)
    assert Counter(event["resource"]["id"] for event in told["data"]) == Counter(due)
    listed = await company.admin.got("/v1/retention/expirations")
    assert [each["status"] for each in listed["data"]] == ["deleted"] * len(due)
