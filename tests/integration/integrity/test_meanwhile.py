"""What a job is about to put right is no finding, and becomes one where the job is lost."""

import asyncio
from uuid import UUID, uuid4

import pytest

from eai.access.rights_class import generation_key
from eai.integrity.projection import Projection
from eai.kernel.ids import PLATFORM_TENANT, GenerationId
from eai.knowledge.ports import Selector, SpaceId
from tests.integration.faults.outages import eventually
from tests.integration.integrity.seeded import Seeded, stray_point

_WAITS = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
_LOSE_JOBS = "DELETE FROM eai.jobs WHERE tenant_id = %(tenant)s AND state = 'queued'"


async def test_points_that_a_job_will_move_are_not_wrong_yet(seeded: Seeded) -> None:
    base = await seeded.company.base()
    document = await seeded.company.document(base, "A page whose readers change.")
    path = f"/v1/knowledge-bases/{base}/documents/{document}/acl"
    assert (await seeded.company.admin.put(path, json={"readers": [], "reason": "because"})).is_success
    assert await seeded.kinds() == set()
    await seeded.rows(_LOSE_JOBS)
    assert await seeded.kinds() == {"point_rights_wrong"}
    assert await seeded.repair() == {"point_rights_wrong": 1}
    assert await seeded.kinds() == set()


async def test_a_document_that_a_worker_will_take_in_is_not_stuck_yet(seeded: Seeded) -> None:
    base = await seeded.company.base()
    path = f"/v1/knowledge-bases/{base}/documents"
    body = {"title": "Later", "content": "A page that waits for a worker."}
    taken = await seeded.company.admin.post(path, json=body, headers={"Prefer": "respond-async"})
    assert taken.status_code == 202
    assert await seeded.kinds() == set()
    await seeded.rows(_LOSE_JOBS)
    assert await seeded.kinds() == {"document_stuck"}
    assert await seeded.repair() == {"document_stuck": 1}
    assert await seeded.kinds() == set()
    found = await seeded.company.admin.got(f"{path}/{taken.json()['id']}")
    assert found["status"] == "failed"


async def test_a_text_that_is_overtaken_while_it_is_mended_is_not_told_to_have_failed_twice(
    seeded: Seeded,
) -> None:
    path = f"/v1/knowledge-bases/{await seeded.company.base()}/documents"
    body = {"title": "Later", "content": "A page that waits for a worker."}
    taken = await seeded.company.admin.post(path, json=body, headers={"Prefer": "respond-async"})
    await seeded.rows(_LOSE_JOBS)
    told = len(await seeded.events("knowledge.document.failed"))

    async def somebody_waits() -> bool:
        return bool(await seeded.rows(_WAITS))

    async with seeded.admin.transaction():
        for change in (
            "UPDATE eai.kb_documents SET revision = revision + 1 WHERE id = %(late)s",
            "UPDATE eai.kb_document_versions SET status = 'failed' WHERE document_id = %(late)s",
        ):
            await seeded.rows(change, late=taken.json()["id"])
        mending = asyncio.create_task(seeded.repair())
        await eventually(somebody_waits)
    await mending
    assert len(await seeded.events("knowledge.document.failed")) == told
    assert await seeded.kinds() == set()


async def test_a_base_that_a_worker_will_delete_is_let_be_until_nobody_will(seeded: Seeded) -> None:
    base = await seeded.company.base()
    await seeded.company.document(base, "A page of a base that goes.")
    assert (await seeded.company.admin.delete(f"/v1/knowledge-bases/{base}")).is_success
    assert await seeded.kinds() == set()
    await seeded.rows(_LOSE_JOBS)
    assert await seeded.kinds() == {"deletion_unfinished"}
    assert await seeded.repair() == {"deletion_unfinished": 1}
    assert await seeded.kinds() == set()
    assert (await seeded.company.admin.got(f"/v1/deletion-receipts/{base}"))["status"] == "deleted"


async def test_a_document_on_its_way_to_a_generation_that_was_dropped_leaves_no_stranger(
    seeded: Seeded,
) -> None:
    dropped = GenerationId(uuid4())
    await seeded.rows(
        "INSERT INTO eai.jobs (tenant_id, id, name, state, parameters, progress, attempt, lease_until) "
        "VALUES (%(tenant)s, %(new)s, 'ingestion.run', 'running', '{}', "
        "jsonb_build_object('beside', jsonb_build_object('generation', CAST(%(dropped)s AS text))), 1, "
        "now() + interval '1 hour')",
        new=uuid4(),
        dropped=dropped,
    )
    written = stray_point(seeded, dropped)
    await seeded.vectors.upsert(seeded.space, [written])
    assert await seeded.kinds(tenant=PLATFORM_TENANT) == set()
    await seeded.rows("DELETE FROM eai.jobs WHERE tenant_id = %(tenant)s AND state = 'running'")
    assert await seeded.kinds(tenant=PLATFORM_TENANT) == {"generation_unknown"}
    assert await seeded.repair(tenant=PLATFORM_TENANT) == {"generation_unknown": 1}
    assert await seeded.kinds(tenant=PLATFORM_TENANT) == set()


async def test_a_generation_that_is_built_keeps_the_points_of_its_rows(seeded: Seeded) -> None:
    """As after a restore: the index is made of rows, and the reindex goes on where the rows are."""
    base = await seeded.company.base()
    await seeded.company.document(base, "A page of a base that goes back.")
    jobs = f"/v1/knowledge-bases/{base}/reindex-jobs"
    there = await seeded.company.admin.made(f"/v1/knowledge-bases/{base}/reindex", {}, status=202)
    await seeded.work()
    back = await seeded.company.admin.made(f"{jobs}/{there['job_id']}/rollback", {}, status=202)
    built = GenerationId(UUID(back["to"]["generation"]))
    space = SpaceId(back["to"]["collection"], back["to"]["dimensions"])
    await seeded.vectors.delete(space, Selector(generation_key(seeded.tenant, built)))
    await seeded.vectors.upsert(space, [stray_point(seeded, built)])
    assert await seeded.kinds() == {"point_missing"}
    assert await seeded.repair() == {"point_missing": 1}
    assert await seeded.kinds(is_deep=True) == set()
    await seeded.work()
    assert (await seeded.company.admin.got(f"{jobs}/{back['job_id']}"))["status"] == "completed"
    # Now that it is searched, what has no row is too much.
    assert await seeded.kinds() == {"point_orphaned"}
    assert await seeded.repair() == {"point_orphaned": 1}
    assert await seeded.kinds() == set()


async def test_what_only_looked_wrong_is_looked_at_again(
    seeded: Seeded, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def everything(*_: object) -> list[object]:
        return [chunk["id"] for chunk in seeded.names["chunks"]]

    monkeypatch.setattr(Projection, "_suspects", everything)
    assert await seeded.kinds() == set()


@pytest.mark.parametrize("is_deep", [False, True])
async def test_what_a_way_back_would_weigh_with_is_counted_too(seeded: Seeded, is_deep: bool) -> None:
    base = await seeded.company.base()
    await seeded.company.document(base, "A page that was searched elsewhere before.")
    await seeded.company.admin.made(f"/v1/knowledge-bases/{base}/reindex", {}, status=202)
    await seeded.work()
    (former,) = await seeded.rows(
        "SELECT id FROM eai.kb_generations WHERE base_id = %(of)s AND state = 'retired'", of=base
    )
    more = "tokens = tokens + 7" if is_deep else "chunks = chunks + 1, tokens = tokens + 7"
    await seeded.rows(
        f"UPDATE eai.kb_language_statistics SET {more} WHERE generation = %(former)s", former=former["id"]
    )
    examination = await seeded.examine(is_deep=is_deep)
    assert [(each.kind, each.id) for each in examination.found] == [("statistics_wrong", str(former["id"]))]
    assert await seeded.repair(is_deep=is_deep) == {"statistics_wrong": 1}
    assert await seeded.kinds(is_deep=True) == set()
