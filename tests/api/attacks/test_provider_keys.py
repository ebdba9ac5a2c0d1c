"""A provider's key, in any spelling, is told to that provider alone, whatever goes wrong.

A hostile or careless provider repeats it in everything that it can answer; the rest of the product breaks
in every way that a caller can bring about.
"""

import asyncio
import json
import socket
from base64 import b64encode, urlsafe_b64encode
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from urllib.parse import quote
from uuid import uuid4

import httpx2
import psycopg
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from psycopg import sql
from structlog.testing import capture_logs

from eai.platform.telemetry import record_spans
from tests.conftest import DatabaseUrls
from tests.integration.kills.dying import Order
from tests.integration.kills.mortals import Mortals
from tests.provider.process import ProviderProcess
from tests.provider.steps import Step
from tests.stack import Caller, Company, Json, Stack

ENDPOINTS = "/v1/provider-endpoints"


@dataclass(frozen=True)
class Canary:
    """A key that no text holds by chance. Its middle survives escaping for URLs and JSON alike."""

    middle: str

    @property
    def key(self) -> str:
        return f"sk-\"\\/+=%&{self.middle}<'>"

    @property
    def spellings(self) -> list[str]:
        """Everything that would give it away."""
        raw = self.key.encode()
        whole = [raw, f"Bearer {self.key}".encode()]
        # In base64 a text looks different at each place of a group of three; only its edges depend on others.
        shifted = [b64encode(b"x" * shift + raw).decode()[4:-4] for shift in range(3)]
        return [
            self.key,
            self.middle,
            quote(self.key, safe=""),
            json.dumps(self.key)[1:-1],
            raw.hex(),
            *(b64encode(each).decode().rstrip("=") for each in whole),
            *(urlsafe_b64encode(each).decode().rstrip("=") for each in whole),
            *shifted,
        ]

    def found_in(self, text: str) -> list[str]:
        return [spelling for spelling in self.spellings if spelling in text]


def echoes(key: str) -> list[Step]:
    """Answers that bring no second attempt, each with the key where a program might quote it."""
    vector = {"object": "list", "model": key, "id": key, "data": [{"index": 0, "embedding": [key] * 8}]}
    error = json.dumps({"error": {"message": f"Incorrect API key provided: {key}", "code": key}})
    plain = {"content-type": "text/plain"}
    return [
        Step(status=400, body=error),
        Step(status=401, body=error, headers={"www-authenticate": f"Bearer realm={key}"}),
        Step(status=500, body=error),
        Step(status=302, body=key, headers={"location": f"https://models.example/?key={key}"}),
        Step(status=200, body=key, headers=plain),
        Step(status=200, body=f'{{"object": "list", "data": "{key}', headers=plain),
        Step(status=200, body=json.dumps(vector)),
        Step(status=200, body=json.dumps({**vector, "data": key})),
        Step(status=200, body=json.dumps({**vector, "data": [key]})),
        Step(status=200, body=json.dumps({"error": error}), headers={"x-request-id": key}),
        Step(status=200, body=key, headers={"content-encoding": key}),
        Step(status=200, body=key, headers={"content-type": key}),
        Step(change={"model": key}),
        Step(change={"dimensions": 7, "id": key}),
        Step(change={"first": "nan", "id": key}),
    ]


@dataclass
class Scene:
    """A tenant whose models' endpoints hold the canary, and everything that anybody was answered."""

    company: Company
    provider: ProviderProcess
    admin_url: str
    canary: Canary
    operator: Caller
    admin: Caller
    answers: list[httpx2.Response]

    async def ask(self, caller: Caller, method: str, path: str, body: Json | None = None) -> httpx2.Response:
        answer = await caller.request(method, path, json=body)
        self.answers.append(answer)
        return answer

    async def made(self, caller: Caller, path: str, body: Json) -> Json:
        return dict((await self.ask(caller, "POST", path, body)).json())

    async def model(self, endpoint: Json, capability: str) -> str:
        sizes = {"dimensions": [8]} if capability == "embeddings" else {}
        body = {"name": f"m-{uuid4().hex[:12]}", "endpoint": endpoint["name"], "capability": capability}
        return str((await self.made(self.admin, "/v1/models", {**body, **sizes}))["name"])

    def endpoint(self, **fields: object) -> Json:
        return {
            "name": f"e-{uuid4().hex[:12]}",
            "kind": "openai",
            "url": self.provider.url,
            "region": "eu",
            "retention": "none",
            "classification_ceiling": "secret",
            "tenants": [self.company.id],
            "api_key": self.canary.key,
            **fields,
        }

    async def call(self, model: str, capability: str, *steps: Step) -> httpx2.Response:
        """Call a model of a provider that answers so."""
        await self.provider.say(*steps)
        path, body = BODIES[capability]
        return await self.ask(self.admin, "POST", path, {"model": model, **body})


SAID = [{"role": "user", "content": "Where is my parcel?"}]
BODIES: dict[str, tuple[str, Json]] = {
    "embeddings": ("/v1/gateway/embeddings", {"input": "a parcel"}),
    "rerank": ("/v1/gateway/rerank", {"query": "parcel", "documents": ["a letter", "a parcel"]}),
    "chat": ("/v1/gateway/chat/completions", {"messages": SAID}),
    "openai": ("/v1/openai/embeddings", {"input": "a parcel"}),
}


async def _registration(scene: Scene) -> None:
    endpoint = await scene.made(scene.operator, ENDPOINTS, scene.endpoint())
    await _refused(scene, endpoint)
    model = await scene.model(endpoint, "embeddings")
    for engaged in (True, False):
        body = {"engaged": engaged, "reason": "an incident"}
        switch = f"/v1/kill-switches/provider:{endpoint['name']}"
        assert (await scene.ask(scene.operator, "PUT", switch, body)).status_code == 200
        await scene.call(model, "embeddings")
    # What is sealed opens no more.
    with psycopg.connect(scene.admin_url) as admin:
        admin.execute(
            "UPDATE eai.provider_endpoints SET sealed_key = sealed_key || '\\x00' WHERE id = %s",
            [endpoint["id"]],
        )
    await scene.provider.forget()
    unreadable = await scene.call(model, "embeddings")
    assert (unreadable.status_code, unreadable.json()["error"]["code"]) == (503, "provider_unavailable")
    assert await scene.provider.received() == (0, 0)
    told = await scene.admin.got("/v1/audit/events", action="model.result", limit=200)
    assert told["data"][-1]["facts"]["tokens"] == 0


async def _refused(scene: Scene, endpoint: Json) -> None:
    key, path = scene.canary.key, f"{ENDPOINTS}/{endpoint['id']}"
    safe = quote(key, safe="")
    for fields in (
        {"name": endpoint["name"]},
        {"name": key},
        {"region": key},
        {"kind": key},
        {"tenants": [key]},
        {"api_key": f"{key} "},
        {"api_key": [key]},
        {"api_key": {"key": key}},
        {"api_key": key * 500},
        {"url": f"https://user:{safe}@models.example/v1"},
        {"url": f"https://models.example/v1?key={safe}"},
        {"url": key},
    ):
        refused = await scene.ask(scene.operator, "POST", ENDPOINTS, scene.endpoint(**fields))
        assert refused.status_code in {409, 422}, refused.text
        if "name" not in fields and "kind" not in fields:
            await scene.ask(scene.operator, "PATCH", path, fields)
    await scene.ask(scene.operator, "PATCH", path, {"api_key": key})
    await scene.ask(scene.admin, "POST", ENDPOINTS, scene.endpoint())
    await scene.ask(scene.admin, "PATCH", path, {"api_key": key})


async def _calls(scene: Scene) -> None:
    endpoint = await scene.made(scene.operator, ENDPOINTS, scene.endpoint())
    embedder = await scene.model(endpoint, "embeddings")
    models = {"embeddings": embedder, "openai": embedder}
    models |= {name: await scene.model(endpoint, name) for name in ("rerank", "chat")}
    await _is_known(scene, embedder)
    steps = echoes(scene.canary.key)
    for capability, those in (
        ("embeddings", steps),
        ("openai", steps[:1]),
        ("rerank", steps[1::3]),
        ("chat", steps[2::3]),
    ):
        for step in those:
            await scene.provider.forget()
            await scene.call(models[capability], capability, step)
            (request,) = await scene.provider.requests()
            assert request.headers["authorization"] == f"Bearer {scene.canary.key}"


async def _is_known(scene: Scene, model: str) -> None:
    """A first answer shows in which form vectors are sent; what is refused then is refused for good."""
    assert (await scene.call(model, "embeddings")).status_code == 200


async def _streams(scene: Scene) -> None:
    endpoint = await scene.made(scene.operator, ENDPOINTS, scene.endpoint())
    key, body = scene.canary.key, {"messages": SAID, "stream": True}
    body["model"] = await scene.model(endpoint, "chat")
    for number, step in enumerate(
        (
            *echoes(key)[::2],
            Step(status=200, body=f"data: {key}\n\n", headers={"content-type": "text/event-stream"}),
            Step(change={"cut": True, "id": key}),
            Step(change={"written": -1, "id": key}),
        )
    ):
        await scene.provider.forget()
        await scene.provider.say(step)
        form = ("gateway", "openai")[number % 2]
        await scene.ask(scene.admin, "POST", f"/v1/{form}/chat/completions", body)


async def _retrieval(scene: Scene) -> None:
    endpoint = await scene.made(scene.operator, ENDPOINTS, scene.endpoint())
    model = await scene.model(endpoint, "embeddings")
    await _is_known(scene, model)
    fields = {"name": f"base {uuid4().hex[:8]}", "embedding_model": model}
    base = f"/v1/knowledge-bases/{(await scene.made(scene.admin, '/v1/knowledge-bases', fields))['id']}"
    document = (f"{base}/documents", {"title": "A text", "content": "Refunds take five days."})
    question = (f"{base}/query", {"query": "refunds", "mode": "vector"})
    for number, step in enumerate(echoes(scene.canary.key)):
        await scene.provider.forget()
        await scene.provider.say(step)
        path, body = (document, question)[number % 2]
        failed = await scene.ask(scene.admin, "POST", path, body)
        assert failed.status_code in {502, 503}, failed.text


async def _unreachable(scene: Scene) -> None:
    """Each on an endpoint of its own, at once: all but the last are tried for seconds."""
    key, plain = scene.canary.key, scene.provider.url
    error = Step(status=429, body=key, headers={"retry-after": key})
    ways = [
        (plain, [error, Step(status=503, body=key), Step(fault="half"), Step(fault="reset")]),
        (f"http://127.0.0.1:{_closed_port()}/v1", []),
        (f"https://127.0.0.2:{scene.provider.port}/v1", []),
    ]
    await scene.provider.forget()
    models = []
    for url, _ in ways:
        endpoint = await scene.made(scene.operator, ENDPOINTS, scene.endpoint(url=url))
        models.append(await scene.model(endpoint, "embeddings"))
    failed = await asyncio.gather(
        *(scene.call(model, "embeddings", *steps) for model, (_, steps) in zip(models, ways, strict=True))
    )
    assert [answer.status_code for answer in failed] == [503, 503, 403]


def _closed_port() -> int:
    with socket.socket() as once:
        once.bind(("127.0.0.1", 0))
        return int(once.getsockname()[1])


async def _reading(scene: Scene) -> None:
    for path in (
        ENDPOINTS,
        "/v1/audit/events?limit=200",
        "/v1/audit/events?limit=200&action=model.result",
        "/v1/audit/export",
        "/metrics",
    ):
        await scene.ask(scene.operator, "GET", path)
    for path in (
        "/v1/models",
        "/v1/kill-switches/tenant",
        "/v1/audit/events?limit=200",
        "/v1/audit/events?limit=200&action=model.result",
        "/v1/audit/export",
        "/v1/finops/usage?group_by=model",
        "/v1/me",
    ):
        assert (await scene.ask(scene.admin, "GET", path)).status_code == 200, path


PARTS: dict[str, tuple[Callable[[Scene], Awaitable[None]], set[int]]] = {
    "registration": (_registration, {200, 201, 403, 409, 422, 503}),
    "calls": (_calls, {502, 503}),
    "streams": (_streams, {200, 502, 503}),
    "retrieval": (_retrieval, {502, 503}),
    "unreachable": (_unreachable, {403, 503}),
}
every_part = pytest.mark.parametrize("part", PARTS)


async def goes_wrong(scene: Scene, part: str) -> None:
    """Bring about the errors of `part`, read what is left of them, and look at all that was answered."""
    bring_about, statuses = PARTS[part]
    await bring_about(scene)
    assert {answer.status_code for answer in scene.answers} >= statuses
    await _reading(scene)
    for answer in scene.answers:
        told = f"{answer.text}\n{answer.headers}"
        assert scene.canary.found_in(told) == [], (answer.request.url, answer.request.content)


@pytest.fixture
async def scene(stack: Stack, company: Company, stack_urls: DatabaseUrls) -> AsyncIterator[Scene]:
    provider = await stack.provider()
    await provider.forget()
    canary = Canary(f"zz{uuid4().hex}zz")
    yield Scene(company, provider, stack_urls.admin, canary, stack.operator, company.admin, [])
    await provider.forget()


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    record_spans(provider)
    yield exporter
    record_spans(None)


@every_part
async def test_no_answer_log_span_or_row_tells_a_providers_key(
    scene: Scene, spans: InMemorySpanExporter, part: str
) -> None:
    with capture_logs() as logs:
        await goes_wrong(scene, part)
    assert scene.canary.found_in(str(logs)) == []
    assert len(spans.get_finished_spans()) > 5
    for span in spans.get_finished_spans():
        assert scene.canary.found_in(span.to_json()) == [], span.name
    assert _rows_with(scene.admin_url, scene.canary.middle) == []


@pytest.fixture(scope="module")
async def mortals(stack: Stack) -> AsyncIterator[Mortals]:
    """Who makes another API process, whose standard error can be read."""
    async with Mortals.over(stack.platform.settings) as made:
        yield made


@every_part
async def test_no_line_of_a_process_tells_a_providers_key(scene: Scene, mortals: Mortals, part: str) -> None:
    lines = mortals.heard("http.request")
    async with (
        mortals.born(Order("api")) as api,
        Caller(api.url, scene.operator.key) as operator,
        Caller(api.url, scene.admin.key) as admin,
    ):
        scene.operator, scene.admin = operator, admin
        await goes_wrong(scene, part)
    assert mortals.heard("http.request") >= lines + len(scene.answers)
    assert [spelling for spelling in scene.canary.spellings if mortals.heard(spelling)] == []


def test_every_spelling_would_be_noticed() -> None:
    canary = Canary("zz0123456789zz")
    pair = f"user:{canary.key}".encode()
    for text in (
        json.dumps({"key": canary.key}),
        json.dumps(json.dumps({"key": canary.key})),
        f"https://models.example/?key={quote(canary.key)}",
        repr({"key": canary.key}),
        b64encode(pair).decode(),
        urlsafe_b64encode(pair).decode(),
        canary.key.encode().hex(),
    ):
        assert canary.found_in(text) != [], text
    assert canary.found_in("sk-") == []


def _rows_with(admin_url: str, secret: str) -> list[str]:
    """Tables of the product with a row that holds it as text or as bytes."""
    with psycopg.connect(admin_url) as admin:
        tables = admin.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'eai'").fetchall()
        found = []
        for (table,) in tables:
            statement = sql.SQL(
                "SELECT 1 FROM eai.{} t WHERE position(%s IN t::text) > 0 OR position(%s IN t::text) > 0"
            ).format(sql.Identifier(table))
            if admin.execute(statement, [secret, secret.encode().hex()]).fetchone() is not None:
                found.append(table)
    return found
