"""Calls whose process is gone: charged at their bound once their lease is over. Fault 22, invariant I8."""

import asyncio

import pytest

from eai.audit.entries import ReservationState, UsageRow
from eai.audit.errors import AuditUnavailable
from eai.finops.expiry import ExpiredCalls
from eai.kernel.ids import TenantId
from tests.integration.finops.conftest import ACTOR, Purse

OVER = -1.0


@pytest.fixture
def expired(purse: Purse) -> ExpiredCalls:
    return ExpiredCalls(purse.database, purse.audit)


def bound_of(tenant: TenantId) -> UsageRow:
    """What is charged if nobody says what became of it."""
    return UsageRow(
        tenant,
        "embeddings",
        "tokens",
        10,
        provider="openai",
        region="eu",
        model="m",
        tokens=10,
        cost_micros=3,
        principal=ACTOR.principal,
        labels={"operation": "ingest", "project": "p"},
    )


async def test_a_call_past_its_lease_is_charged_at_its_bound(purse: Purse, expired: ExpiredCalls) -> None:
    quota = await purse.quota(100)
    usage = bound_of(purse.tenant)
    await purse.reserve(10, intent=await purse.intent(), lease_s=OVER, usage=usage)
    await expired.close_due()
    assert await purse.taken() == {quota: (10, 0)}
    assert await purse.states() == ["unknown"]
    assert await purse.actions() == ["model.invoke", "model.unknown"]
    ((facts, actor),) = await purse.rows("""
        SELECT j -> 'facts', j -> 'actor' ->> 'kind' FROM eai.audit_events,
               LATERAL (SELECT convert_from(body, 'UTF8')::jsonb) AS b (j) WHERE action = 'model.unknown'""")
    assert facts == {"operation": "query", "tokens": 10, "intent": 1}
    assert actor == "system"
    rows = await purse.rows("""
        SELECT kind, unit, quantity, provider, region, model, tokens, cost_micros, principal, labels
          FROM eai.usage_events""")
    assert [tuple(row) for row in rows] == [
        ("embeddings", "tokens", 10, "openai", "eu", "m", 10, 3, ACTOR.principal, dict(usage.labels))
    ]


async def test_a_call_within_its_lease_is_left_alone(purse: Purse, expired: ExpiredCalls) -> None:
    quota = await purse.quota(100)
    await purse.reserve(10)
    await expired.close_due()
    assert await purse.taken() == {quota: (0, 10)}
    assert await purse.states() == ["held"]


async def test_two_sweepers_close_each_call_once(purse: Purse, expired: ExpiredCalls) -> None:
    quota = await purse.quota(100)
    for _ in range(5):
        await purse.reserve(10, lease_s=OVER)
    await asyncio.gather(expired.close_due(), ExpiredCalls(purse.database, purse.audit).close_due())
    await expired.close_due()
    assert await purse.taken() == {quota: (50, 0)}
    assert await purse.actions() == ["model.unknown"] * 5


async def test_what_comes_after_the_sweep_is_too_late(purse: Purse, expired: ExpiredCalls) -> None:
    quota = await purse.quota(100)
    held = await purse.reserve(10, lease_s=OVER)
    await expired.close_due()
    with pytest.raises(AuditUnavailable):
        await purse.end(held, tokens=3)
    assert await purse.taken() == {quota: (10, 0)}
    assert await purse.actions() == ["model.unknown"]


async def test_what_is_long_over_is_forgotten(purse: Purse, expired: ExpiredCalls) -> None:
    gone, month, minute = (
        await purse.quota(9),
        await purse.quota(100, "requests"),
        await purse.quota(100, "tokens", "minute"),
    )
    await purse.end(await purse.reserve(1), state=ReservationState.SETTLED, tokens=1)
    await purse.rows("DELETE FROM eai.quotas WHERE id = :id", id=gone)
    await expired.close_due()
    assert set(await purse.taken()) == {month, minute}
    await purse.rows("UPDATE eai.quota_usage SET period_start = period_start - interval '2 days'")
    await ExpiredCalls(purse.database, purse.audit).close_due()
    assert set(await purse.taken()) == {month}
    assert await purse.states() == ["settled"]
