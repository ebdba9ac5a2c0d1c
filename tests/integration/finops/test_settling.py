"""How what was held ends: once, with its event, on what was measured."""

import asyncio
from uuid import uuid4

import psycopg
import pytest
from sqlalchemy import make_url

from eai.audit.actions import AuditAction
from eai.audit.entries import AuditEntry, Evidence, ReservationState, Settlement, UsageRow
from eai.audit.errors import AuditUnavailable
from eai.finops.reservations import Reservation
from eai.kernel.ids import BaseId
from eai.platform.conninfo import libpq_conninfo
from tests.conftest import DatabaseUrls
from tests.integration.finops.conftest import ACTOR, Purse


@pytest.mark.parametrize(
    ("state", "tokens", "used", "requests"),
    [
        (ReservationState.SETTLED, 4, 4, 1),
        (ReservationState.SETTLED, 0, 0, 1),
        (ReservationState.SETTLED, 25, 25, 1),
        (ReservationState.UNKNOWN, 10, 10, 1),
        (ReservationState.RELEASED, 0, 0, 0),
    ],
)
async def test_what_was_measured_counts_and_nothing_stays_held(
    purse: Purse, state: ReservationState, tokens: int, used: int, requests: int
) -> None:
    by_tokens, by_requests = await purse.quota(20), await purse.quota(5, "requests")
    held = await purse.reserve(10)
    await purse.end(held, state=state, tokens=tokens)
    assert await purse.taken() == {by_tokens: (used, 0), by_requests: (requests, 0)}
    assert await purse.states() == [state]
    ((bound, measured),) = await purse.rows("SELECT tokens_bound, tokens_used FROM eai.model_reservations")
    assert (bound, measured) == (10, tokens)


async def test_several_end_with_one_event(purse: Purse) -> None:
    quota = await purse.quota(100)
    await purse.end(*[await purse.reserve(10) for _ in range(3)], tokens=7)
    assert await purse.taken() == {quota: (21, 0)}
    assert await purse.actions() == ["model.result"]


async def test_nothing_ends_twice(purse: Purse) -> None:
    quota = await purse.quota(100)
    held = await purse.reserve(10)
    outcomes = await asyncio.gather(*(purse.end(held, tokens=7) for _ in range(4)), return_exceptions=True)
    assert sorted(type(each).__name__ for each in outcomes) == ["AuditUnavailable"] * 3 + ["NoneType"]
    with pytest.raises(AuditUnavailable):
        await purse.end(held, held, tokens=7)
    assert await purse.taken() == {quota: (7, 0)}
    assert await purse.actions() == ["model.result"]


async def test_a_part_that_cannot_be_settled_undoes_itself_and_nothing_else(purse: Purse) -> None:
    quota = await purse.quota(100)
    good = await purse.reserve(10)
    bad = Reservation(uuid4(), purse.tenant, 10, None)
    outcomes = await asyncio.gather(
        purse.end(bad, good, tokens=1), purse.end(good, tokens=7), return_exceptions=True
    )
    assert [type(each) for each in outcomes] == [AuditUnavailable, type(None)]
    assert await purse.taken() == {quota: (7, 0)}
    assert await purse.actions() == ["model.result"]


@pytest.mark.parametrize(("state", "tokens"), [("held", 1), ("settled", -1), ("nonsense", 1)])
async def test_an_end_that_is_none_is_refused(purse: Purse, state: str, tokens: int) -> None:
    quota = await purse.quota(100)
    held = await purse.reserve(10)
    with pytest.raises(AuditUnavailable):
        await purse.end(held, state=state, tokens=tokens)  # type: ignore[arg-type]
    assert await purse.taken() == {quota: (0, 10)}
    assert await purse.states() == ["held"]


async def test_another_tenants_reservation_is_not_there(purse: Purse, other_purse: Purse) -> None:
    theirs = await other_purse.reserve(10)
    with pytest.raises(AuditUnavailable):
        await purse.end(theirs, tokens=1)
    assert await other_purse.states() == ["held"]


async def test_a_reservation_ends_with_an_event_or_not_at_all(purse: Purse) -> None:
    held = await purse.reserve(10)
    with pytest.raises(ValueError, match="without an event"):
        await purse.audit.flush(Evidence(settled=(Settlement(held.id, ReservationState.SETTLED, 1),)))


async def test_a_call_that_outlived_its_period_counts_where_it_began(
    purse: Purse, database_urls: DatabaseUrls
) -> None:
    quota = await purse.quota(100)
    held = await purse.reserve(10)
    await purse.rows("UPDATE eai.quota_usage SET period_start = period_start - interval '1 month'")
    _date_back(database_urls, purse)
    await purse.reserve(5)
    await purse.end(held, tokens=7)
    rows = await purse.rows("SELECT used, reserved FROM eai.quota_usage ORDER BY period_start")
    assert rows == [(7, 0), (0, 5)]
    assert await purse.taken() == {quota: (7, 5)}


async def test_a_quota_that_went_meanwhile_is_missed_by_nobody(purse: Purse) -> None:
    await purse.quota(100)
    held = await purse.reserve(10)
    await purse.rows("DELETE FROM eai.quotas")
    await purse.end(held, tokens=7)
    assert await purse.states() == ["settled"]


async def test_usage_says_which_base_it_was_for_and_who_measured_it(purse: Purse) -> None:
    base = BaseId(uuid4())
    rows = (
        UsageRow(purse.tenant, "embeddings", "tokens", 7, base=base),
        UsageRow(purse.tenant, "storage", "bytes", 8, is_external=True),
    )
    entry = AuditEntry(purse.tenant, AuditAction.MODEL_INVOKE, ACTOR)
    await purse.audit.flush(Evidence(entries=(entry,), usage=rows))
    told = await purse.rows("SELECT quantity, base_id, is_external FROM eai.usage_events ORDER BY quantity")
    assert told == [(7, base, False), (8, None, True)]


async def test_a_process_of_the_version_before_still_flushes(purse: Purse) -> None:
    body = (
        f'{{"tenant": "{purse.tenant}", "occurred_at": "2026-01-02T00:00:00Z", "action": "x.y",'
        ' "decision": "allow"}'
    )
    rows = await purse.database.statement(
        """SELECT failure FROM eai.audit_flush(ARRAY[%(tenant)s]::uuid[], ARRAY[1], ARRAY[%(body)s]::bytea[],
                  ARRAY[NULL]::uuid[], ARRAY[NULL]::uuid[], ARRAY[NULL]::bytea[], ARRAY[NULL]::jsonb[],
                  ARRAY[NULL]::jsonb[])""",
        {"tenant": purse.tenant, "body": body.encode()},
    )
    assert rows == [(None,)]
    assert await purse.actions() == ["x.y"]


def _date_back(urls: DatabaseUrls, purse: Purse) -> None:
    """Let what is held have been reserved last month; the application itself may not change it."""
    with psycopg.connect(libpq_conninfo(make_url(urls.admin)), autocommit=True) as admin:
        admin.execute(
            """
            UPDATE eai.model_reservations
               SET quotas = jsonb_set(quotas, '{0,period_start}',
                                      to_jsonb(date_trunc('month', now(), 'UTC') - interval '1 month'))
             WHERE tenant_id = %s""",
            [purse.tenant],
        )


async def test_what_is_held_cannot_be_deleted_by_the_application(purse: Purse) -> None:
    await purse.quota(100)
    held, ended = await purse.reserve(10), await purse.reserve(10)
    await purse.end(ended, tokens=7)
    assert await purse.rows("DELETE FROM eai.model_reservations RETURNING id") == [(ended.id,)]
    assert await purse.rows("SELECT id FROM eai.model_reservations") == [(held.id,)]
