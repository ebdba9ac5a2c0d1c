"""Which jobs each module of `workers` takes: real processes, over a database of their own."""

import asyncio
import base64
import os
import sys
from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from eai.kernel.ids import JobId, TenantId
from eai.platform.database import Database
from eai.platform.jobs import Jobs
from tests.conftest import DatabaseUrls, create_tenant, fresh_database
from tests.integration.faults.outages import eventually

QUICK = {
    "knowledge.delete_document",
    "knowledge.delete_base",
    "knowledge.move_rights",
    "knowledge.retire_version",
}
INGESTION = {"ingestion.run", "ingestion.recut"}
MAINTENANCE = {
    "embeddings_reindex",
    "reindex.drop_generation",
    "knowledge.reweigh",
    "integrity.check",
    "integrity.repair",
}
TAKEN = {
    "quick": QUICK,
    "ingestion": INGESTION,
    "maintenance": MAINTENANCE,
    "all": QUICK | INGESTION | MAINTENANCE,
}

pytestmark = pytest.mark.timeout(90)


@pytest.fixture(scope="module")
def urls() -> Iterator[DatabaseUrls]:
    with fresh_database() as made:
        yield made


@pytest.mark.parametrize("module", TAKEN)
async def test_a_module_takes_the_jobs_of_its_groups_and_no_others(
    urls: DatabaseUrls, tmp_path: Path, module: str
) -> None:
    tenant = await _tenant_with_jobs(urls, TAKEN["all"])
    async with _worker(urls, tmp_path, module):
        await eventually(lambda: _taken(urls, tenant) >= TAKEN[module])
        assert _taken(urls, tenant) == TAKEN[module]


async def test_as_many_jobs_run_at_a_time_as_the_setting_says(urls: DatabaseUrls, tmp_path: Path) -> None:
    tenant = await _tenant_with_jobs(urls, ["ingestion.run"] * 3)
    async with await psycopg.AsyncConnection.connect(urls.admin) as holding:
        await holding.execute("SELECT FROM eai.jobs WHERE tenant_id = %s FOR UPDATE", [tenant])
        async with _worker(urls, tmp_path, "ingestion", {"EAI_WORKER_INGESTION_SLOTS": "2"}):
            await eventually(lambda: _waiting_for_locks(urls) >= 2)
            assert _messages(urls, tenant) == ["doing", "doing", "todo"]
            await holding.rollback()


async def _tenant_with_jobs(urls: DatabaseUrls, names: Collection[str]) -> TenantId:
    database = Database(urls.app)
    await database.open()
    tenant, jobs = await create_tenant(database), Jobs(database)
    async with database.transaction(tenant) as session:
        for name in names:
            # Without parameters none of them comes far.
            await jobs.create(session, tenant, JobId(uuid4()), name, {})
    await database.close()
    return tenant


def _taken(urls: DatabaseUrls, tenant: TenantId) -> set[str]:
    with psycopg.connect(urls.admin) as admin:
        rows = admin.execute("SELECT name FROM eai.jobs WHERE tenant_id = %s AND attempt > 0", [tenant])
        return {name for (name,) in rows}


def _waiting_for_locks(urls: DatabaseUrls) -> int:
    with psycopg.connect(urls.admin) as admin:
        found = admin.execute("""
            SELECT count(*) FROM pg_stat_activity
             WHERE datname = current_database() AND wait_event_type = 'Lock'""").fetchone()
        assert found is not None
        return int(found[0])


def _messages(urls: DatabaseUrls, tenant: TenantId) -> list[str]:
    with psycopg.connect(urls.admin) as admin:
        rows = admin.execute(
            "SELECT status::text FROM eai_jobs.procrastinate_jobs WHERE args->>'tenant' = %s ORDER BY 1",
            [str(tenant)],
        )
        return [status for (status,) in rows]


@asynccontextmanager
async def _worker(
    urls: DatabaseUrls, home: Path, module: str, more: dict[str, str] | None = None
) -> AsyncIterator[asyncio.subprocess.Process]:
    environ = {
        "PATH": os.environ["PATH"],
        "EAI_ENV": "test",
        "EAI_HOME": str(home),
        "EAI_DATABASE_URL": urls.app,
        "EAI_MASTER_KEY": base64.b64encode(bytes(32)).decode(),
        **(more or {}),
    }
    worker = await asyncio.create_subprocess_exec(
        sys.executable, "-m", f"workers.{module}", env=environ, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        yield worker
    finally:
        if worker.returncode is None:
            worker.terminate()
        await worker.wait()
