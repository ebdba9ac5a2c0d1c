"""What is held before a call, and what refuses it: attack lines 73 and 76, invariant I8."""

import asyncio

import psycopg
import pytest
from sqlalchemy import text

from eai.audit.entries import ReservationState
from eai.finops.errors import QuotaExceeded, SwitchedOff
from eai.kernel.errors import RateLimited
from eai.kernel.ids import PLATFORM_TENANT, TenantId
from eai.platform.database import Database
from tests.conftest import DatabaseUrls
from tests.integration.finops.conftest import Purse

NOBODY = "00000000-0000-0000-0000-000000000000"
SCOPES = ("tenant", "model:m", "instance", "provider:e")


async def engage(database: Database, tenant: TenantId, scope: str) -> None:
    is_platform = scope.startswith(("instance", "provider"))
    statement = (
        "INSERT INTO eai.platform_kill_switches (scope, reason) VALUES (:scope, 'x')"
        if is_platform
        else "INSERT INTO eai.kill_switches (tenant_id, scope, reason) VALUES (:tenant, :scope, 'x')"
    )
    async with database.transaction(PLATFORM_TENANT if is_platform else tenant) as session:
        await session.execute(text(statement), {"scope": scope, "tenant": tenant})


async def release(database: Database) -> None:
    async with database.transaction(PLATFORM_TENANT) as session:
        await session.execute(text("DELETE FROM eai.platform_kill_switches"))


async def early_in_a_minute(purse: Purse) -> None:
    """Return when the present minute of the database has five seconds left at least."""
    is_early = "SELECT extract(second FROM clock_timestamp()) < 55"
    while (await purse.rows(is_early)) != [(True,)]:  # noqa: ASYNC110 - time passes by itself
        await asyncio.sleep(0.1)


async def test_without_a_quota_a_call_is_held_all_the_same(purse: Purse) -> None:
    held = await purse.reserve(10)
    assert (held.tenant, held.tokens, held.intent_seq) == (purse.tenant, 10, None)
    assert await purse.states() == ["held"]
    assert await purse.taken() == {}
    assert await purse.actions() == []


async def test_the_intent_commits_with_the_reservation(purse: Purse) -> None:
    first, second = [await purse.reserve(intent=await purse.intent()) for _ in range(2)]
    assert (first.intent_seq, second.intent_seq) == (1, 2)
    assert await purse.actions() == ["model.invoke", "model.invoke"]
    assert await purse.rows("SELECT seq FROM eai.audit_details ORDER BY seq") == [(1,), (2,)]


async def test_a_limit_admits_up_to_itself_and_a_refusal_leaves_nothing(purse: Purse) -> None:
    quota = await purse.quota(100)
    await purse.reserve(60, intent=await purse.intent())
    with pytest.raises(QuotaExceeded) as refused:
        await purse.reserve(41, intent=await purse.intent())
    assert refused.value.details == {
        "owner": "tenant", "metric": "tokens", "window": "month", "limit": 100, "used": 60, "requested": 41,
    }  # fmt: skip
    assert await purse.taken() == {quota: (0, 60)}
    assert await purse.actions() == ["model.invoke"]
    await purse.reserve(40)
    assert await purse.taken() == {quota: (0, 100)}
    assert await purse.states() == ["held", "held"]


async def test_what_is_larger_than_the_whole_limit_is_refused_at_once(purse: Purse) -> None:
    await purse.quota(0)
    with pytest.raises(QuotaExceeded):
        await purse.reserve(1)
    assert await purse.taken() == {}


async def test_a_limit_per_minute_says_when_to_come_back(purse: Purse) -> None:
    await early_in_a_minute(purse)
    quota = await purse.quota(2, "requests", "minute")
    first = await purse.reserve(1_000)
    await purse.reserve(1_000)
    with pytest.raises(RateLimited) as refused:
        await purse.reserve(1)
    assert refused.value.retry_after_s is not None
    assert 1 <= refused.value.retry_after_s <= 60
    assert refused.value.details["owner"] == "tenant"
    await purse.end(first, tokens=7)
    assert await purse.taken() == {quota: (1, 1)}


async def test_what_no_minute_could_hold_is_not_told_to_come_back(purse: Purse) -> None:
    quota = await purse.quota(100, "tokens", "minute")
    with pytest.raises(QuotaExceeded) as refused:
        await purse.reserve(101)
    assert refused.value.details == {
        "owner": "tenant", "metric": "tokens", "window": "minute", "limit": 100, "used": 0, "requested": 101,
    }  # fmt: skip
    await purse.reserve(100)
    assert await purse.taken() == {quota: (0, 100)}


async def test_whoever_pays_is_bound_and_nobody_else(purse: Purse) -> None:
    mine, others = await purse.group(), await purse.group()
    tenant = await purse.quota(1_000)
    group = await purse.quota(50, group=mine)
    await purse.quota(0, group=others)
    await purse.reserve(30, groups=[mine])
    with pytest.raises(QuotaExceeded) as refused:
        await purse.reserve(30, groups=[mine])
    assert refused.value.details["owner"] == f"group:{mine}"
    await purse.reserve(30)
    assert await purse.taken() == {tenant: (0, 60), group: (0, 30)}


async def test_another_tenants_limit_binds_nobody_here(purse: Purse, other_purse: Purse) -> None:
    await other_purse.quota(0)
    await purse.reserve(10)
    assert await other_purse.states() == []


@pytest.mark.parametrize("scope", SCOPES)
async def test_a_switch_refuses_and_is_named(purse: Purse, database: Database, scope: str) -> None:
    quota = await purse.quota(100)
    await purse.reserve(10)
    await engage(database, purse.tenant, scope)
    try:
        with pytest.raises(SwitchedOff) as refused:
            await purse.reserve(10, intent=await purse.intent())
    finally:
        await release(database)
    assert refused.value.scope == scope
    assert await purse.taken() == {quota: (0, 10)}
    assert await purse.actions() == []


@pytest.mark.parametrize("scope", ["model:other", "provider:other"])
async def test_a_switch_of_something_else_refuses_nothing(
    purse: Purse, database: Database, scope: str
) -> None:
    await engage(database, purse.tenant, scope)
    try:
        await purse.reserve(10)
        await purse.reserve(10, endpoint=None)
    finally:
        await release(database)


@pytest.mark.parametrize("lock", ["tenant", "everybody"])
async def test_no_reservation_commits_after_a_flip_that_came_before_it(
    purse: Purse, database: Database, lock: str
) -> None:
    async with database.transaction(purse.tenant) as session:
        await session.execute(
            text("SELECT pg_advisory_xact_lock(eai.kill_switch_lock(:tenant))"),
            {"tenant": purse.tenant if lock == "tenant" else NOBODY},
        )
        waiting = [asyncio.create_task(purse.reserve(10)) for _ in range(3)]
        while (await purse.rows(_WAITING))[0][0] < 3:  # noqa: ASYNC110 - PostgreSQL tells nobody
            await asyncio.sleep(0.01)
        await session.execute(
            text("INSERT INTO eai.kill_switches (tenant_id, scope, reason) VALUES (:tenant, 'tenant', 'x')"),
            {"tenant": purse.tenant},
        )
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [SwitchedOff] * 3
    assert await purse.states() == []


async def test_many_at_once_take_no_more_than_there_is(purse: Purse) -> None:
    quota = await purse.quota(100)
    intents = [await purse.intent() for _ in range(32)]
    outcomes = await asyncio.gather(
        *(purse.reserve(9, intent=intent) for intent in intents), return_exceptions=True
    )
    held = [each for each in outcomes if not isinstance(each, BaseException)]
    assert len(held) == 11
    assert {type(each) for each in outcomes if isinstance(each, BaseException)} == {QuotaExceeded}
    assert await purse.taken() == {quota: (0, 99)}
    await asyncio.gather(*(purse.end(each, tokens=9) for each in held))
    assert await purse.taken() == {quota: (99, 0)}
    assert await purse.states() == [ReservationState.SETTLED] * 11


async def test_a_tenant_whose_chain_is_held_keeps_no_other_waiting(
    purse: Purse, other_purse: Purse, database_urls: DatabaseUrls
) -> None:
    """Fault 38, and more callers than there are connections."""
    await purse.reserve(10, intent=await purse.intent())
    async with await psycopg.AsyncConnection.connect(database_urls.admin) as holder:
        await holder.execute("SELECT 1 FROM eai.audit_heads WHERE tenant_id = %s FOR UPDATE", [purse.tenant])
        stuck = [asyncio.create_task(purse.reserve(10, intent=await purse.intent())) for _ in range(20)]
        while (await other_purse.rows(_STUCK))[0][0] < 7:  # noqa: ASYNC110 - PostgreSQL tells nobody
            await asyncio.sleep(0.01)
        async with asyncio.timeout(1):
            await other_purse.reserve(10, intent=await other_purse.intent())
        assert not any(each.done() for each in stuck)
    await asyncio.gather(*stuck)
    assert await purse.actions() == ["model.invoke"] * 21


async def test_the_owners_end_is_the_quotas_end(purse: Purse) -> None:
    group = await purse.group()
    await purse.quota(1, group=group)
    await purse.rows("DELETE FROM eai.groups WHERE id = :id", id=group)
    assert await purse.rows("SELECT id FROM eai.quotas") == []
    await purse.reserve(10, groups=[group])


_STUCK = """
    SELECT count(*) FROM pg_stat_activity
     WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%reserve_model_call%'"""
_WAITING = """
    SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"""
