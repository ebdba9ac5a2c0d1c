"""Model calls of several API processes on one database: a switch flipped among them, and one killed."""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, LiteralString

import httpx2
import psycopg
import pytest
from psycopg.rows import dict_row

from eai.bootstrap import maintain
from eai.gateway.ledger import LEASE_S
from tests.conftest import DatabaseUrls
from tests.integration.faults.outages import chain_locked, eventually
from tests.integration.kills.dying import Order
from tests.integration.kills.mortals import Mortal, Mortals
from tests.invariants import Judge
from tests.provider.process import ProviderProcess
from tests.provider.steps import Step
from tests.stack import Caller, Company, Stack

EMBEDDINGS = "/v1/gateway/embeddings"
LIMIT = 900
LONGEST_BOUND = len("question 63.9 of process 2")


@dataclass(frozen=True)
class Scene:
    """A tenant, the provider of its models, and what PostgreSQL itself tells of its calls."""

    company: Company
    provider: ProviderProcess
    endpoint: str
    admin_url: str

    async def embedder(self) -> str:
        return await self.company.model(self.endpoint, capability="embeddings", dimensions=[8])

    async def rows(self, statement: LiteralString, **parameters: object) -> list[dict[str, Any]]:
        async with await psycopg.AsyncConnection.connect(self.admin_url, autocommit=True) as admin:
            cursor = admin.cursor(row_factory=dict_row)
            found = await cursor.execute(statement, {"tenant": self.company.id, **parameters})
            return await found.fetchall()

    async def any(self, statement: LiteralString, **parameters: object) -> bool:
        return bool(await self.rows(statement, **parameters))

    async def seqs(self, action: str) -> list[int]:
        """Where in the chain this was done, or allowed."""
        return [row["seq"] for row in await self.rows(_SEQS, action=action)]

    async def has_received(self, model: str, times: int) -> bool:
        """Whether the provider was asked for `model` so often."""
        return (await self._received())[model] >= times

    async def _received(self) -> Counter[str]:
        # A head may be shown before its body has arrived.
        return Counter(request.json["model"] for request in await self.provider.requests() if request.body)

    async def sends_only_what_was_announced(self, models: list[str]) -> None:
        """Whatever the provider has received so far, its intent had committed before."""
        received = await self._received()
        announced = {row["model"]: row["n"] for row in await self.rows(_ANNOUNCED)}
        assert {model: n for model, n in received.items() if n > announced.get(model, 0)} == {}
        assert received.keys() <= set(models)


@pytest.fixture
async def company(stack: Stack) -> Company:
    return await stack.company()


@pytest.fixture
async def scene(stack: Stack, company: Company, stack_urls: DatabaseUrls) -> AsyncIterator[Scene]:
    provider = await stack.provider()
    await provider.forget()
    yield Scene(company, provider, await company.answering(), stack_urls.admin)
    await provider.forget()


@pytest.fixture(scope="module")
async def mortals(stack: Stack) -> AsyncIterator[Mortals]:
    """Who makes more API processes on the same database."""
    async with Mortals.over(stack.platform.settings, is_patient=True) as made:
        yield made


@pytest.fixture
def judge(stack: Stack, stack_urls: DatabaseUrls) -> Judge:
    return Judge(stack_urls.admin, stack.platform.vectors)


@dataclass(frozen=True)
class Process:
    """One API process and a client of it."""

    mortal: Mortal
    caller: Caller


@asynccontextmanager
async def processes(mortals: Mortals, company: Company, count: int) -> AsyncIterator[list[Process]]:
    """So many API processes; none is left over."""
    async with AsyncExitStack() as opened:
        started = []
        for _ in range(count):
            mortal = await opened.enter_async_context(mortals.born(Order("api")))
            caller = await opened.enter_async_context(Caller(mortal.url, company.admin.key))
            started.append(Process(mortal, caller))
        yield started


async def test_no_call_begins_once_a_kill_switch_is_acknowledged(
    scene: Scene, mortals: Mortals, judge: Judge
) -> None:
    model = await scene.embedder()
    await scene.provider.usually(Step(wait_s=2))
    async with processes(mortals, scene.company, 2) as started, asyncio.TaskGroup() as group:

        def call(process: Process, times: int) -> list[asyncio.Task[httpx2.Response]]:
            body = {"model": model, "input": "a question"}
            return [group.create_task(process.caller.post(EMBEDDINGS, json=body)) for _ in range(times)]

        calls = [*call(started[0], 2), *call(started[1], 2)]
        await eventually(lambda: scene.has_received(model, 4))
        async with chain_locked(scene.admin_url, scene.company.id):
            calls += [*call(started[0], 50), *call(started[1], 50)]
            # Some have passed the switches and wait for the chain; the others wait for a connection.
            await eventually(lambda: scene.any(_WAITS_FOR_THE_CHAIN))
            body = {"engaged": True, "reason": "an incident"}
            flip = group.create_task(scene.company.admin.put("/v1/kill-switches/tenant", json=body))
            await eventually(lambda: scene.any(_WAITS_TO_FLIP))
        acknowledged = (await flip).json()
        admitted = {row["id"] for row in await scene.rows(_RESERVATIONS)}
    outcomes = Counter(_outcome(call.result()) for call in calls)
    assert outcomes.keys() == {"200", "403 kill_switch_engaged"}
    assert outcomes["200"] >= 4

    await judge.judge(scene.company.id)
    reservations = await scene.rows(_RESERVATIONS)
    assert {row["id"] for row in reservations} == admitted
    ((flipped,), intents) = await scene.seqs("model.kill_switch.set"), await scene.seqs("model.invoke")
    assert max(intents) < flipped
    assert len(intents) == len(reservations)
    listed = {call["id"] for call in acknowledged["in_flight"]}
    ended_later = {str(row["id"]) for row in await scene.rows(_ENDED_AFTER, seq=flipped)}
    # A call that ended while the switch was being flipped may be listed or not; no other is missing.
    assert ended_later <= listed <= {str(row["id"]) for row in reservations}
    assert len(ended_later) >= 4
    made = [row for row in reservations if row["state"] == "settled"]
    assert len(await scene.provider.requests()) == len(made) == outcomes["200"]


@contextmanager
def witness(admin_url: str, tenant: str) -> Iterator[None]:
    """PostgreSQL itself writes down what stands of the tenant's quotas after each change, whoever made it."""
    with psycopg.connect(admin_url, autocommit=True) as admin:
        admin.execute(_WITNESS.replace("$TENANT", tenant))
        yield
        admin.execute("DROP FUNCTION public.witness() CASCADE; DROP TABLE public.admissions")


async def test_no_admission_passes_a_quota_and_no_call_of_a_killed_process_is_lost(
    stack: Stack, stack_urls: DatabaseUrls, scene: Scene, mortals: Mortals, judge: Judge
) -> None:
    body = {"owner": "tenant", "metric": "tokens", "limit": LIMIT}
    quota = (await scene.company.admin.put("/v1/finops/quotas", json=body)).json()["id"]
    models = [await scene.embedder() for _ in range(3)]
    await scene.provider.usually(Step(wait_s=0.2))
    outcomes: list[Counter[str]] = [Counter() for _ in models]

    async def client(process: Process, number: int, place: int) -> None:
        for turn in range(4):
            text = f"question {place}.{turn} of process {number}"
            call = {"model": models[number], "input": text}
            try:
                answer = await process.caller.post(EMBEDDINGS, json=call)
            except httpx2.TransportError:
                outcomes[number]["lost"] += 1
                return
            outcomes[number][_outcome(answer)] += 1

    with witness(stack_urls.admin, scene.company.id):
        async with processes(mortals, scene.company, 3) as started, asyncio.TaskGroup() as group:
            for place in range(64):
                group.create_task(client(started[place % 3], place % 3, place))
            await eventually(lambda: scene.has_received(models[2], 5))
            os.kill(started[2].mortal.pid, signal.SIGKILL)
            await scene.sends_only_what_was_announced(models)
        ((seen),) = await scene.rows(
            "SELECT max(held) AS most, count(*) FILTER (WHERE is_admission) AS n FROM public.admissions"
        )
    assert outcomes[2]["lost"] > 0
    assert {*outcomes[0], *outcomes[1]} == {"200", "409 quota_exceeded"}
    assert LIMIT - LONGEST_BOUND < seen["most"] <= LIMIT

    held = await scene.rows(_HELD)
    assert len(held) >= 1
    assert all(0 < row["left_s"] <= LEASE_S for row in held)
    # As if they had run out.
    await scene.rows(_LET_LEASES_RUN_OUT)
    await maintain(stack.platform)
    await judge.judge(scene.company.id)
    await scene.sends_only_what_was_announced(models)
    reservations = await scene.rows(_RESERVATIONS)
    assert len(reservations) == seen["n"]
    unknown = [row for row in reservations if row["state"] == "unknown"]
    assert {row["id"] for row in unknown} == {row["id"] for row in held}
    assert all(row["tokens_used"] == row["tokens_bound"] for row in unknown)
    charged = sum(row["tokens_used"] for row in reservations)
    used = (await scene.company.admin.got(f"/v1/finops/quotas/{quota}"))["used"]
    usage = await scene.company.admin.got("/v1/finops/usage")
    assert charged == used == sum(row["tokens"] for row in usage["data"])


def _outcome(answer: httpx2.Response) -> str:
    if answer.is_success:
        return str(answer.status_code)
    return f"{answer.status_code} {answer.json()['error']['code']}"


_WAITS_FOR_THE_CHAIN = """
    SELECT 1 FROM pg_stat_activity
     WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%%reserve_model_call%%'
    HAVING count(*) > 1"""
_WAITS_TO_FLIP = """
    SELECT 1 FROM pg_locks l JOIN pg_database d ON d.oid = l.database
     WHERE d.datname = current_database() AND l.locktype = 'advisory' AND l.mode = 'ExclusiveLock'
       AND NOT l.granted"""
_RESERVATIONS = """
    SELECT id, state, tokens_bound, tokens_used FROM eai.model_reservations
     WHERE tenant_id = %(tenant)s"""
_ENDED_AFTER = """
    SELECT r.id FROM eai.model_reservations r
      JOIN eai.audit_events e ON e.tenant_id = r.tenant_id AND e.action = 'model.result'
       AND (convert_from(e.body, 'UTF8')::jsonb -> 'facts' ->> 'intent')::bigint = r.intent_seq
     WHERE r.tenant_id = %(tenant)s AND e.seq > %(seq)s"""
_HELD = """
    SELECT id, extract(epoch FROM lease_until - now()) AS left_s FROM eai.model_reservations
     WHERE tenant_id = %(tenant)s AND state = 'held'"""
_LET_LEASES_RUN_OUT = """
    UPDATE eai.model_reservations SET lease_until = now()
     WHERE tenant_id = %(tenant)s AND state = 'held' RETURNING id"""
_ANNOUNCED = """
    SELECT resource_id AS model, count(*) AS n FROM eai.audit_events
     WHERE tenant_id = %(tenant)s AND action = 'model.invoke' AND decision = 'allow' GROUP BY 1"""
_SEQS = """
    SELECT seq FROM eai.audit_events
     WHERE tenant_id = %(tenant)s AND action = %(action)s AND decision = 'allow' ORDER BY seq"""
_WITNESS = """
    CREATE TABLE public.admissions (held bigint NOT NULL, is_admission boolean NOT NULL);
    CREATE FUNCTION public.witness() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
    BEGIN
        INSERT INTO public.admissions VALUES (
            NEW.used + NEW.reserved, NEW.reserved > CASE TG_OP WHEN 'INSERT' THEN 0 ELSE OLD.reserved END);
        RETURN NULL;
    END $$;
    CREATE TRIGGER witness AFTER INSERT OR UPDATE ON eai.quota_usage
       FOR EACH ROW WHEN (NEW.tenant_id = '$TENANT') EXECUTE FUNCTION public.witness()"""
