"""How the flush groups those who wait, and whom it refuses."""

import asyncio
from collections.abc import Sequence
from uuid import UUID

import pytest

from eai.audit.errors import AuditUnavailable
from eai.audit.read_log import MAX_PORTIONS, ReadLog
from eai.audit.repository import Portion
from eai.kernel.ids import TenantId
from tests.factories.chains import ALPHA, BETA


def portion(tenant: TenantId, body: bytes = b"{}") -> Portion:
    return Portion(tenant, [body], [None], [], [])


class Table:
    """Where portions end up; a tenant can be held, a body can be bad, and the writing can be stopped."""

    def __init__(self) -> None:
        self.flushes: list[list[bytes]] = []
        self.written: list[bytes] = []
        self.held: set[TenantId] = set()
        self.bad: set[bytes] = set()
        self.open = asyncio.Event()
        self.open.set()
        self.entered = asyncio.Event()

    async def write(self, portions: Sequence[Portion]) -> dict[TenantId, str | None]:
        self.entered.set()
        await self.open.wait()
        self.flushes.append([body for each in portions for body in each.bodies])
        outcome: dict[TenantId, str | None] = {}
        for tenant in {each.tenant for each in portions}:
            bodies = [body for each in portions if each.tenant == tenant for body in each.bodies]
            if tenant in self.held:
                outcome[tenant] = "locked"
            elif self.bad.intersection(bodies):
                outcome[tenant] = "22P02"
            else:
                outcome[tenant] = None
                self.written += bodies
        return outcome


@pytest.fixture
async def table() -> Table:
    return Table()


@pytest.fixture
async def log(table: Table) -> ReadLog:
    return ReadLog(table.write, deadline_s=0.3)


async def test_those_who_come_while_a_flush_is_in_flight_share_the_next_one(
    log: ReadLog, table: Table
) -> None:
    table.open.clear()
    first = asyncio.create_task(log.write(portion(ALPHA, b"1")))
    await table.entered.wait()
    rest = [asyncio.create_task(log.write(portion(ALPHA, b"%d" % n))) for n in range(2, 6)]
    await asyncio.sleep(0)
    table.open.set()
    await asyncio.gather(first, *rest)
    assert table.flushes == [[b"1"], [b"2", b"3", b"4", b"5"]]


async def test_nobody_returns_before_their_part_is_durable(log: ReadLog, table: Table) -> None:
    table.open.clear()
    waiting = asyncio.create_task(log.write(portion(ALPHA)))
    await table.entered.wait()
    assert not waiting.done()
    table.open.set()
    await waiting
    assert table.written == [b"{}"]


async def test_a_held_chain_does_not_hold_up_another(log: ReadLog, table: Table) -> None:
    table.held = {ALPHA}
    held = asyncio.create_task(log.write(portion(ALPHA, b"a")))
    await log.write(portion(BETA, b"b"))
    assert (held.done(), table.written) == (False, [b"b"])
    table.held = set()
    await held
    assert table.written == [b"b", b"a"]


async def test_a_chain_that_stays_held_is_refused_at_the_deadline(log: ReadLog, table: Table) -> None:
    table.held = {ALPHA}
    with pytest.raises(AuditUnavailable) as refused:
        await log.write(portion(ALPHA))
    assert (refused.value.code, refused.value.status, refused.value.retryable) == (
        "audit_unavailable",
        503,
        True,
    )
    assert table.written == []
    assert 2 < len(table.flushes) < 20


async def test_one_bad_portion_fails_alone(log: ReadLog, table: Table) -> None:
    table.bad = {b"bad"}
    bodies = [b"1", b"bad", b"2"]
    outcomes = await asyncio.gather(*(log.write(portion(ALPHA, b)) for b in bodies), return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [type(None), AuditUnavailable, type(None)]
    assert sorted(table.written) == [b"1", b"2"]
    assert sum(b"bad" in flush for flush in table.flushes) == 2


async def test_when_the_writing_fails_everybody_who_waits_is_refused() -> None:
    async def broken(_: Sequence[Portion]) -> dict[TenantId, str | None]:
        raise ConnectionResetError

    log = ReadLog(broken, deadline_s=0.3)
    writes = (log.write(portion(tenant)) for tenant in (ALPHA, BETA))
    outcomes = await asyncio.gather(*writes, return_exceptions=True)
    assert all(isinstance(outcome, AuditUnavailable) for outcome in outcomes)
    assert isinstance(outcomes[0].__cause__, ConnectionResetError)


async def test_a_write_that_hangs_is_given_up(table: Table) -> None:
    table.open.clear()
    log = ReadLog(table.write, deadline_s=0.05)
    with pytest.raises(AuditUnavailable):
        await log.write(portion(ALPHA))


async def test_after_a_failure_the_next_caller_is_served(table: Table) -> None:
    log = ReadLog(table.write, deadline_s=0.05)
    table.open.clear()
    with pytest.raises(AuditUnavailable):
        await log.write(portion(ALPHA))
    table.open.set()
    await log.write(portion(ALPHA, b"later"))
    assert table.written == [b"later"]


async def test_a_caller_who_leaves_takes_nobody_along(log: ReadLog, table: Table) -> None:
    table.open.clear()
    leaving = asyncio.create_task(log.write(portion(ALPHA, b"1")))
    await table.entered.wait()
    staying = asyncio.create_task(log.write(portion(ALPHA, b"2")))
    await asyncio.sleep(0)
    leaving.cancel()
    table.open.set()
    await staying
    assert table.written == [b"1", b"2"]


async def test_a_flush_has_a_largest_size(log: ReadLog, table: Table) -> None:
    tenants = [TenantId(UUID(int=number)) for number in range(1, MAX_PORTIONS + 11)]
    await asyncio.gather(*(log.write(portion(tenant)) for tenant in tenants))
    assert [len(flush) for flush in table.flushes] == [MAX_PORTIONS, 10]


async def test_draining_waits_for_what_is_in_flight(log: ReadLog, table: Table) -> None:
    table.open.clear()
    write = asyncio.create_task(log.write(portion(ALPHA)))
    await table.entered.wait()
    drained = asyncio.create_task(log.drain())
    await asyncio.sleep(0)
    assert not drained.done()
    table.open.set()
    await drained
    await write
    assert table.written == [b"{}"]


async def test_whoever_goes_away_while_a_chain_is_held_leaves_what_happened_behind(
    log: ReadLog, table: Table
) -> None:
    table.held.add(ALPHA)
    table.open.clear()
    leaving = asyncio.create_task(log.write(portion(ALPHA, b"1")))
    await table.entered.wait()
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    table.open.set()
    async with asyncio.timeout(2):
        while not table.flushes:  # noqa: ASYNC110, nobody waits for what was left behind
            await asyncio.sleep(0.005)
    assert table.written == []
    table.held.clear()
    await log.write(portion(ALPHA, b"2"))
    async with asyncio.timeout(2):
        while len(table.written) < 2:  # noqa: ASYNC110, nobody waits for what was left behind
            await asyncio.sleep(0.005)
    assert sorted(table.written) == [b"1", b"2"]
