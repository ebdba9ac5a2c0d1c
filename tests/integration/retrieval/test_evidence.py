"""What a query leaves on record: events in the tenant's chain, usage rows, and which documents were shown."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

import orjson
import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from prometheus_client import REGISTRY
from sqlalchemy import text

from eai.access.acl import Entry, Permission
from eai.access.subject import Subject
from eai.audit.details import Details
from eai.audit.errors import AuditUnavailable
from eai.audit.service import Audit
from eai.kernel.clock import SystemClock
from eai.kernel.errors import NotFound
from eai.knowledge.ports import SearchHits, SearchRequest, SpaceId, Vectors, VectorStoreUnavailable
from eai.platform.database import Database
from eai.platform.keys import Keyring
from eai.platform.telemetry import record_spans
from eai.retrieval.repository import QueryRows
from eai.retrieval.schemas import QueryRequest
from eai.retrieval.service import Retrieval
from tests.factories.retrieval import MASTER, MODEL, PEPPERS, Library, admitted, ask, local_gateway
from tests.factories.stores import Around


async def events(library: Library) -> list[dict[str, Any]]:
    async with library.database.transaction(library.tenant) as session:
        bodies = await session.scalars(text("SELECT body FROM eai.audit_events ORDER BY seq"))
        return [orjson.loads(body) for body in bodies]


async def usage(library: Library) -> list[dict[str, Any]]:
    async with library.database.transaction(library.tenant) as session:
        rows = await session.execute(text("SELECT * FROM eai.usage_events ORDER BY kind"))
        return [dict(row) for row in rows.mappings()]


async def retrievals(library: Library) -> dict[str, int]:
    async with library.database.transaction(library.tenant) as session:
        rows = await session.execute(
            text("SELECT document_id, retrieval_count FROM eai.kb_document_retrievals")
        )
        return {str(document): count for document, count in rows}


async def test_one_query_is_one_event_and_one_more_for_its_model(
    retrieval: Retrieval, library: Library
) -> None:
    asker, shelf = await library.principal(), await library.base()
    book = await library.document(shelf, "refund one", "refund two")
    answer = await ask(
        retrieval, asker, shelf, "refund, please", top_k=2, rerank=True, labels={"project": "p", "run": "r"}
    )
    invoked, queried = await events(library)
    assert (invoked["action"], invoked["resource"]) == ("model.invoke", {"kind": "model", "id": MODEL})
    assert (queried["action"], queried["decision"]) == ("knowledge.query", "allow")
    assert queried["resource"] == {"kind": "knowledge_base", "id": str(shelf.id)}
    assert queried["actor"]["principal"] == str(asker.id)
    by_ordinal = dict(enumerate(book.chunks))
    assert queried["facts"] == {
        "mode": "hybrid",
        "top_k": 2,
        "count": 2,
        "generation": str(shelf.generation),
        "passages": [
            {"chunk": str(by_ordinal[result["ordinal"]]), "document": str(book.id), "version": 1}
            for result in answer.results
        ],
        "warnings": ["reranker_not_configured"],
        "results_sha256": sha256(orjson.dumps(orjson.loads(answer.body)["results"])).hexdigest(),
        "labels": {"project": "p", "run": "r"},
    }
    assert b"please" not in orjson.dumps([invoked, queried])


async def test_usage_counts_the_query_and_the_tokens_of_its_embedding(
    retrieval: Retrieval, library: Library
) -> None:
    asker, shelf = await library.principal(), await library.base()
    await library.document(shelf, "refund")
    await ask(retrieval, asker, shelf, "refund for customers", labels={"project": "p"})
    embeddings, rag = await usage(library)
    assert (embeddings["kind"], embeddings["unit"], embeddings["quantity"]) == ("embeddings", "tokens", 3)
    assert embeddings["labels"] == {"project": "p", "operation": "query"}
    assert (rag["kind"], rag["unit"], rag["quantity"]) == ("rag", "retrieval_queries", 1)
    assert rag["labels"] == {"project": "p"}
    assert {rag["principal"], embeddings["principal"]} == {asker.id}
    assert {rag["api_key"], embeddings["api_key"]} == {asker.api_key}


async def test_labels_have_one_spelling(retrieval: Retrieval, library: Library) -> None:
    asker, shelf = await library.principal(), await library.base()
    await ask(retrieval, asker, shelf, labels={"run": "\N{ANGSTROM SIGN}"})
    assert [row["labels"]["run"] for row in await usage(library)] == [
        "\N{LATIN CAPITAL LETTER A WITH RING ABOVE}"
    ] * 2


async def test_an_agents_label_comes_from_its_credential(retrieval: Retrieval, library: Library) -> None:
    agent, shelf = await library.principal(kind="agent"), await library.base()
    await ask(retrieval, agent, shelf, labels={"agent": "somebody-else", "run": "r"})
    assert [row["labels"].get("agent") for row in await usage(library)] == [str(agent.id)] * 2


async def test_a_keyword_query_leaves_no_trace_of_a_model(retrieval: Retrieval, library: Library) -> None:
    asker, shelf = await library.principal(), await library.base()
    await ask(retrieval, asker, shelf, mode="keyword")
    assert [event["action"] for event in await events(library)] == ["knowledge.query"]
    assert [row["kind"] for row in await usage(library)] == ["rag"]


async def test_a_document_shown_with_several_passages_counts_once_a_query(
    retrieval: Retrieval, library: Library
) -> None:
    asker, shelf = await library.principal(), await library.base()
    shown = await library.document(shelf, "refund one", "refund two")
    await library.document(shelf, "refund three", readers=[])
    for _ in range(3):
        await ask(retrieval, asker, shelf, "refund")
    assert await retrievals(library) == {str(shown.id): 3}


class Lost(Around):
    """An index that does not answer a search."""

    async def search(self, space: SpaceId, request: SearchRequest) -> SearchHits:
        raise VectorStoreUnavailable


async def test_a_model_that_was_asked_is_on_record_when_the_search_fails(
    library: Library, database: Database, vectors: Vectors, audit: Audit
) -> None:
    rows = QueryRows(database, PEPPERS)
    retrieval = Retrieval(rows, local_gateway(database, audit), Lost(vectors), audit, store="embedded")
    asker, shelf = await library.principal(), await library.base()
    await library.document(shelf, "refund one")
    with pytest.raises(VectorStoreUnavailable):
        await ask(retrieval, asker, shelf)
    assert [event["action"] for event in await events(library)] == ["model.invoke"]
    assert [row["kind"] for row in await usage(library)] == ["embeddings"]


async def test_a_question_is_not_answered_while_a_reranker_cannot_be_put_on_record(
    library: Library, database: Database, vectors: Vectors, audit: Audit
) -> None:
    late = Audit(database, Details(database, Keyring(MASTER, database)), SystemClock(), deadline_s=0)
    gateway = local_gateway(database, late)
    retrieval = Retrieval(QueryRows(database, PEPPERS), gateway, vectors, audit, store="embedded")
    asker, shelf = await library.principal(), await library.base()
    await library.document(shelf, "refund one")
    with pytest.raises(AuditUnavailable):
        await ask(retrieval, asker, shelf, mode="keyword", rerank=True, rerank_model="anything")


async def test_a_refused_query_asks_no_model_and_tells_the_entrance_who_was_refused(
    retrieval: Retrieval, library: Library
) -> None:
    asker, other = await library.principal(), await library.principal()
    shelf = await library.base(Entry(other.reference, Permission.READ))
    told: list[Subject] = []
    with pytest.raises(NotFound):
        await retrieval.query(asker.credential, str(shelf.id), QueryRequest(query="refund"), told.append)
    assert [subject.principal for subject in told] == [asker.id]
    assert await events(library) == []
    assert await usage(library) == []
    assert admitted(told[0]) is None


def counted(outcome: str) -> float:
    return REGISTRY.get_sample_value("eai_rag_queries_total", {"outcome": outcome}) or 0.0


async def test_queries_are_counted_by_how_they_ended(
    retrieval: Retrieval, library: Library, database: Database, vectors: Vectors, audit: Audit
) -> None:
    asker, shelf, empty = await library.principal(), await library.base(), await library.base()
    await library.document(shelf, "refund")
    lost = Retrieval(
        QueryRows(database, PEPPERS), local_gateway(database, audit), Lost(vectors), audit, store="embedded"
    )
    before = {outcome: counted(outcome) for outcome in ("answered", "empty", "refused", "failed")}
    await ask(retrieval, asker, shelf)
    await ask(retrieval, asker, empty)
    with pytest.raises(NotFound):
        await retrieval.query(asker.credential, "kb_nothing", QueryRequest(query="refund"), admitted)
    with pytest.raises(VectorStoreUnavailable):
        await ask(lost, asker, shelf)
    assert {outcome: counted(outcome) - count for outcome, count in before.items()} == {
        "answered": 1,
        "empty": 1,
        "refused": 1,
        "failed": 1,
    }


class Kept(SpanExporter):
    """Keeps spans in memory."""

    def __init__(self) -> None:
        self.spans: list[ReadableSpan] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.spans.extend(spans)
        return SpanExportResult.SUCCESS


async def test_spans_name_who_and_what_for_and_hold_no_text(retrieval: Retrieval, library: Library) -> None:
    """Attack 24."""
    agent, shelf = await library.principal(kind="agent"), await library.base()
    await library.document(shelf, "refund in confidence")
    kept, provider = Kept(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    record_spans(provider)
    try:
        await ask(retrieval, agent, shelf, "confidence", labels={"run": "r"})
    finally:
        record_spans(None)
        provider.shutdown()
    spans = {span.name: span for span in kept.spans}
    assert dict(spans["rag.query"].attributes or {}) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "rag",
        "gen_ai.agent.id": str(agent.id),
        "eai.tenant_id": str(library.tenant),
        "eai.run_id": "r",
    }
    assert "vector.search" in spans
    assert "confidence" not in " ".join(span.to_json() for span in kept.spans)
