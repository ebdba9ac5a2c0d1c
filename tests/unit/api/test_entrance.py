import errno
from typing import Annotated

import pytest
from fastapi import Depends
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from structlog.testing import capture_logs

from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.api.governed_route import GovernedRouter
from eai.api.requirement import require
from eai.api.v1 import health
from eai.platform import telemetry
from eai.platform.context import current_work
from eai.platform.metrics import exposition
from eai.platform.settings import HttpSettings
from tests.fakes.platform import Plumbing, subject

Reader = Annotated[Subject, Depends(require(Scope.KB_READ))]

router = GovernedRouter()


@router.get("/secrets/{name}")
async def show(caller: Reader, name: str) -> dict[str, str | None]:
    """Show."""
    return {"name": name, "request": current_work().request_id, "trace": current_work().trace_id}


@router.get("/crash")
async def crash() -> str:
    """Fail in a way nobody foresaw."""
    raise ValueError("a secret sentence")


@router.get("/lacking/{number}")
async def lack(number: int) -> str:
    """Fail for want of something that the machine has none of."""
    raise OSError(number, "a secret path")


@pytest.fixture
def plumbing() -> Plumbing:
    return Plumbing(router)


async def test_every_answer_carries_its_request_id_and_safe_headers(plumbing: Plumbing) -> None:
    async with plumbing.client(subject(Scope.KB_READ)) as client:
        answers = [
            await client.get("/v1/secrets/a"),
            await client.get("/nowhere"),
            await client.get("/v1/crash"),
        ]
    assert answers[0].json()["request"] == answers[0].headers["x-request-id"]
    assert len({answer.headers["x-request-id"] for answer in answers}) == 3
    for answer in answers:
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["content-security-policy"] == "default-src 'none'; frame-ancestors 'none'"


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (errno.ENOSPC, (507, "storage_full", True)),
        (errno.EDQUOT, (507, "storage_full", True)),
        (errno.EMFILE, (503, "overloaded", True)),
        (errno.ENFILE, (503, "overloaded", True)),
        (errno.ENOENT, (500, "internal_error", True)),
    ],
)
async def test_what_the_machine_lacks_for_now_is_said_without_a_word_of_where(
    plumbing: Plumbing, number: int, told: tuple[int, str, bool]
) -> None:
    async with plumbing.client() as client:
        answer = await client.get(f"/v1/lacking/{number}")
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["retryable"]) == told
    assert ("retry-after" in answer.headers) == (told[0] != 500)
    assert "secret" not in answer.text


async def test_an_inbound_request_id_is_not_taken_over(plumbing: Plumbing) -> None:
    async with plumbing.client() as client:
        answer = await client.get("/healthz", headers={"x-request-id": "forged"})
    assert answer.headers["x-request-id"].startswith("req_")


async def test_the_access_log_names_the_template_and_never_the_path(plumbing: Plumbing) -> None:
    who = subject(Scope.KB_READ)
    with capture_logs() as logs:
        async with plumbing.client(who) as client:
            await client.get("/v1/secrets/merger-with-boreal?q=when")
    (line,) = logs
    assert line["event"] == "http.request"
    assert (line["method"], line["route"], line["status"]) == ("GET", "/v1/secrets/{name}", 200)
    assert (line["tenant"], line["principal"]) == (str(who.tenant), str(who.principal))
    assert "boreal" not in str(line)
    assert "when" not in str(line)


async def test_the_host_must_be_one_of_ours(plumbing: Plumbing) -> None:
    async with plumbing.client() as client:
        for host in ("localhost", "LOCALHOST:8080", "127.0.0.1:1", "[::1]:9"):
            assert (await client.get("/openapi.json", headers={"host": host})).status_code == 200
        for host in ("evil.example", "localhost.evil.example", "x/v1/healthz?", "localhost@evil", ""):
            answer = await client.get("/openapi.json", headers={"host": host})
            assert (answer.status_code, answer.json()["error"]["code"]) == (421, "host_not_allowed")


@pytest.mark.parametrize("path", ["/healthz", "/readyz"])
async def test_a_probe_may_ask_by_the_address_of_the_process(path: str) -> None:
    async with Plumbing(health.router).client() as client:
        named = await client.get(path, headers={"host": "localhost"})
        probed = await client.get(path, headers={"host": "10.1.2.3:8000"})
        beside = await client.get(f"{path}/", headers={"host": "10.1.2.3:8000"})
    assert probed.status_code == named.status_code != 421
    assert beside.status_code == 421


async def test_any_host_is_answered_when_all_are_allowed() -> None:
    async with Plumbing(http=HttpSettings(allowed_hosts=("*",))).client() as client:
        assert (await client.get("/docs", headers={"host": "whatever.example"})).status_code == 200


@pytest.mark.parametrize(
    "path",
    [
        "/nowhere",
        "//v1/secrets/a",
        "/v1/secrets/a/",
        "/V1/secrets/a",
        "/v1/%2e%2e/secrets/a",
        "/v1/secrets/a%00",
        "/v1/secrets",
        "/v1;x/secrets/a",
    ],
)
async def test_unrouted_paths_are_not_found_in_the_common_form(plumbing: Plumbing, path: str) -> None:
    async with plumbing.client(subject(Scope.KB_READ)) as client:
        answer = await client.get(path)
    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")
    assert answer.headers["content-type"] == "application/problem+json"


async def test_a_method_that_is_not_there_names_those_that_are(plumbing: Plumbing) -> None:
    async with plumbing.client() as client:
        answer = await client.post("/v1/secrets/a", headers={"x-http-method-override": "GET"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (405, "method_not_allowed")
    assert answer.headers["allow"] == "GET"


async def test_head_is_get_without_its_body(plumbing: Plumbing) -> None:
    async with plumbing.client(subject(Scope.KB_READ)) as client:
        got, head = await client.get("/v1/secrets/a"), await client.head("/v1/secrets/a")
    async with plumbing.client() as stranger:
        refused = await stranger.head("/v1/secrets/a")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == got.headers["content-length"]
    assert (refused.status_code, refused.content) == (401, b"")


async def test_metrics_are_labelled_by_template(plumbing: Plumbing) -> None:
    async with plumbing.client(subject(Scope.KB_READ), address="127.0.0.1") as client:
        await client.get("/v1/secrets/merger-with-boreal")
        await client.request("BREW", "/nowhere/very-secret")
    text = exposition().decode()
    assert 'route="/v1/secrets/{name}",status="200"' in text
    assert 'method="OTHER",route="unrouted"' in text
    assert "boreal" not in text
    assert "very-secret" not in text


async def test_origins_are_answered_when_they_are_allowed() -> None:
    plumbing = Plumbing(router, http=HttpSettings(cors_origins=("https://console.example",)))
    preflight = {"access-control-request-method": "POST", "access-control-request-headers": "authorization"}
    async with plumbing.client(subject(Scope.KB_READ)) as client:
        allowed = await client.options(
            "/v1/secrets/a", headers={"origin": "https://console.example", **preflight}
        )
        other = await client.options("/v1/secrets/a", headers={"origin": "https://evil.example", **preflight})
        answer = await client.get("/v1/secrets/a", headers={"origin": "https://console.example"})
    assert allowed.headers["access-control-allow-origin"] == "https://console.example"
    assert "access-control-allow-origin" not in other.headers
    assert "X-Request-Id" in answer.headers["access-control-expose-headers"]
    assert "access-control-allow-credentials" not in answer.headers


async def test_no_origin_is_allowed_by_default(plumbing: Plumbing) -> None:
    async with plumbing.client(subject(Scope.KB_READ)) as client:
        answer = await client.get("/v1/secrets/a", headers={"origin": "https://console.example"})
    assert "access-control-allow-origin" not in answer.headers


async def test_the_callers_trace_reaches_the_work(plumbing: Plumbing) -> None:
    header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    async with plumbing.client(subject(Scope.KB_READ)) as client:
        answer = await client.get("/v1/secrets/a", headers={"traceparent": header})
    assert answer.json()["trace"] == "4bf92f3577b34da6a3ce929d0e0e4736"


async def test_a_span_tells_the_route_and_the_tenant_and_no_text(plumbing: Plumbing) -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    who = subject(Scope.KB_READ)
    telemetry.record_spans(provider)
    try:
        async with plumbing.client(who) as client:
            answer = await client.get("/v1/secrets/merger-with-boreal?q=when")
            await client.get("/v1/crash")
    finally:
        telemetry.record_spans(None)
    span, failed = exporter.get_finished_spans()
    assert span.name == "GET /v1/secrets/{name}"
    assert span.attributes["http.response.status_code"] == 200
    assert span.attributes["eai.tenant_id"] == str(who.tenant)
    assert answer.json()["trace"] == format(span.context.trace_id, "032x")
    assert failed.attributes["error.type"] == "ValueError"
    assert "boreal" not in span.to_json()
    assert "secret sentence" not in failed.to_json()


async def test_refused_credentials_are_reported_when_the_process_stops(plumbing: Plumbing) -> None:
    async with plumbing.app.router.lifespan_context(plumbing.app):
        assert plumbing.failures.reported == 0
    assert plumbing.failures.reported == 1
