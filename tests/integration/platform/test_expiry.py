"""How long settled jobs stay to be asked about."""

from uuid import uuid4

import pytest
from sqlalchemy import text

from eai.kernel.ids import JobId, TenantId
from eai.platform.database import Database
from eai.platform.expiry import erase_expired, tenants_with_due_work
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


_SOON = 30.0


@pytest.mark.parametrize(
    ("state", "days", "is_due"),
    [
        ("completed", 6, False),
        ("completed", 7, True),
        ("cancelled", 7, True),
        ("failed", 29, False),
        ("failed", 30, True),
    ],
)
async def test_a_tenant_is_visited_for_old_jobs_and_not_again(
    database: Database, tenant: TenantId, other_tenant: TenantId, state: str, days: int, *, is_due: bool
) -> None:
    async with database.transaction(tenant) as session:
        await session.execute(_ADD, {"tenant": tenant, "state": state, "days": days, "count": 1})
    due = await tenants_with_due_work(database, _SOON)
    assert (tenant in due, other_tenant in due) == (is_due, False)
    await _sweep(database, tenant)
    assert tenant not in await tenants_with_due_work(database, _SOON)


@pytest.mark.parametrize(
    ("state", "seconds", "is_due"),
    [("running", -5, False), ("running", 1, True), ("queued", 29, False), ("queued", 31, True)],
)
async def test_a_tenant_is_visited_for_jobs_that_nobody_holds(
    database: Database, tenant: TenantId, state: str, seconds: int, *, is_due: bool
) -> None:
    async with database.transaction(tenant) as session:
        await session.execute(_HELD, {"tenant": tenant, "state": state, "seconds": seconds})
    assert (tenant in await tenants_with_due_work(database, _SOON)) is is_due
    if is_due:
        async with database.transaction(tenant) as session:
            assert await Jobs(database).requeue_expired(session, tenant) == 1
        assert tenant not in await tenants_with_due_work(database, _SOON)


@pytest.mark.parametrize(
    ("response", "kept_s", "expires_s", "is_due"),
    [
        (b"sealed", 5, 60, False),
        (b"sealed", -1, 60, True),
        (None, -1, 60, False),
        (None, None, 60, False),
        (None, None, -1, True),
    ],
)
async def test_a_tenant_is_visited_for_expired_answers_and_keys(
    database: Database,
    tenant: TenantId,
    response: bytes | None,
    kept_s: int | None,
    expires_s: int,
    *,
    is_due: bool,
) -> None:
    values = {"tenant": tenant, "response": response, "kept": kept_s, "expires": expires_s}
    async with database.transaction(tenant) as session:
        await session.execute(_RECORD, values)
    assert (tenant in await tenants_with_due_work(database, _SOON)) is is_due
    await _sweep(database, tenant)
    assert tenant not in await tenants_with_due_work(database, _SOON)


_HELD = text("""
    INSERT INTO eai.jobs (tenant_id, id, name, state, lease_until)
    VALUES (:tenant, gen_random_uuid(), 'test.held', :state, now() - make_interval(secs => :seconds))""")
_RECORD = text("""
    INSERT INTO eai.idempotency_records (tenant_id, principal_id, route, key, fingerprint, effect_id,
                                         lease_until, response, response_until, expires_at)
    VALUES (:tenant, gen_random_uuid(), 'POST /x', 'a', '\\x00', gen_random_uuid(), now(), :response,
            now() + make_interval(secs => :kept), now() + make_interval(secs => :expires))""")
