"""What is written while its generation goes is taken back: nobody else would look for it again."""

import asyncio
from typing import cast
from uuid import UUID

from eai.access.rights_class import generation_key
from eai.integrity.rebuilding import Rebuilding
from eai.kernel.ids import GenerationId
from eai.knowledge.ports import Selector, SpaceId, Vectors
from tests.fakes.vectors import Paused
from tests.integration.integrity.seeded import Seeded

_GENERATION = "SELECT id, collection, dimensions FROM eai.kb_generations WHERE base_id = %(gone)s"


async def test_a_point_that_is_written_after_its_base_was_deleted_is_taken_back(seeded: Seeded) -> None:
    platform = seeded.platform
    base = await seeded.company.base()
    await seeded.company.document(base, "A page of a base that goes while its point is mended.")
    (row,) = await seeded.rows(_GENERATION, gone=base)
    space = SpaceId(row["collection"], row["dimensions"])
    points = Selector(generation_key(seeded.tenant, GenerationId(row["id"])))
    await seeded.vectors.delete(space, points)
    examination = await seeded.examine()
    assert [finding.kind for finding in examination.report.findings] == ["point_missing"]
    job = await platform.integrity_jobs.queue_repair(seeded.tenant, is_deep=False)
    assert job is not None
    async with platform.database.transaction(seeded.tenant) as session:
        run = await platform.jobs.claim(session, seeded.tenant, job)
    assert run is not None

    slow = Paused(seeded.vectors, "upsert")
    rebuilding = Rebuilding(platform.database, cast(Vectors, slow), platform.jobs, platform.store_ownership)
    mending = asyncio.create_task(rebuilding.mend(run, examination.found))
    async with asyncio.timeout(20):
        await slow.reached.wait()
        assert (await seeded.company.admin.delete(f"/v1/knowledge-bases/{base}")).is_success
        await seeded.work()
        receipt = await seeded.company.admin.got(f"/v1/deletion-receipts/{base}")
        assert (receipt["status"], receipt["vectors_remaining"]) == ("deleted", 0)
        slow.go_on.set()
        await mending
    assert await seeded.vectors.count(space, points) == 0
    async with platform.database.transaction(seeded.tenant) as session:
        await platform.jobs.complete(session, run)
    assert UUID(base) not in {each["id"] for each in await seeded.rows("SELECT id FROM eai.knowledge_bases")}
