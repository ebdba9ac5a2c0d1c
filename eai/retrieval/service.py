"""From a question to cited passages that the caller may read, in three round trips to the database."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import orjson

from eai.access.subject import Subject
from eai.access.visibility import may_read
from eai.audit.entries import Evidence
from eai.audit.service import Audit
from eai.cache.service import SensitiveCache
from eai.gateway.service import Gateway
from eai.kernel.errors import EaiError
from eai.knowledge.lexical import analyse_query
from eai.knowledge.ports import Vectors
from eai.platform import metrics
from eai.platform.telemetry import span, tool_call
from eai.retrieval.evidence import evidence_of
from eai.retrieval.opening import Admit, open_question
from eai.retrieval.pipeline import retrieval_pipeline, run_pass
from eai.retrieval.recall import Recall
from eai.retrieval.recheck import Rule
from eai.retrieval.repository import QueryRows
from eai.retrieval.reranking import Ordered, Reranking
from eai.retrieval.schemas import Mode, QueryRequest, Shortcoming
from eai.retrieval.values import Cited, Opening, Question


@dataclass(frozen=True, slots=True)
class QueryAnswer:
    """An answer that is on record. `body` is all of it as JSON, in the form of `schemas.QueryAnswerOut`."""

    results: tuple[dict[str, Any], ...]
    warnings: tuple[Shortcoming, ...]
    body: bytes


class Retrieval:
    """Questions in, passages out."""

    def __init__(
        self,
        rows: QueryRows,
        gateway: Gateway,
        vectors: Vectors,
        audit: Audit,
        *,
        store: str,
        rerank_model: str | None = None,
        rule: Rule = may_read,
        cache: SensitiveCache | None = None,
    ) -> None:
        self._rows = rows
        self._gateway = gateway
        self._reranking = Reranking(gateway, rows, rerank_model, rule)
        self._audit = audit
        self._recall = Recall(cache, gateway, rows, rule) if cache else None
        self._pipeline = retrieval_pipeline(rows, gateway, vectors, store=store, rule=rule)

    async def query(self, credential: str, base: str, request: QueryRequest, admit: Admit) -> QueryAnswer:
        """Answer `request` from the base of this id or alias, to whoever holds `credential`.

        `admit` is told who that is before anything is decided. Everything that was done is durable in
        the audit when this returns, and also when it raises: Unauthenticated, Forbidden, NotFound,
        PermissionMissing, a refusal of the gateway, or a part that does not answer.
        """
        started = perf_counter()
        outcome = "failed"
        try:
            answer = await self._query(credential, base, request, admit)
            outcome = "answered" if answer.results else "empty"
            metrics.RAG_RETRIEVAL_LATENCY.observe(perf_counter() - started)
        except EaiError as error:
            outcome = "failed" if error.status >= _SERVER_FAULT else "refused"
            raise
        finally:
            metrics.RAG_QUERIES.labels(outcome=outcome).inc()
        return answer

    async def _query(self, credential: str, base: str, request: QueryRequest, admit: Admit) -> QueryAnswer:
        terms = {} if request.mode is Mode.VECTOR else analyse_query(request.query)

        async def opened(admit: Admit = _known_already) -> Opening:
            return await open_question(
                self._rows, credential, base, terms, read=self._gateway.read, admit=admit
            )

        question = Question.of(request, await opened(admit))
        with span("rag.query", _attributes(question)):
            try:
                cited = await self._found(question, opened)
                answer, evidence = _answer(await self._ordered(cited))
                question.trail.append(evidence)
            finally:
                # A model that was asked is on record whatever came after.
                if question.trail:
                    await self._audit.flush(sum(question.trail, Evidence()))
            if self._recall is not None:
                await self._recall.keep(cited)
        return answer

    async def _found(self, question: Question, opened: Callable[[], Awaitable[Opening]]) -> Cited:
        """What is recalled of the same question, or else found by a search."""
        if self._recall is None:
            return await self._search(question, opened)
        recalled = await self._recall.recall(question)
        return recalled.cited or await self._search(recalled.question, opened)

    async def _ordered(self, cited: Cited) -> Ordered:
        if not cited.readable.question.request.rerank:
            return Ordered(cited)
        return await self._reranking.reorder(cited)

    async def _search(self, question: Question, opened: Callable[[], Awaitable[Opening]]) -> Cited:
        cited = await self._searched_far_enough(question)
        if not cited.readable.is_torn:
            return cited
        # Anew from the first statement: the base may be searched in another generation since.
        again = cited.readable.question.reopened(await opened())
        return await self._searched_far_enough(replace(again, passes=question.passes))

    async def _searched_far_enough(self, question: Question) -> Cited:
        """One pass after the other, until there are enough passages or something changes meanwhile."""
        cited = await run_pass(self._pipeline, question)
        while cited.readable.wants_further and not cited.readable.is_torn:
            cited = await run_pass(self._pipeline, cited.readable.question.further())
        return cited


_SERVER_FAULT = 500


def _known_already(_: Subject) -> None:
    """Whoever asks was admitted when the question was opened first."""


def _answer(ordered: Ordered) -> tuple[QueryAnswer, Evidence]:
    cited = ordered.cited
    question = cited.readable.question
    request, base = question.request, question.opening.base
    warnings = _warnings(ordered)
    results = orjson.dumps(cited.results)
    body = orjson.dumps(
        {
            "knowledge_base_id": base.id,
            "query": request.query,
            "results": orjson.Fragment(results),
            "count": len(cited.results),
            "mode": request.mode,
            "reranked": ordered.is_reranked,
            "warnings": warnings,
            "embedding_model": base.embedding_model,
        }
    )
    return QueryAnswer(cited.results, warnings, body), evidence_of(cited, warnings, results)


def _warnings(ordered: Ordered) -> tuple[Shortcoming, ...]:
    readable = ordered.cited.readable
    warnings = [*map(Shortcoming, readable.question.warnings), *ordered.shortcomings]
    if readable.is_partial:
        warnings.append(Shortcoming.PARTIAL_RESULTS)
    return tuple(warnings)


def _attributes(question: Question) -> dict[str, str | int | float | bool | None]:
    labels = question.labels
    return tool_call(
        "rag",
        tenant=str(question.opening.subject.tenant),
        run=labels.get("run"),
        agent=labels.get("agent"),
    )
