"""Streamed answers over HTTP: what comes in which order, and what becomes of one that nobody waits for."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import httpx2
import psycopg
import pytest

from tests.conftest import DatabaseUrls
from tests.provider.process import ProviderProcess
from tests.provider.steps import Step
from tests.stack import Company, Json, Stack

CHAT = "/v1/gateway/chat/completions"
SAID = [{"role": "user", "content": "Where is my parcel?"}]


@pytest.fixture
async def provider(stack: Stack) -> ProviderProcess:
    running = await stack.provider()
    await running.forget()
    return running


@pytest.fixture
async def body(company: Company) -> Json:
    model = await company.model(await company.answering(), capability="chat")
    return {"model": model, "messages": SAID, "stream": True}


def events_of(text: str) -> list[tuple[str | None, Any]]:
    """Name and data of each event; `[DONE]` is not JSON and stays as it is."""
    found = []
    for block in text.removesuffix("\n\n").split("\n\n"):
        lines = dict(line.split(": ", 1) for line in block.split("\n"))
        data = lines["data"]
        found.append((lines.get("event"), data if data == "[DONE]" else json.loads(data)))
    return found


async def results(company: Company) -> list[Json]:
    return list((await company.admin.got("/v1/audit/events", action="model.result"))["data"])


async def until(condition: Callable[[], Awaitable[Any]], within_s: float = 5.0) -> Any:
    """What `condition` answers once that is something."""
    async with asyncio.timeout(within_s):
        while True:
            if found := await condition():
                return found
            await asyncio.sleep(0.01)


async def test_an_answer_comes_in_pieces_and_says_at_last_what_it_took(
    company: Company, provider: ProviderProcess, body: Json
) -> None:
    answer = await company.admin.post(CHAT, json=body)
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    assert answer.headers["cache-control"] == "no-store"
    *pieces, end, usage, done = events_of(answer.text)
    assert done == (None, "[DONE]")
    assert {name for name, _ in [*pieces, end, usage]} == {None}
    deltas = [data["choices"][0]["delta"] for _, data in pieces]
    assert deltas[0]["role"] == "assistant"
    assert "".join(delta["content"] for delta in deltas) == "word0 word1 word2 word3 word4"
    assert end[1]["choices"][0]["finish_reason"] == "stop"
    assert usage[1]["usage"]["completion_tokens"] == 5
    (result,) = await results(company)
    assert result["facts"]["tokens"] == usage[1]["usage"]["total_tokens"]
    assert "code" not in result["facts"]


async def test_pieces_leave_as_they_come_and_none_before_the_intent_is_on_record(
    company: Company, provider: ProviderProcess, body: Json
) -> None:
    await provider.say(Step(pace_s=0.2))
    async with company.admin.stream("POST", CHAT, json=body) as answer:
        lines = answer.aiter_lines()
        assert "word0" in await anext(lines)
        intents = (await company.admin.got("/v1/audit/events", action="model.invoke"))["data"]
        assert len(intents) == 1
        assert await results(company) == []
        rest = [line async for line in lines]
    assert rest[-2] == "data: [DONE]"
    assert len(await results(company)) == 1


@pytest.mark.parametrize(
    ("step", "refusal"),
    [
        (Step(status=500), (503, "provider_unavailable")),
        (Step(change={"model": "another"}), (502, "model_substituted")),
        (Step(fault="garbage"), (503, "provider_unavailable")),
    ],
)
async def test_what_fails_before_the_first_piece_is_an_ordinary_refusal(
    company: Company, provider: ProviderProcess, body: Json, step: Step, refusal: tuple[int, str]
) -> None:
    await provider.usually(step)
    answer = await company.admin.post(CHAT, json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == refusal
    assert answer.headers["content-type"] == "application/problem+json"


async def test_a_control_refuses_a_stream_before_anything_leaves(
    company: Company, provider: ProviderProcess, body: Json
) -> None:
    stop = {"engaged": True, "reason": "An incident."}
    assert (await company.admin.put("/v1/kill-switches/tenant", json=stop)).status_code == 200
    answer = await company.admin.post(CHAT, json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "kill_switch_engaged")
    assert await provider.received() == (0, 0)


async def test_an_answer_that_is_cut_short_ends_with_an_error(
    company: Company, provider: ProviderProcess, body: Json
) -> None:
    await provider.say(Step(change={"cut": True}))
    answer = await company.admin.post(CHAT, json=body)
    assert answer.status_code == 200
    *pieces, (name, problem) = events_of(answer.text)
    said = "".join(data["choices"][0]["delta"]["content"] for _, data in pieces)
    assert said == "word0 word1 word2 word3 word4"
    assert (name, problem["status"], problem["error"]["code"]) == ("error", 502, "provider_response_invalid")
    (result,) = await results(company)
    assert result["facts"]["code"] == "provider_response_invalid"
    assert result["facts"]["tokens"] > 0


async def test_a_stream_takes_no_idempotency_key(
    company: Company, provider: ProviderProcess, body: Json
) -> None:
    for _ in range(2):
        answer = await company.admin.post(CHAT, json=body, headers={"idempotency-key": str(uuid4())})
        (fault,) = answer.json()["error"]["details"]["fields"]
        assert (answer.status_code, fault["code"]) == (422, "idempotency_key_streamed")
    assert await provider.received() == (0, 0)


async def left(provider: ProviderProcess) -> bool:
    return [request.ended for request in await provider.requests()] == ["client_left"]


async def charged(company: Company) -> int:
    """The tokens of the one call that the client gave up."""
    (result,) = await until(lambda: results(company))
    assert result["facts"]["code"] == "client_disconnected"
    (usage,) = (await company.admin.got("/v1/finops/usage", group_by="model"))["data"]
    assert usage["tokens"] == result["facts"]["tokens"]
    return int(usage["tokens"])


@pytest.mark.parametrize("pieces", [1, 3])
async def test_a_client_that_leaves_ends_the_providers_work_and_is_charged_for_what_was_said(
    company: Company, provider: ProviderProcess, body: Json, pieces: int
) -> None:
    await provider.say(Step(pace_s=0.1, change={"words": 1000}))
    async with company.admin.stream("POST", CHAT, json={**body, "max_tokens": 2000}) as answer:
        lines = answer.aiter_lines()
        for _ in range(2 * pieces):
            await anext(lines)
    await until(lambda: left(provider), within_s=1)
    assert 0 < await charged(company) < 200


async def test_a_client_that_leaves_before_anything_was_said_is_charged_at_the_bound(
    company: Company, provider: ProviderProcess, body: Json
) -> None:
    await provider.say(Step(fault="hang"))
    request = asyncio.create_task(company.admin.post(CHAT, json={**body, "max_tokens": 2000}))
    await until(provider.requests)
    request.cancel()
    await asyncio.wait({request})
    await until(lambda: left(provider), within_s=1)
    assert await charged(company) > 2000


async def test_a_client_that_leaves_before_its_call_is_admitted_is_charged_nothing(
    company: Company, provider: ProviderProcess, body: Json, stack_urls: DatabaseUrls
) -> None:
    async with await psycopg.AsyncConnection.connect(stack_urls.admin) as switch:
        # Whoever flips a kill switch holds this lock, and reservations wait for it.
        await switch.execute("SELECT pg_advisory_xact_lock(eai.kill_switch_lock(%s))", [company.id])
        request = asyncio.create_task(company.admin.post(CHAT, json=body))
        await until(lambda: _is_waiting(switch))
        request.cancel()
        await asyncio.wait({request})
    async with await psycopg.AsyncConnection.connect(stack_urls.admin) as reader:
        held = "SELECT count(*) FROM eai.model_reservations WHERE tenant_id = %s AND state = 'held'"
        await until(lambda: _is_none(reader, held, company.id))
    assert await provider.received() == (0, 0)
    assert (await company.admin.got("/v1/finops/usage", group_by="model"))["data"] == []


async def test_a_client_that_leaves_while_a_whole_answer_is_put_on_record_is_charged_once(
    company: Company, provider: ProviderProcess, body: Json, stack_urls: DatabaseUrls
) -> None:
    await provider.say(Step(pace_s=0.1))
    async with (
        await psycopg.AsyncConnection.connect(stack_urls.admin) as holder,
        company.admin.stream("POST", CHAT, json=body) as answer,
    ):
        lines = answer.aiter_lines()
        await anext(lines)
        # Nothing can be added to the tenant's chain until the client has left.
        await holder.execute("SELECT FROM eai.audit_heads WHERE tenant_id = %s FOR UPDATE", [company.id])
        while "word4" not in await anext(lines):
            pass
        await until(lambda: _has_answered(provider))
    async with await psycopg.AsyncConnection.connect(stack_urls.admin) as reader:
        held = "SELECT count(*) FROM eai.model_reservations WHERE tenant_id = %s AND state <> 'settled'"
        await until(lambda: _is_none(reader, held, company.id))
    (result,) = await results(company)
    (usage,) = (await company.admin.got("/v1/finops/usage", group_by="model"))["data"]
    assert (usage["events"], usage["tokens"]) == (1, result["facts"]["tokens"])


async def _has_answered(provider: ProviderProcess) -> bool:
    return [request.ended for request in await provider.requests()] == ["answered"]


async def _is_waiting(connection: psycopg.AsyncConnection[Any]) -> bool:
    waiting = await connection.execute(
        "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    return await waiting.fetchone() is not None


async def _is_none(connection: psycopg.AsyncConnection[Any], query: str, tenant: str) -> bool:
    row = await (await connection.execute(query, [tenant])).fetchone()
    assert row is not None
    return int(row[0]) == 0


async def test_a_tenant_opens_only_so_many_streams_and_may_again_when_they_end(
    stack: Stack, company: Company, provider: ProviderProcess, body: Json
) -> None:
    await provider.usually(Step(pace_s=0.5, change={"words": 20}))
    limits = httpx2.Limits(max_connections=None)
    headers = {"authorization": f"Bearer {company.admin.key}"}
    other = await stack.company()
    theirs = {**body, "model": await other.model(await other.answering(), capability="chat")}
    async with httpx2.AsyncClient(
        base_url=stack.url, headers=headers, limits=limits, timeout=60, trust_env=False
    ) as client:
        opened = asyncio.Semaphore(0)
        waiting = [
            asyncio.create_task(_held(client, body, opened))
            for _ in range(stack.platform.settings.models.calls_per_tenant)
        ]
        for _ in waiting:
            await opened.acquire()
        refused = await client.post(CHAT, json=body)
        assert (refused.status_code, refused.json()["error"]["code"]) == (429, "rate_limited")
        assert refused.headers["retry-after"] == "1"
        assert (await other.admin.post(CHAT, json={**theirs, "max_tokens": 1})).status_code == 200
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting)
    await provider.usually(Step())

    async def admitted() -> bool:
        return (await company.admin.post(CHAT, json=body)).status_code == 200

    await until(admitted)


async def _held(client: httpx2.AsyncClient, body: Json, opened: asyncio.Semaphore) -> None:
    async with client.stream("POST", CHAT, json=body) as answer:
        assert answer.status_code == 200
        opened.release()
        await answer.aread()
