"""An outside engine over real HTTP on loopback: yes is yes, and everything else is not."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from time import perf_counter
from typing import Any

import pytest

from eai.integrations.opa import OpaPolicies
from eai.policies.errors import PolicyUnavailable
from eai.policies.ports import PolicyDecision
from tests.factories.policies import GROUP, SOMEBODY, question
from tests.fakes.recorder import Answer, recording

DEADLINE_S = 0.3


@asynccontextmanager
async def _asking(url: str) -> AsyncIterator[OpaPolicies]:
    policies = OpaPolicies(url, deadline_s=DEADLINE_S)
    try:
        yield policies
    finally:
        await policies.close()


async def _decided(answer: Answer) -> PolicyDecision:
    async with recording(lambda _: answer) as opa, _asking(opa.url) as policies:
        return await policies.decide(question())


@pytest.mark.parametrize("is_allowed", [True, False])
async def test_the_decision_document_decides(is_allowed: bool) -> None:
    answer = Answer({"result": {"allow": is_allowed, "rule": "mine"}, "decision_id": "1"})
    assert await _decided(answer) == PolicyDecision(is_allowed, ("opa",))


async def test_what_is_asked_names_everything_and_no_text() -> None:
    allowing = Answer({"result": {"allow": True}})
    async with recording(lambda _: allowing) as opa, _asking(opa.url) as policies:
        asked = question()
        await policies.decide(asked)
        await policies.decide(asked)
    assert opa.connections == 1
    (request, _) = opa.requests
    assert (request.method, request.target) == ("POST", "/v1/data/eai")
    assert request.json == {
        "input": {
            "tenant": str(asked.tenant),
            "principal": {
                "kind": "user",
                "id": str(SOMEBODY),
                "roles": ["developer"],
                "groups": [GROUP],
                "clearance": 1,
            },
            "action": "model.invoke",
            "resource": {
                "kind": "Model",
                "id": "text-embedding-3-small",
                "provider": "openai",
                "region": "us",
                "capability": "embeddings",
                "ceiling": 2,
                "is_local": False,
            },
            "context": {"operation": "query", "level": 1, "texts": 3},
        }
    }


async def test_a_url_with_a_path_names_the_document() -> None:
    async with recording(lambda _: Answer({"result": {"allow": True}})) as opa:
        for url in (f"{opa.url}/v1/data/acme/models", f"{opa.url}/", opa.url):
            async with _asking(url) as policies:
                await policies.decide(question())
    assert [r.target for r in opa.requests] == ["/v1/data/acme/models", "/v1/data/eai", "/v1/data/eai"]


@pytest.mark.parametrize(
    "body",
    [
        {}, {"result": True}, {"result": {}}, {"result": None}, {"allow": True},
        {"result": [{"allow": True}]}, {"result": {"allow": "true"}}, {"result": {"allow": 1}},
        {"result": {"allow": None}}, {"result": {"allow": [True]}}, {"result": {"Allow": True}},
        [], True, None, "allow", b"", b"<html>", b"\xff\xfe", b'{"result": {"allow": true}',
        b'{"result": {"allow": true}}{}', b'{"result": {"allow": true}}' + b" " * 70_000,
    ],
)  # fmt: skip
async def test_any_other_document_denies(body: Any) -> None:
    decision = await _decided(Answer(body))
    assert (decision.is_allowed, decision.policies, len(decision.errors)) == (False, ("opa",), 1)


@pytest.mark.parametrize("status", [201, 204, 301, 307, 400, 401, 403, 404, 500])
async def test_any_other_status_denies(status: int) -> None:
    allowing = Answer({"result": {"allow": True}}, status=status, headers={"location": "/v1/data/eai"})
    decision = await _decided(allowing)
    assert (decision.is_allowed, decision.errors) == (False, (f"it answered {status}",))


@pytest.mark.parametrize("status", [429, 502, 503, 504])
async def test_an_engine_that_is_away_denies(status: int) -> None:
    with pytest.raises(PolicyUnavailable):
        await _decided(Answer({"result": {"allow": True}}, status=status))


async def test_a_compressed_answer_is_not_unpacked() -> None:
    decision = await _decided(Answer(b"\x1f\x8b\x08\x00", headers={"content-encoding": "gzip"}))
    assert decision.errors == ("its answer is no JSON",)


async def test_nobody_listening_denies() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    async with _asking(f"http://127.0.0.1:{port}") as policies:
        with pytest.raises(PolicyUnavailable):
            await policies.decide(question())


@asynccontextmanager
async def _stuck(*sent: bytes, pause_s: float = 0.0) -> AsyncIterator[str]:
    """A server that takes a question, sends these bytes with a pause after each, and then nothing."""
    until, ended = asyncio.Event(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        for piece in sent:
            writer.write(piece)
            await asyncio.sleep(pause_s)
        await until.wait()
        writer.close()
        ended.set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        until.set()
        await ended.wait()
        server.close()


HEAD = b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\n"


@pytest.mark.parametrize(
    ("sent", "pause_s"),
    [((), 0.0), ((HEAD,), 0.0), ((HEAD, b'{"result": {"allow": true}}'), 0.0), ((HEAD, *[b" "] * 50), 0.02)],
    ids=["silent", "without a body", "with half a body", "a byte at a time"],
)
async def test_an_engine_that_takes_its_time_denies_within_the_deadline(
    sent: tuple[bytes, ...], pause_s: float
) -> None:
    async with _stuck(*sent, pause_s=pause_s) as url, _asking(url) as policies:
        began = perf_counter()
        with pytest.raises(PolicyUnavailable):
            await policies.decide(question())
        assert perf_counter() - began < 5 * DEADLINE_S


async def test_it_is_asked_again_for_every_call() -> None:
    answers = iter([True, False])

    def say(_: Any) -> Answer:
        return Answer({"result": {"allow": next(answers)}})

    async with recording(say) as opa, _asking(opa.url) as policies:
        assert [(await policies.decide(question())).is_allowed for _ in range(2)] == [True, False]
