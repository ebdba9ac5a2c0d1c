"""64 callers in three processes on one quota, one process killed in the middle: invariants I7 and I8."""

import asyncio
import json
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from eai.audit.repository import AuditRows
from eai.audit.scan import scan
from eai.finops.expiry import ExpiredCalls
from eai.finops.reservations import Reservations
from eai.platform.database import Database
from tests.conftest import DatabaseUrls, create_tenant, fresh_database
from tests.integration.finops.callers import LEASE_S
from tests.integration.finops.conftest import Purse, audit_over

ROOT = Path(__file__).parents[3]
LIMIT = 700
CALLERS = {1: 21, 2: 21, 3: 22}
ROUNDS = 5
VICTIM = 3

# Written down by PostgreSQL itself, whoever admits: what stands after each change.
_WITNESS = """
    CREATE TABLE public.admissions (held bigint NOT NULL, is_admission boolean NOT NULL);
    CREATE FUNCTION public.witness() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN
        INSERT INTO public.admissions VALUES (
            NEW.used + NEW.reserved, NEW.reserved > CASE TG_OP WHEN 'INSERT' THEN 0 ELSE OLD.reserved END);
        RETURN NULL;
    END $$;
    CREATE TRIGGER witness AFTER INSERT OR UPDATE ON eai.quota_usage
       FOR EACH ROW EXECUTE FUNCTION public.witness()"""
_UNCLOSED = """
    WITH told AS (
         SELECT seq, action, (convert_from(body, 'UTF8')::jsonb -> 'facts' ->> 'intent')::bigint AS intent
           FROM eai.audit_events)
    SELECT i.seq, count(e.seq) FROM told i LEFT JOIN told e ON e.intent = i.seq
     WHERE i.action = 'model.invoke' GROUP BY i.seq HAVING count(e.seq) <> 1"""


@pytest.fixture
def own_urls() -> Iterator[DatabaseUrls]:
    with fresh_database() as urls:
        with psycopg.connect(urls.admin, autocommit=True) as admin:
            admin.execute(_WITNESS)
        yield urls


@pytest.fixture
async def own_purse(own_urls: DatabaseUrls) -> AsyncIterator[Purse]:
    database = Database(own_urls.app)
    await database.open()
    audit = audit_over(database, deadline_s=5)
    yield Purse(await create_tenant(database), database, audit, Reservations(database))
    await audit.close()
    await database.close()


@asynccontextmanager
async def processes(url: str, tenant: str) -> AsyncIterator[dict[int, Process]]:
    """Three processes, each ready to call; none is left over."""
    started = {
        number: await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.integration.finops.callers", url, tenant, str(number)),
            *(str(callers), str(ROUNDS), "1.5" if number == VICTIM else "0.05"),
            stdin=PIPE,
            stdout=PIPE,
            cwd=ROOT,
        )
        for number, callers in CALLERS.items()
    }
    try:
        for process in started.values():
            assert process.stdout is not None
            assert await process.stdout.readline() == b"ready\n"
        yield started
    finally:
        for process in started.values():
            if process.returncode is None:
                process.kill()
            await process.communicate()


async def test_no_admission_passes_the_limit_and_no_call_is_lost(
    own_urls: DatabaseUrls, own_purse: Purse
) -> None:
    purse = own_purse
    quota = await purse.quota(LIMIT)
    async with processes(own_urls.app, str(purse.tenant)) as started:
        _begin(started[VICTIM])
        await _see(purse, _HELD_BY_VICTIM, 8)
        for number in CALLERS:
            _begin(started[number])
        await _see(purse, _ADMITTED_ELSEWHERE, 8)
        os.kill(started[VICTIM].pid, signal.SIGKILL)
        told = [await _outcomes(started[number]) for number in CALLERS if number != VICTIM]
    assert all(each["admitted"] > 0 for each in told)
    assert sum(each.get("refused", 0) for each in told) > 0

    expired = ExpiredCalls(purse.database, purse.audit)
    async with asyncio.timeout(LEASE_S + 5):
        while "held" in await purse.states():
            await expired.close_due()
            await asyncio.sleep(0.05)

    with psycopg.connect(own_urls.admin) as admin:
        seen = admin.execute("SELECT max(held), count(*) FILTER (WHERE is_admission) FROM public.admissions")
        most, admissions = seen.fetchone() or (0, 0)
    assert LIMIT - 20 < most <= LIMIT
    states = await purse.states()
    assert len(states) == admissions
    assert states.count("unknown") >= 5
    ((charged,),) = await purse.rows("SELECT sum(tokens_used)::int FROM eai.model_reservations")
    ((metered,),) = await purse.rows("SELECT sum(tokens)::int FROM eai.usage_events")
    assert await purse.taken() == {quota: (charged, 0)}
    assert metered == charged
    assert await purse.rows(_UNCLOSED) == []
    async with purse.database.transaction(purse.tenant) as session:
        run = scan(purse.tenant, await AuditRows(session, purse.tenant).blocks(0, 10**9, 10**6))
    assert run is not None
    assert run.fault is None


def _begin(process: Process) -> None:
    assert process.stdin is not None
    process.stdin.write(b"go\n")


async def _see(purse: Purse, count: str, least: int) -> None:
    while (await purse.rows(count, victim=UUID(int=VICTIM)))[0][0] < least:  # noqa: ASYNC110 - nobody tells
        await asyncio.sleep(0.01)


async def _outcomes(process: Process) -> dict[str, int]:
    assert process.stdout is not None
    return dict(json.loads(await process.stdout.readline()))


_HELD_BY_VICTIM = """
    SELECT count(*) FROM eai.model_reservations WHERE state = 'held' AND principal = :victim"""
_ADMITTED_ELSEWHERE = "SELECT count(*) FROM eai.model_reservations WHERE principal <> :victim"
