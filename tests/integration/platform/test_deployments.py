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

from eai.bootstrap import job_handlers
from eai.cli import worker_finding
from eai.cli.worker_finding import jobs_are_taken
from eai.kernel.ids import JobId, TenantId
from eai.platform import presence
from eai.platform.database import Database
from eai.platform.handlers import Group
from eai.platform.jobs import Jobs
from eai.platform.presence import processes
from tests.conftest import DatabaseUrls, create_tenant, fresh_database
from tests.integration.faults.outages import eventually
from tests.stack import Stack, settings

QUICK = {
    "knowledge.delete_document",
    "knowledge.delete_base",
    "knowledge.move_rights",
    "knowledge.retire_version",
    "tenants.rewrap_keys",
}
INGESTION = {"ingestion.run", "ingestion.recut"}
MAINTENANCE = {
    "embeddings_reindex",
    "reindex.drop_generation",
    "knowledge.reweigh",
    "integrity.check",
    "integrity.repair",
    "retention.expire",
    "privacy.erase",
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


def test_these_are_all_the_jobs_there_are(stack: Stack) -> None:
    handlers = job_handlers(stack.platform)
    taken = {group: {name for name, each in handlers.items() if each.group is group} for group in Group}
    assert taken == {Group.QUICK: QUICK, Group.INGESTION: INGESTION, Group.MAINTENANCE: MAINTENANCE}


@pytest.mark.parametrize("module", TAKEN)
async def test_a_module_takes_the_jobs_of_its_groups_and_no_others(
    urls: DatabaseUrls, tmp_path: Path, module: str
) -> None:
    tenant = await _tenant_with_jobs(urls, TAKEN["all"])
    async with _worker(urls, tmp_path, module):
        await eventually(lambda: _taken(urls, tenant) >= TAKEN[module])
        assert _taken(urls, tenant) == TAKEN[module]


NOBODY = {"quick": 0, "ingestion": 0, "maintenance": 0}


async def test_a_worker_is_seen_to_take_its_groups_until_it_ends(
    urls: DatabaseUrls, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_finding, "SHOWN_WITHIN_S", 0.0)
    database = Database(urls.app)
    await database.open()
    try:
        assert await processes(database) == NOBODY
        async with _worker(urls, tmp_path, "quick"):
            await eventually(lambda: _shown(urls) == [["quick"]])
            assert await processes(database) == {**NOBODY, "quick": 1}
            told = await jobs_are_taken(settings(urls.app, tmp_path))
        assert (told.ok, told.says) == (
            False,
            "no process takes these jobs, which wait for ever: ingestion, maintenance",
        )
        assert str(told.mend).endswith(
            "start `python -m workers.ingestion` and `python -m workers.maintenance`, "
            "or `python -m workers.all` for every group"
        )
        assert (await processes(database), _shown(urls)) == (NOBODY, [])
    finally:
        await database.close()


async def test_a_worker_that_was_killed_is_soon_taken_for_gone(urls: DatabaseUrls) -> None:
    database = Database(urls.app)
    await database.open()
    try:
        await presence.show(database, uuid4(), Group)
        assert await processes(database) == {"quick": 1, "ingestion": 1, "maintenance": 1}
        _pass_by(urls, "16 seconds")
        assert await processes(database) == NOBODY
        await presence.show(database, uuid4(), [Group.QUICK])
        assert len(_shown(urls)) == 2
        _pass_by(urls, "61 minutes")
        own = uuid4()
        await presence.show(database, own, [Group.INGESTION])
        assert _shown(urls) == [["ingestion"]]
        await presence.withdraw(database, own)
        assert _shown(urls) == []
    finally:
        await database.close()


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


def _shown(urls: DatabaseUrls) -> list[list[str]]:
    with psycopg.connect(urls.admin) as admin:
        return [groups for (groups,) in admin.execute("SELECT groups FROM eai.worker_processes")]


def _pass_by(urls: DatabaseUrls, time: str) -> None:
    with psycopg.connect(urls.admin) as admin:
        admin.execute("UPDATE eai.worker_processes SET seen_at = seen_at - %s::interval", [time])


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
