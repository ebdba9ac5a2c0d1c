"""Failed authentication is told in counts, once for many."""

from typing import Any

import orjson
import pytest

from eai.audit.failures import MAX_REASONS, FailureCounter
from eai.audit.repository import AuditRows
from eai.audit.service import Audit
from eai.kernel.ids import PLATFORM_TENANT
from eai.platform.database import Database
from tests.conftest import DatabaseUrls
from tests.integration.audit.conftest import MovableClock, read_of
from tests.integration.audit.test_appending import held


@pytest.fixture
def failures(audit: Audit, clock: MovableClock) -> FailureCounter:
    return FailureCounter(audit, clock)


async def reported(database: Database, after_seq: int) -> list[dict[str, Any]]:
    async with database.transaction(PLATFORM_TENANT) as session:
        blocks = await AuditRows(session, PLATFORM_TENANT).blocks(after_seq, 10**9, 100)
    return [orjson.loads(body) for block in blocks for body in block.bodies]


async def last_seq(database: Database, audit: Audit) -> int:
    await audit.flush(read_of(PLATFORM_TENANT))
    async with database.transaction(PLATFORM_TENANT) as session:
        _, last = await AuditRows(session, PLATFORM_TENANT).stated()
    return last


async def test_many_failures_are_one_event_of_the_platform(
    database: Database, audit: Audit, failures: FailureCounter, clock: MovableClock
) -> None:
    before = await last_seq(database, audit)
    for _ in range(40):
        failures.count("invalid")
    clock.advance(30)
    failures.count("limited")
    await failures.report()
    (event,) = await reported(database, before)
    assert (event["action"], event["decision"], event["actor"]) == ("auth.failed", "deny", None)
    assert event["facts"] == {
        "failures": 41,
        "reasons": {"invalid": 40, "limited": 1},
        "since": "2026-01-31T12:00:00.000000Z",
    }


async def test_without_failures_nothing_is_written(
    database: Database, audit: Audit, failures: FailureCounter
) -> None:
    before = await last_seq(database, audit)
    await failures.report()
    failures.count("invalid")
    await failures.report()
    await failures.report()
    assert len(await reported(database, before)) == 1


async def test_what_could_not_be_written_is_told_the_next_time(
    database: Database, database_urls: DatabaseUrls, audit: Audit, failures: FailureCounter
) -> None:
    before = await last_seq(database, audit)
    failures.count("invalid")
    async with held(database_urls, PLATFORM_TENANT):
        await failures.report()
    failures.count("limited")
    await failures.report()
    (event,) = await reported(database, before)
    assert event["facts"]["reasons"] == {"invalid": 1, "limited": 1}


async def test_reasons_cannot_fill_the_memory(
    database: Database, audit: Audit, failures: FailureCounter
) -> None:
    before = await last_seq(database, audit)
    for number in range(MAX_REASONS + 10):
        failures.count(f"reason_{number}")
    await failures.report()
    (event,) = await reported(database, before)
    assert event["facts"]["reasons"]["other"] == 10
    assert event["facts"]["failures"] == MAX_REASONS + 10
