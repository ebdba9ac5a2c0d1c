"""How PostgreSQL finds the open jobs of one document among those of a tenant that has many."""

from collections.abc import AsyncIterator

import psycopg
import pytest
from sqlalchemy import TextClause, text

from eai.ingestion.repository import _RECUT_BY_ANOTHER
from eai.kernel.ids import TenantId
from eai.knowledge.documents.repository import _IS_WORKED_ON
from eai.platform.database import Database
from tests.conftest import DatabaseUrls

OF_MANY = """
    INSERT INTO eai.jobs (tenant_id, id, name, state, parameters)
    SELECT :tenant, gen_random_uuid(), 'ingestion.recut', 'queued',
           jsonb_build_object('document', gen_random_uuid(), 'version', gen_random_uuid())
      FROM generate_series(1, 5000)"""
ASKED = {
    "document": "f0000000-0000-4000-8000-000000000001",
    "version": "f0000000-0000-4000-8000-000000000002",
    "job": "f0000000-0000-4000-8000-000000000003",
    "name": "ingestion.recut",
    "names": ["knowledge.move_rights", "ingestion.recut"],
}


@pytest.fixture
async def many_jobs(database: Database, database_urls: DatabaseUrls, tenant: TenantId) -> AsyncIterator[None]:
    async with database.transaction(tenant) as session:
        await session.execute(text(OF_MANY), {"tenant": tenant})
    async with await psycopg.AsyncConnection.connect(database_urls.admin, autocommit=True) as admin:
        await admin.execute("ANALYZE eai.jobs")
        yield
        await admin.execute("DELETE FROM eai.jobs WHERE tenant_id = %s", [tenant])
        await admin.execute("ANALYZE eai.jobs")


@pytest.mark.usefixtures("many_jobs")
@pytest.mark.parametrize("statement", [_IS_WORKED_ON, _RECUT_BY_ANOTHER], ids=["follows", "recut"])
async def test_the_open_jobs_of_a_document_are_found_by_the_document(
    database: Database, tenant: TenantId, statement: TextClause
) -> None:
    # As the application's role: row security keeps an index from answering through a function that may leak.
    explained = text(f"EXPLAIN {statement.text}")
    asked = {name: ASKED[name] for name in explained.compile().params if name != "tenant"}
    async with database.transaction(tenant) as session:
        plan = [line.strip() for line in await session.scalars(explained, {"tenant": tenant, **asked})]
    assert [line for line in plan if "jobs_open_of_document" in line], plan
    (condition,) = [line for line in plan if line.startswith("Index Cond:")]
    assert "document" in condition, plan
