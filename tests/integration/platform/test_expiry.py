"""How long settled jobs stay to be asked about."""

from uuid import uuid4

import pytest
from sqlalchemy import text

from eai.kernel.ids import JobId, TenantId
from eai.platform.database import Database
from eai.platform.expiry import erase_expired
from eai.platform.jobs import Jobs

_ADD = text("""
    INSERT INTO eai.jobs (tenant_id, id, name, state, updated_at)
    SELECT :tenant, gen_random_uuid(), 'test.settled', :state, now() - make_interval(days => :days)
      FROM generate_series(1, :count)""")


async def _count(database: Database, tenant: TenantId) -> int:
    async with database.transaction(tenant) as session:
        return int((await session.execute(text("SELECT count(*) FROM eai.jobs"))).scalar_one())


async def _sweep(database: Database, tenant: TenantId) -> None:
    async with database.transaction(tenant) as session:
        await erase_expired(session)


@pytest.mark.parametrize(
    ("state", "days", "stays"),
    [
        ("completed", 6, True),
        ("completed", 7, False),
        ("cancelled", 6, True),
        ("cancelled", 7, False),
        ("failed", 29, True),
        ("failed", 30, False),
        ("queued", 400, True),
        ("running", 400, True),
    ],
)
async def test_settled_jobs_stay_a_week_and_failed_ones_a_month(
    database: Database, tenant: TenantId, state: str, days: int, *, stays: bool
) -> None:
    async with database.transaction(tenant) as session:
        await session.execute(_ADD, {"tenant": tenant, "state": state, "days": days, "count": 1})
    await _sweep(database, tenant)
    assert await _count(database, tenant) == int(stays)


async def test_each_sweep_removes_a_hundred_at_most(database: Database, tenant: TenantId) -> None:
    async with database.transaction(tenant) as session:
        await session.execute(_ADD, {"tenant": tenant, "state": "completed", "days": 8, "count": 150})
    for left in (50, 0):
        async with database.transaction(tenant) as session:
            # What the planner chooses for tables that it knows nothing of yet.
            await session.execute(text("SET LOCAL plan_cache_mode = force_custom_plan"))
            for plan in ("hashjoin", "mergejoin", "hashagg", "sort", "material"):
                await session.execute(text(f"SET LOCAL enable_{plan} = off"))
            await erase_expired(session)
        assert await _count(database, tenant) == left


async def test_the_sweep_stays_within_its_tenant_and_waits_for_nobody(
    database: Database, tenant: TenantId, other_tenant: TenantId
) -> None:
    for owner in (tenant, other_tenant):
        async with database.transaction(owner) as session:
            await session.execute(_ADD, {"tenant": owner, "state": "failed", "days": 31, "count": 1})
    async with database.transaction(tenant) as holding:
        await holding.execute(text("SELECT id FROM eai.jobs FOR UPDATE"))
        await _sweep(database, tenant)
    assert await _count(database, tenant) == 1
    await _sweep(database, tenant)
    assert await _count(database, tenant) == 0
    assert await _count(database, other_tenant) == 1


async def test_a_job_that_was_just_settled_stays(database: Database, tenant: TenantId) -> None:
    jobs, job = Jobs(database), JobId(uuid4())
    async with database.transaction(tenant) as session:
        await jobs.complete(session, await jobs.begin(session, tenant, job, "test.settled", {}))
    await _sweep(database, tenant)
    assert await _count(database, tenant) == 1
