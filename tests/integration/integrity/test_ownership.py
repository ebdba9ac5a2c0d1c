"""An index that may be another database's is neither mended nor removed."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

import pytest

from eai.cli.fsck import FOUND, Examiner, code_of
from eai.integrity.errors import VectorStoreNotOurs
from eai.integrity.ownership import StoreOwnership
from eai.integrity.service import Examination
from eai.kernel.ids import PLATFORM_TENANT, GenerationId, JobId, TenantId
from eai.knowledge.ports import Point, Selector
from eai.platform.database import Database
from eai.platform.jobs import JobRun
from tests.conftest import fresh_database
from tests.fakes.memory_vectors import MemoryVectors
from tests.integration.integrity.corruptions import lose_one
from tests.integration.integrity.seeded import Seeded, stray_point

_ADOPTED = "SELECT seq FROM eai.audit_events WHERE action = 'integrity.adopt_index'"


@asynccontextmanager
async def _of_another(seeded: Seeded) -> AsyncIterator[None]:
    """Have the store be another database's."""
    await seeded.vectors.take("another")
    try:
        yield
    finally:
        await seeded.platform.store_ownership.adopt()


async def _checked(seeded: Seeded, tenant: TenantId) -> Examination:
    """What is found after a worker examined the tenant by itself."""
    jobs = seeded.platform.integrity_jobs
    job = JobId(uuid4())
    async with seeded.platform.database.transaction(tenant) as session:
        await seeded.platform.jobs.create(session, tenant, job, "integrity.check", {})
    await seeded.worker.run_one(tenant, job)
    assert await jobs.pending_repair(tenant) is None
    return await seeded.examine(tenant=tenant)


async def test_the_index_of_another_database_is_let_be_until_a_person_adopts_it(seeded: Seeded) -> None:
    newer, strange = stray_point(seeded, seeded.generation), stray_point(seeded, GenerationId(uuid4()))
    await lose_one(seeded)
    await seeded.vectors.upsert(seeded.space, [newer, strange])
    examiner = Examiner(seeded.platform, seeded.worker)
    async with _of_another(seeded):
        before = await seeded.vectors.generations(seeded.space)
        for tenant in (seeded.tenant, PLATFORM_TENANT):
            await _checked(seeded, tenant)
            outcome = await examiner.examine(tenant, repairs=True, is_deep=False)
            assert outcome.mended == {}
            assert outcome.refused is not None
            assert outcome.refused.code == "vector_store_not_ours"
            assert code_of([outcome]) == FOUND
        found = (await seeded.examine()).found
        nobody = JobRun(seeded.tenant, JobId(uuid4()), "integrity.repair", 1, 1, {})
        with pytest.raises(VectorStoreNotOurs):
            await seeded.platform.integrity_jobs._rebuilding.mend(nobody, found)
        assert await seeded.vectors.generations(seeded.space) == before
        assert await seeded.kinds() == {"point_missing", "point_orphaned"}
        assert await seeded.kinds(tenant=PLATFORM_TENANT) == {"store_not_ours", "generation_unknown"}
        told = len(await seeded.rows(_ADOPTED))
        await seeded.platform.integrity_jobs.adopt_index()
        assert len(await seeded.rows(_ADOPTED)) == told + 1
        assert await seeded.repair() == {"point_missing": 1, "point_orphaned": 1}
        outcome = await examiner.examine(PLATFORM_TENANT, repairs=True, is_deep=False)
        assert (outcome.mended, outcome.refused) == ({"generation_unknown": 1}, None)


async def test_no_job_is_left_that_would_go_on_in_the_index_of_another_database(seeded: Seeded) -> None:
    waiting = (
        "SELECT name FROM eai.jobs WHERE tenant_id = %(tenant)s AND state IN ('queued', 'running') "
        "AND name LIKE 'knowledge.%%'"
    )
    examiner = Examiner(seeded.platform, seeded.worker)
    async with seeded.kept("kb_chunks", "kb_term_statistics", "kb_language_statistics"):
        await seeded.rows("UPDATE eai.kb_chunks SET class_number = 77 WHERE id = %(point)s")
        async with _of_another(seeded):
            outcome = await examiner.examine(seeded.tenant, repairs=True, is_deep=False)
            assert {finding.kind for finding in outcome.report.findings} >= {"chunk_class_wrong"}
            assert outcome.refused is not None
            assert await seeded.rows(waiting) == []
        outcome = await examiner.examine(seeded.tenant, repairs=True, is_deep=False)
        assert "chunk_class_wrong" in outcome.mended
        assert (outcome.report.findings, outcome.refused) == ((), None)
    await seeded.repair()
    assert await seeded.kinds() == set()


async def test_a_generation_that_nobody_knows_is_removed_for_a_person_alone(seeded: Seeded) -> None:
    strange = stray_point(seeded, GenerationId(uuid4()))
    await seeded.vectors.upsert(seeded.space, [strange])
    examination = await _checked(seeded, PLATFORM_TENANT)
    assert [finding.kind for finding in examination.report.findings] == ["generation_unknown"]
    assert await seeded.vectors.count(seeded.space, Selector(strange.generation_key)) == 1
    assert await seeded.repair(tenant=PLATFORM_TENANT) == {"generation_unknown": 1}
    assert await seeded.vectors.count(seeded.space, Selector(strange.generation_key)) == 0


async def test_two_databases_do_not_take_one_store() -> None:
    vectors = MemoryVectors()
    with fresh_database() as first, fresh_database() as second:
        databases = [Database(urls.app, pool_size=1) for urls in (first, second)]
        for database in databases:
            await database.open()
        one, other = (StoreOwnership(database, vectors) for database in databases)
        assert not await one.is_ours()
        assert [await one.take_empty(), await other.take_empty(), await other.take_own()] == [
            True,
            False,
            False,
        ]
        assert [await one.is_anothers(), await other.is_anothers()] == [False, True]
        with pytest.raises(VectorStoreNotOurs):
            await other.require()
        await other.adopt()
        assert [await one.is_ours(), await other.is_ours()] == [False, True]
        for database in databases:
            await database.close()


async def test_a_store_that_nobody_took_is_taken_where_every_point_has_a_row(seeded: Seeded) -> None:
    vectors = MemoryVectors()
    ownership = StoreOwnership(seeded.platform.database, vectors)
    page = await seeded.vectors.scan(seeded.space, Selector(seeded.key), with_vectors=True)
    own = [Point(*_matter(each)) for each in page.points]  # type: ignore[arg-type]
    for strange in (stray_point(seeded, seeded.generation), stray_point(seeded, GenerationId(uuid4()))):
        vectors.put(seeded.space, [*own, strange])
        assert not await ownership.take_own()
        with pytest.raises(VectorStoreNotOurs):
            await ownership.require()
        assert await vectors.owner() is None
    vectors.put(seeded.space, own)
    assert not await ownership.take_empty()
    assert await ownership.take_own()
    vectors.put(seeded.space, [*own, strange])
    await ownership.require()


def _matter(stored: object) -> list[object]:
    names = ("id", "dense", "sparse", "rights_key", "generation_key", "document", "version")
    return [getattr(stored, name) for name in names]
