"""Workers are frozen in the middle of something, and wake up when others have done it (faults 4 and 5)."""

from contextlib import AsyncExitStack

from tests.integration.faults.outages import documents, eventually, ingest, query
from tests.integration.kills.dying import Fate, Order
from tests.integration.kills.mortals import Mortals
from tests.integration.kills.recoveries import Recoveries
from tests.invariants import Judge
from tests.stack import Company

WRITING = ("ingestion.run", "eai/ingestion/components.py WritePoints.run_async")
SERVING = ("ingestion.run", "eai/ingestion/service.py Ingestion._serve")
BUILDING = ("embeddings_reindex", "eai/reindex/building.py Building._write")
STORING = ("embeddings_reindex", "eai/reindex/building.py Building._store")


async def test_workers_that_froze_past_their_lease_change_nothing(
    mortals: Mortals, company: Company, judge: Judge, recoveries: Recoveries
) -> None:
    base, fenced = await company.base(), mortals.heard("job.fenced")
    kept, gone = set[str](), set[str]()
    async with AsyncExitStack() as frozen:
        for place, what, those in (
            (WRITING, "ensure_space", kept),
            (WRITING, "count", kept),
            (SERVING, "commit", kept),
            (WRITING, "ensure_space", gone),
            (WRITING, "count", gone),
        ):
            title = f"Frozen {len(kept)} {len(gone)}"
            made = (await ingest(company.admin, base, title, prefer="respond-async")).json()["id"]
            those.add(made)
            order = Order("worker", made, fate=Fate(*place, what, "before", how="SIGSTOP"))
            zombie = await frozen.enter_async_context(mortals.born(order))
            await zombie.freezes()
        async with mortals.born(Order("worker")):
            async with recoveries.one("who is frozen") as recovery:
                await judge.judge(company.id, within_s=recovery.left_s)
            for document in gone:
                answer = await company.admin.delete(f"/v1/knowledge-bases/{base}/documents/{document}")
                assert answer.json()["status"] == "deleted"
            for zombie in mortals.alive():
                zombie.go_on()
            await eventually(lambda: mortals.heard("job.fenced") >= fenced + 5)
            await judge.judge(company.id)
    assert set(await documents(company.admin, base)) == kept


async def test_reindexes_that_froze_past_their_lease_change_nothing(
    mortals: Mortals, company: Company, judge: Judge, recoveries: Recoveries
) -> None:
    fenced, zombies = mortals.heard("job.fenced"), AsyncExitStack()
    completed, cancelled = [], []
    async with zombies:
        for place, what, those in (
            (BUILDING, "upsert", completed),
            (STORING, "commit", completed),
            (BUILDING, "upsert", cancelled),
            (STORING, "commit", cancelled),
        ):
            base = await company.base()
            await ingest(company.admin, base, "First")
            frozen = (await ingest(company.admin, base, "Frozen")).json()["id"]
            path = f"/v1/knowledge-bases/{base}"
            job = await company.admin.made(f"{path}/reindex", {}, status=202)
            order = Order("worker", base, fate=Fate(*place, what, "before", nth=2, how="SIGSTOP"))
            zombie = await zombies.enter_async_context(mortals.born(order))
            await zombie.freezes()
            those.append((base, frozen))
            if those is cancelled:
                # What froze within a transaction holds its job until the database lets it go.
                await company.admin.made(f"{path}/reindex-jobs/{job['job_id']}/cancel", {}, status=200)
        async with mortals.born(Order("worker")):
            async with recoveries.one("who is frozen") as recovery:
                await judge.judge(company.id, within_s=recovery.left_s)
            for base, frozen in completed:
                gone = await company.admin.delete(f"/v1/knowledge-bases/{base}/documents/{frozen}")
                assert gone.json()["status"] == "deleted"
            for zombie in mortals.alive():
                zombie.go_on()
            await eventually(lambda: mortals.heard("job.fenced") >= fenced + 4)
            await judge.judge(company.id)
    for base, _ in cancelled:
        assert len((await query(company.admin, base, "refunds")).json()["results"]) == 2
