"""Attack lines 22 to 24: what errors, metrics, traces and logs tell to those who watch them."""

from collections.abc import Iterator
from uuid import UUID

import psycopg
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from structlog.testing import capture_logs

from eai.platform.telemetry import record_spans
from tests.api.matrix.operations import Operation, operations, text_places, with_value
from tests.api.matrix.requests import Request
from tests.api.matrix.world import World, world_of
from tests.conftest import DatabaseUrls
from tests.stack import Caller, Company, Stack

SENTINEL = "zanzibar-84000"
WITH_BODY = [op for op in operations().values() if op.takes_a_body]


@pytest.fixture(scope="module")
async def world(stack: Stack, stack_urls: DatabaseUrls) -> World:
    """Of these tests alone: some of what they send is taken, and changes who may see what."""
    return await world_of(stack, stack_urls)


@pytest.mark.parametrize("operation", WITH_BODY, ids=[op.name for op in WITH_BODY])
async def test_a_refusal_repeats_nothing_of_what_was_sent(world: World, operation: Operation) -> None:
    caller: Caller = world.stack.operator if operation.is_for_operators else world.mine.admin
    valid = Request.of(operation, world.my)
    for way in text_places(operation):
        for value in (f"{SENTINEL}\n\x1b", {"a": SENTINEL}, [SENTINEL] * 3, f"{SENTINEL}" * 5_000):
            body = with_value(valid.body, way, value)
            if body is None:
                continue
            answer = await Request(operation, valid.path, valid.query, body).sent(caller)
            assert len(answer.content) < 10_000
            # A content type that cannot be read is named, cut to a length.
            if answer.is_error and answer.status_code != 415:
                assert SENTINEL not in answer.text, (way, value)
                assert SENTINEL not in str(answer.headers), (way, value)
                for word in ("psycopg", "sqlalchemy", "SELECT", "INSERT", "eai.", "Traceback", ".py"):
                    assert word not in answer.text, (way, word)


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    record_spans(provider)
    yield exporter
    record_spans(None)


async def _all_that_holds_text(stack: Stack, company: Company) -> list[str]:
    """Use everything that takes or shows text; answers every secret that was in it."""
    admin, other = company.admin, await stack.company()
    base = await company.base(name=f"{SENTINEL}-name", description=f"{SENTINEL}-description")
    path = f"/v1/knowledge-bases/{base}"
    document = await company.document(
        base,
        f"{SENTINEL} content",
        title=f"{SENTINEL}-title",
        external_id=f"{SENTINEL}-external",
        metadata={"key": f"{SENTINEL}-metadata"},
        source_uri=f"https://x.example/{SENTINEL}",
    )
    question = {"query": f"{SENTINEL} question", "explain": True}
    found = await admin.made(f"{path}/query", question, status=200)
    assert len(found["results"]) == 1
    chunk = found["results"][0]["chunk_id"]
    await admin.got(f"{path}/documents", q=SENTINEL, external_id=f"{SENTINEL}-external")
    await admin.got(f"{path}/documents/{document}/content")
    await admin.got(f"{path}/documents/{document}/chunks/{chunk}")
    await other.admin.post(f"{path}/query", json=question)
    await admin.post("/v1/knowledge-bases", json={"name": SENTINEL, "embedding_model": SENTINEL})
    await admin.post(f"{path}/documents", json={"title": SENTINEL, "content": "!", "language": "xx"})
    await admin.post(
        f"{path}/documents",
        content=b'{"title": "' + SENTINEL.encode(),
        headers={"content-type": "application/json"},
    )
    await admin.get(f"/v1/knowledge-bases/{SENTINEL}", headers={"x-request-id": SENTINEL})
    await admin.got("/v1/audit/events", limit=200)
    async with stack.caller(f"eai_{SENTINEL}") as stranger:
        await stranger.get(f"/v1/{SENTINEL}", headers={"user-agent": SENTINEL})
    await admin.delete(f"{path}/documents/{document}")
    return [SENTINEL, str(admin.key), str(admin.key)[-64:], str(other.admin.key)]


async def test_spans_hold_no_text_and_no_key(
    stack: Stack, company: Company, spans: InMemorySpanExporter
) -> None:
    secrets = await _all_that_holds_text(stack, company)
    recorded = [span.to_json() for span in spans.get_finished_spans()]
    assert len(recorded) > 15
    for secret in secrets:
        assert [span for span in recorded if secret in span] == []
    names = {span.name for span in spans.get_finished_spans()}
    assert {"rag.query", "vector.search", "POST /v1/knowledge-bases/{base}/query"} <= names


async def test_logs_hold_no_text_and_no_key(stack: Stack, company: Company) -> None:
    with capture_logs() as logs:
        secrets = await _all_that_holds_text(stack, company)
    assert len(logs) > 15
    for secret in secrets:
        assert secret not in str(logs)


async def test_metrics_hold_no_text_no_key_and_nobodys_id(stack: Stack, company: Company) -> None:
    secrets = await _all_that_holds_text(stack, company)
    base = await company.base()
    person = await company.person("member")
    async with stack.caller(None) as anybody:
        shown = (await anybody.get("/metrics")).text
    for secret in (*secrets, company.id, base, person.id, "kb_"):
        assert secret not in shown
    assert 'route="/v1/knowledge-bases/{base}/query"' in shown


async def test_metrics_that_a_proxy_asks_for_want_an_operator(stack: Stack, company: Company) -> None:
    for name in ("x-forwarded-for", "forwarded"):
        from_elsewhere = {name: "203.0.113.7"}
        async with stack.caller(None) as anybody:
            refused = await anybody.get("/metrics", headers=from_elsewhere)
        assert (refused.status_code, refused.json()["error"]["code"]) == (401, "unauthenticated")
        denied = await company.admin.get("/metrics", headers=from_elsewhere)
        assert (denied.status_code, denied.json()["error"]["code"]) == (403, "scope_missing")
        assert (await stack.operator.get("/metrics", headers=from_elsewhere)).status_code == 200


PUBLIC_PAGES = ("/healthz", "/readyz", "/openapi.json", "/docs", "/docs/errors", "/docs/errors/not_found")


async def test_the_public_pages_tell_nothing_of_anybody(stack: Stack, company: Company) -> None:
    await _all_that_holds_text(stack, company)
    async with stack.caller(None) as anybody:
        for path in (
            "/healthz",
            "/readyz",
            "/openapi.json",
            "/docs",
            "/docs/errors",
            "/docs/errors/not_found",
        ):
            answer = await anybody.get(path)
            assert answer.status_code == 200, path
            for secret in (SENTINEL, company.id, str(company.admin.key)):
                assert secret not in answer.text


_KEEP_WHAT_IS_QUEUED = """
    CREATE TABLE queued AS SELECT * FROM eai_jobs.procrastinate_jobs;
    CREATE FUNCTION keep_queued() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS
        'BEGIN INSERT INTO public.queued SELECT NEW.*; RETURN NEW; END';
    CREATE TRIGGER keep_queued AFTER INSERT OR UPDATE ON eai_jobs.procrastinate_jobs
        FOR EACH ROW EXECUTE FUNCTION keep_queued()"""


async def test_the_queue_that_no_tenant_guards_holds_ids_alone(
    stack: Stack, stack_urls: DatabaseUrls, company: Company
) -> None:
    """Row level security ends at the job engine's own tables, so nothing else may stand in them."""
    with psycopg.connect(stack_urls.admin, autocommit=True) as admin:
        # A job that was done is gone at once.
        admin.execute(_KEEP_WHAT_IS_QUEUED)
        await _all_that_holds_text(stack, company)
        base = await company.base()
        assert (await company.admin.delete(f"/v1/knowledge-bases/{base}")).status_code == 202
        rows = admin.execute("SELECT args FROM queued").fetchall()
        whole = admin.execute("SELECT q::text FROM queued q").fetchall()
        admin.execute("DROP FUNCTION keep_queued() CASCADE; DROP TABLE queued")
    values = [value for (args,) in rows for value in args.values()]
    assert values
    assert [value for value in values if str(UUID(value)) != value] == []
    assert [row for (row,) in whole if SENTINEL in row] == []
