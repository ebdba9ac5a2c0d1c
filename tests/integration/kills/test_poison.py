"""A text or a reindex that kills whoever is at it is given up, and nothing waits for it (faults 1 and 30)."""

from dataclasses import replace
from uuid import UUID, uuid4

import numpy as np

from eai.access.rights_class import generation_key
from eai.kernel.ids import DocumentId, GenerationId, PointId, TenantId, VersionId
from eai.knowledge.ports import SpaceId
from tests.factories.vectors import point as made_up
from tests.integration.faults.outages import documents, ingest, let_leases_run_out
from tests.integration.kills.dying import SLOW, Fate, Order
from tests.integration.kills.mortals import Mortals
from tests.integration.kills.recoveries import Recoveries
from tests.invariants import Judge
from tests.stack import Company, Stack

EMBEDDING = Fate("ingestion.run", "eai/gateway/service.py Gateway._vectors", "embed", "before")
BUILDING = Fate("embeddings_reindex", "eai/reindex/building.py Building._write", "upsert", "before")


async def kills_three(
    mortals: Mortals, company: Company, judge: Judge, recoveries: Recoveries, order: Order
) -> None:
    """Have it kill three workers; the fourth one lives."""
    for _ in range(3):
        await let_leases_run_out(judge.admin_url, company.id)
        async with mortals.born(order) as worker:
            await worker.dies()
    async with recoveries.one("what kills whoever is at it") as recovery, mortals.born(order) as worker:
        await judge.judge(company.id, within_s=recovery.left_s)
        assert worker.is_alive


async def test_a_text_that_kills_every_worker_fails_and_the_others_do_not(
    mortals: Mortals, company: Company, judge: Judge, recoveries: Recoveries
) -> None:
    base = await company.base()
    slow = [f"{SLOW} {number}" for number in range(3)]
    for title in slow:
        await ingest(company.admin, base, title, prefer="respond-async")
    poison = (await ingest(company.admin, base, "Poison", prefer="respond-async")).json()["id"]
    await kills_three(
        mortals, company, judge, recoveries, Order("worker", poison, fate=EMBEDDING, sweeps=True)
    )
    shown = {each["title"]: each for each in (await documents(company.admin, base)).values()}
    assert {title: shown[title]["status"] for title in slow} == dict.fromkeys(slow, "ready")
    assert (shown["Poison"]["status"], shown["Poison"]["error"]["code"]) == ("failed", "job_failed")


async def test_a_replacement_that_kills_every_worker_leaves_the_old_text(
    mortals: Mortals, company: Company, judge: Judge, recoveries: Recoveries
) -> None:
    base = await company.base()
    document = await company.document(base, "Old.")
    path = f"/v1/knowledge-bases/{base}/documents/{document}"
    assert (await company.admin.put(path, json={"content": "New."})).status_code == 202
    await kills_three(
        mortals, company, judge, recoveries, Order("worker", document, fate=EMBEDDING, sweeps=True)
    )
    shown = await company.admin.got(path)
    assert (shown["version"], shown["status"]) == ("1", "ready")
    assert shown["pending_version"]["error"]["code"] == "job_failed"


async def test_a_reindex_that_kills_every_worker_leaves_the_former_generation(
    mortals: Mortals, company: Company, judge: Judge, recoveries: Recoveries
) -> None:
    base = await company.base()
    await ingest(company.admin, base, "First")
    job = await company.admin.made(f"/v1/knowledge-bases/{base}/reindex", {}, status=202)
    order = Order("worker", base, fate=BUILDING, sweeps=True)
    await kills_three(mortals, company, judge, recoveries, order)
    shown = await company.admin.got(f"/v1/knowledge-bases/{base}/reindex-jobs/{job['job_id']}")
    assert (shown["status"], shown["error"]["code"]) == ("failed", "job_failed")
    now = await company.admin.got(f"/v1/knowledge-bases/{base}")
    assert now["vector_generation"] == job["from"]["generation"]


async def test_what_a_killed_reindex_wrote_of_a_document_that_went_is_cleared(
    mortals: Mortals, workless: Stack, company: Company, judge: Judge, recoveries: Recoveries
) -> None:
    base = await company.base()
    gone = (await ingest(company.admin, base, "Gone")).json()["id"]
    await ingest(company.admin, base, "Kept")
    path = f"/v1/knowledge-bases/{base}"
    (version,) = (await company.admin.got(f"{path}/documents/{gone}/versions"))["data"]
    job = await company.admin.made(f"{path}/reindex", {}, status=202)
    async with mortals.born(Order("worker", base, fate=BUILDING)) as worker:
        await worker.dies()
    assert (await company.admin.delete(f"{path}/documents/{gone}")).json()["status"] == "deleted"
    # As if it had been killed a moment later, when the document had been deleted already.
    key = generation_key(TenantId(UUID(company.id)), GenerationId(UUID(job["to"]["generation"])))
    stray = replace(
        made_up(1, np.ones(256, np.float32), rights=f"{key}:1"),
        id=PointId(uuid4()),
        document=DocumentId(UUID(gone)),
        version=VersionId(UUID(version["id"])),
    )
    space = SpaceId(job["to"]["collection"], 256)
    await workless.platform.vectors.upsert(space, [stray])
    async with recoveries.one("a reindex of what went") as recovery, mortals.born(Order("worker")):
        await judge.judge(company.id, within_s=recovery.left_s)
