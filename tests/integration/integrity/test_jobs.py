"""Examinations by themselves, and repairs that are interrupted, repeated and overtaken."""

import asyncio
from typing import Any
from uuid import UUID

import pytest

from eai.integrity.mending_rows import MendingRows
from eai.kernel.ids import JobId, TenantId
from eai.knowledge.ports import VectorStoreUnavailable
from eai.platform.jobs import Fenced
from eai.platform.metrics import INTEGRITY_FINDINGS, INTEGRITY_LAST_RUN
from tests.integration.integrity.corruptions import lose_one
from tests.integration.integrity.seeded import Seeded

_CHECKS = "SELECT id, state FROM eai.jobs WHERE tenant_id = %(tenant)s AND name = 'integrity.check'"
_OVER = "UPDATE eai.jobs SET lease_until = now() - interval '1 hour' WHERE id = %(job)s"
_UNCOUNTED = "DELETE FROM eai.kb_term_statistics WHERE generation = %(generation)s"


async def _due(seeded: Seeded) -> list[dict[str, Any]]:
    """The checks of the tenant once everybody has had a turn."""
    await seeded.rows("DELETE FROM eai.integrity_reports")
    await seeded.rows("DELETE FROM eai.jobs WHERE name = 'integrity.check'")
    jobs = seeded.platform.integrity_jobs
    async with asyncio.timeout(20):
        while not (found := await seeded.rows(_CHECKS)):
            await jobs.queue_due(0.05)
            await asyncio.sleep(0.01)
    return found


async def test_a_worker_makes_the_index_right_and_leaves_the_rest_for_a_person(seeded: Seeded) -> None:
    before = INTEGRITY_FINDINGS.labels("point_missing")._value.get()
    async with seeded.kept("deletion_receipts"):
        await lose_one(seeded)
        await seeded.rows("UPDATE eai.deletion_receipts SET vectors_remaining = 1 WHERE id = %(deleted)s")
        (check,) = await _due(seeded)
        await seeded.worker.run_one(seeded.tenant, JobId(check["id"]))
        assert await seeded.kinds() == {"receipt_untrue"}
    async with seeded.platform.database.transaction(seeded.tenant) as session:
        report = await MendingRows(session, seeded.tenant).last_report()
    assert report is not None
    assert report.mended == {"point_missing": 1}
    assert [finding["kind"] for finding in report.findings] == ["receipt_untrue"]
    assert INTEGRITY_FINDINGS.labels("point_missing")._value.get() == before + 1
    assert INTEGRITY_LAST_RUN._value.get() > 0
    assert await seeded.kinds() == set()


async def test_what_is_still_there_after_a_check_is_not_told_to_be_mended(
    seeded: Seeded, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, told = INTEGRITY_FINDINGS.labels("point_missing")._value.get(), "integrity.repair"
    events = len(await seeded.events(told))

    async def keeps_nothing(*_: object) -> None:
        return None

    await lose_one(seeded)
    with monkeypatch.context() as broken:
        broken.setattr(type(seeded.vectors), "upsert", keeps_nothing)
        (check,) = await _due(seeded)
        await seeded.worker.run_one(seeded.tenant, JobId(check["id"]))
    async with seeded.platform.database.transaction(seeded.tenant) as session:
        report = await MendingRows(session, seeded.tenant).last_report()
    assert report is not None
    assert report.mended == {}
    assert [(finding["kind"], finding["count"]) for finding in report.findings] == [("point_missing", 1)]
    assert INTEGRITY_FINDINGS.labels("point_missing")._value.get() == before + 1
    assert len(await seeded.events(told)) == events
    assert await seeded.repair() == {"point_missing": 1}


async def test_one_examination_of_a_tenant_waits_at_a_time_and_none_when_switched_off(
    seeded: Seeded,
) -> None:
    assert len(await _due(seeded)) == 1
    for _ in range(20):
        await seeded.platform.integrity_jobs.queue_due(0.05)
        await asyncio.sleep(0.01)
    (check,) = await seeded.rows(_CHECKS)
    await seeded.worker.run_one(seeded.tenant, JobId(check["id"]))
    await seeded.platform.integrity_jobs.queue_due(0)
    assert [each["state"] for each in await seeded.rows(_CHECKS)] == ["completed"]
    async with seeded.platform.database.transaction(seeded.tenant) as session:
        assert not await MendingRows(session, seeded.tenant).is_due(3600)
        assert await MendingRows(session, seeded.tenant).is_due(0)


async def test_a_second_repair_of_a_tenant_is_not_begun(seeded: Seeded) -> None:
    jobs = seeded.platform.integrity_jobs
    first = await jobs.queue_repair(seeded.tenant, is_deep=False)
    assert first is not None
    assert await jobs.queue_repair(seeded.tenant, is_deep=True) is None
    await seeded.worker.run_one(seeded.tenant, first)
    again = await jobs.queue_repair(seeded.tenant, is_deep=False)
    assert again is not None
    await seeded.worker.run_one(seeded.tenant, again)


async def test_a_repair_whose_process_died_is_done_by_the_next_and_told_once(seeded: Seeded) -> None:
    platform = seeded.platform
    await lose_one(seeded)
    await seeded.rows(_UNCOUNTED)
    told = len(await seeded.events("integrity.repair"))
    job = await platform.integrity_jobs.queue_repair(seeded.tenant, is_deep=True)
    assert job is not None
    async with platform.database.transaction(seeded.tenant) as session:
        dead = await platform.jobs.claim(session, seeded.tenant, job)
    assert dead is not None
    await seeded.rows(_OVER, job=job)
    await seeded.worker.run_one(seeded.tenant, job)
    assert await seeded.kinds(is_deep=True) == set()
    # It wakes up, and whatever it had worked out is dropped.
    await seeded.rows(_UNCOUNTED)
    with pytest.raises(Fenced):
        await platform.integrity_jobs.repair(dead)
    assert await seeded.kinds() == {"statistics_wrong"}
    assert await seeded.repair() == {"statistics_wrong": 1}
    assert len(await seeded.events("integrity.repair")) == told + 2


async def test_nothing_is_told_where_nothing_was_mended(seeded: Seeded) -> None:
    told = len(await seeded.events("integrity.repair"))
    assert await seeded.repair() == {}
    assert len(await seeded.events("integrity.repair")) == told


async def test_what_cannot_be_looked_at_is_said_and_the_rest_is_looked_at(
    seeded: Seeded, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def down(*_: object, **__: object) -> None:
        raise VectorStoreUnavailable

    monkeypatch.setattr(type(seeded.vectors), "scan", down)
    async with seeded.kept("deletion_receipts"):
        await seeded.rows("UPDATE eai.deletion_receipts SET vectors_remaining = 1 WHERE id = %(deleted)s")
        examination = await seeded.examine()
    assert examination.failed == ("points",)
    assert "points" in examination.report.not_checked
    assert [finding.kind for finding in examination.report.findings] == ["receipt_untrue"]


async def test_the_tenants_of_others_are_neither_examined_nor_mended(seeded: Seeded) -> None:
    other = await seeded.stack.company()
    await lose_one(seeded)
    whose = TenantId(UUID(other.id))
    assert await seeded.kinds(tenant=whose) == set()
    assert await seeded.repair(tenant=whose) == {}
    assert await seeded.kinds() == {"point_missing"}
    assert await seeded.repair() == {"point_missing": 1}


async def test_there_is_no_route_to_it(seeded: Seeded) -> None:
    answer = await seeded.company.admin.get("/openapi.json")
    paths = list(answer.json()["paths"])
    assert "/v1/knowledge-bases" in paths
    words = ("integrity", "fsck", "repair", "backup", "restore")
    assert [path for path in paths if any(word in path for word in words)] == []
