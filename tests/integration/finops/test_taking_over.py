"""A new quota begins with what was used before it was there; nothing is lost between the two."""

import asyncio
from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest
from sqlalchemy import text

from eai.audit.entries import Evidence, ReservationState, UsageRow
from eai.finops.errors import QuotaExceeded
from eai.finops.models import Quota
from eai.finops.repository import QuotaRows
from eai.kernel.ids import BaseId, GroupId, PrincipalId
from tests.integration.finops.conftest import ACTOR, Purse

KINDS = ["embeddings", "reranking", "chat"]


async def made(purse: Purse, metric: str = "tokens", period: str = "month", **owner: UUID) -> int:
    """What a new quota says was used."""
    quota = uuid4()
    async with purse.database.transaction(purse.tenant) as session:
        rows = QuotaRows(session, purse.tenant)
        await rows.begin()
        fields = {"group_id": owner.get("group"), "base_id": owner.get("base")}
        row = await rows.insert(quota, metric=metric, period=period, limit_value=1_000, **fields)
        assert isinstance(row, Quota)
        await rows.take_over(row)
        return (await rows.standings([quota]))[quota].used


async def used(purse: Purse, *rows: UsageRow) -> None:
    await purse.audit.flush(Evidence(usage=rows))


def row(purse: Purse, tokens: int, kind: str = "embeddings", **fields: object) -> UsageRow:
    terms = {"provider": "e", "region": "eu", "model": "m", "cost_micros": 0, "principal": ACTOR.principal,
             "api_key": ACTOR.api_key, "labels": {}}  # fmt: skip
    return UsageRow(purse.tenant, kind=kind, unit="tokens", quantity=tokens, tokens=tokens, **terms | fields)  # type: ignore[arg-type]


async def base_of(purse: Purse) -> BaseId:
    base = BaseId(uuid4())
    await purse.rows(
        "INSERT INTO eai.knowledge_bases (tenant_id, id, alias, name, classification, embedding_model,"
        " dimensions, chunk_size, chunk_overlap, vector_generation, vector_collection)"
        " VALUES (:tenant, :base, CAST(:base AS text), 'Base', 1, 'm', 8, 100, 0, :base, 'space_x')",
        tenant=purse.tenant,
        base=base,
    )
    return base


async def member_of(purse: Purse, group: GroupId) -> PrincipalId:
    member = PrincipalId(uuid4())
    await purse.rows(
        "INSERT INTO eai.principals (tenant_id, id, kind, name, clearance, roles)"
        " VALUES (:tenant, :id, 'user', 'M', 1, '{}')",
        tenant=purse.tenant,
        id=member,
    )
    await purse.rows(
        "INSERT INTO eai.group_members (tenant_id, group_id, principal_id) VALUES (:tenant, :group, :id)",
        tenant=purse.tenant,
        group=group,
        id=member,
    )
    return member


async def test_calls_of_every_kind_count_and_nothing_else_does(purse: Purse) -> None:
    await used(purse, *(row(purse, 10, kind) for kind in KINDS))
    await used(purse, row(purse, 900, "rag"), row(purse, 900, "chat", is_external=True))
    assert (await made(purse), await made(purse, "requests"), await made(purse, period="minute")) == (
        30,
        3,
        30,
    )


async def test_what_was_used_before_the_present_period_does_not_count(purse: Purse) -> None:
    long_ago = datetime(2020, 1, 31, 23, 59, tzinfo=UTC)
    await used(purse, row(purse, 900, occurred_at=long_ago), row(purse, 4))
    assert await made(purse) == 4


async def test_an_owner_is_charged_with_its_own_calls(purse: Purse) -> None:
    group, base = await purse.group(), await base_of(purse)
    member = await member_of(purse, group)
    await used(purse, row(purse, 1), row(purse, 20, base=base), row(purse, 300, principal=member))
    assert [await made(purse), await made(purse, base=base), await made(purse, group=group)] == [321, 20, 300]


async def test_calls_under_way_count_at_their_bound_and_once(purse: Purse) -> None:
    held, ended = await purse.reserve(40), await purse.reserve(7)
    await purse.end(ended, state=ReservationState.RELEASED)
    assert (await made(purse), await made(purse, "requests")) == (40, 1)
    await purse.end(held, tokens=5)
    ((spent, reserved),) = await purse.rows(
        "SELECT u.used, u.reserved FROM eai.quota_usage u JOIN eai.quotas q ON q.id = u.quota_id"
        " WHERE q.metric = 'tokens'"
    )
    assert (spent, reserved) == (40, 0)


async def test_no_call_slips_between_what_was_counted_and_what_binds(purse: Purse) -> None:
    await used(purse, row(purse, 995))
    quota = uuid4()
    async with purse.database.transaction(purse.tenant) as session:
        rows = QuotaRows(session, purse.tenant)
        await rows.begin()
        new = await rows.insert(
            quota, group_id=None, base_id=None, metric="tokens", period="month", limit_value=1_000
        )
        assert new is not None
        await rows.take_over(new)
        late = asyncio.create_task(purse.reserve(6))
        waiting = text(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        )
        async with asyncio.timeout(10):
            while not await session.scalar(waiting):  # noqa: ASYNC110, PostgreSQL does not tell
                await asyncio.sleep(0.01)
        assert not late.done()
    with pytest.raises(QuotaExceeded):
        await late
    await purse.reserve(5)
