"""The stages of a query, in the order they run. Each keeps no state between runs.

All run on the event loop: a thread would cost more than any of them. Haystack wants a `run` as well,
which nobody calls.
"""

from haystack import component

from eai.access.visibility import may_read
from eai.gateway.calls import Caller, EmbeddingCall, Operation
from eai.gateway.ports import EmbeddingRole
from eai.gateway.service import Gateway, PermittedEmbedding
from eai.knowledge.ports import SearchHits, SearchRequest, Vectors, VectorStoreUnavailable
from eai.platform import metrics
from eai.platform.pipelines import AsynchronousOnly
from eai.platform.telemetry import TENANT_ID, span
from eai.retrieval.citation import cite
from eai.retrieval.fusion import ScoredHit, by_keyword, by_vector, fuse
from eai.retrieval.recheck import Rule, readable_passages
from eai.retrieval.repository import QueryRows
from eai.retrieval.schemas import Mode
from eai.retrieval.values import Cited, Found, Opening, Question, Ranked, Readable


@component
class EmbedQuestion:
    """Have the gateway turn the question into a vector, at the base's level, once."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway

    @component.output_types(question=Question)
    def run(self, question: Question) -> dict[str, Question]:
        raise AsynchronousOnly

    @component.output_types(question=Question)
    async def run_async(self, question: Question) -> dict[str, Question]:
        """Raises whatever refuses the call."""
        if question.request.mode is Mode.KEYWORD or question.dense is not None:
            return {"question": question}
        permitted = question.permitted or await permit(self._gateway, question)
        answer = await self._gateway.embed_permitted(permitted)
        question.trail.append(answer.evidence)
        return {"question": question.embedded(answer.vectors[0], permitted)}


@component
class SearchIndex:
    """Ask both legs of the index in one call, under one filter. `store` names it in the metrics."""

    def __init__(self, rows: QueryRows, vectors: Vectors, store: str) -> None:
        self._rows = rows
        self._vectors = vectors
        self._latency = metrics.VECTOR_SEARCH_LATENCY.labels(store=store)

    @component.output_types(found=Found)
    def run(self, question: Question) -> dict[str, Found]:
        raise AsynchronousOnly

    @component.output_types(found=Found)
    async def run_async(self, question: Question) -> dict[str, Found]:
        """Raises VectorStoreUnavailable, unless the base holds nothing that could be found."""
        opening = question.opening
        has_keywords = question.request.mode is not Mode.VECTOR and len(opening.weights.vector.indices) > 0
        # Without a class that the caller may read nothing can be found.
        if (question.dense is None and not has_keywords) or opening.scope.rights_keys == ():
            return {"found": Found(question, SearchHits())}
        request = SearchRequest(
            filter=opening.scope,
            limit=question.reach.fetched,
            dense=question.dense,
            sparse=opening.weights.vector if has_keywords else None,
        )
        with self._latency.time(), span("vector.search", {TENANT_ID: str(opening.subject.tenant)}):
            return {"found": Found(question, await self._search(opening, request))}

    async def _search(self, opening: Opening, request: SearchRequest) -> SearchHits:
        try:
            return await self._vectors.search(opening.base.space, request)
        except VectorStoreUnavailable:
            # The space of a base is made with its first passages, later than its first rights class.
            if await self._rows.holds_chunks(opening.subject.tenant, opening.base):
                raise
            return SearchHits()


@component
class FuseLegs:
    """Bring both legs on one scale and into one list, by the model's measured rule."""

    @component.output_types(ranked=Ranked)
    def run(self, found: Found) -> dict[str, Ranked]:
        return {"ranked": Ranked(found, self._scored(found))}

    @component.output_types(ranked=Ranked)
    async def run_async(self, found: Found) -> dict[str, Ranked]:
        return self.run(found)

    def _scored(self, found: Found) -> tuple[ScoredHit, ...]:
        opening, hits = found.question.opening, found.hits
        match found.question.request.mode:
            case Mode.VECTOR:
                return by_vector(hits.dense)
            case Mode.KEYWORD:
                return by_keyword(hits.sparse, opening.weights.attainable)
            case Mode.HYBRID:
                return fuse(hits.dense, hits.sparse, found.question.fusion, opening.weights.attainable)


@component
class RecheckPassages:
    """Drop what may not be shown, by the rows behind the best hits and the caller's rights at one instant."""

    def __init__(self, rows: QueryRows, rule: Rule = may_read) -> None:
        self._rows = rows
        self._rule = rule

    @component.output_types(readable=Readable)
    def run(self, ranked: Ranked) -> dict[str, Readable]:
        raise AsynchronousOnly

    @component.output_types(readable=Readable)
    async def run_async(self, ranked: Ranked) -> dict[str, Readable]:
        """Raises what `reader_rights` raises, and Unauthenticated, when rights were taken meanwhile."""
        question = ranked.found.question
        snapshot = await self._rows.recheck(
            question.opening.subject,
            question.opening.base,
            [hit.id for hit in ranked.hits[: question.reach.checked]],
            wants_metadata=bool(question.request.filters.metadata),
        )
        return {"readable": readable_passages(ranked, snapshot, self._rule)}


@component
class CitePassages:
    """Write each passage down with where it comes from."""

    @component.output_types(cited=Cited)
    def run(self, readable: Readable) -> dict[str, Cited]:
        return {"cited": cited(readable)}

    @component.output_types(cited=Cited)
    async def run_async(self, readable: Readable) -> dict[str, Cited]:
        return self.run(readable)


async def permit(gateway: Gateway, question: Question) -> PermittedEmbedding:
    """Whether the question may be embedded, at the base's level. Raises whatever refuses it."""
    opening = question.opening
    call = EmbeddingCall(
        caller=Caller.of(opening.subject),
        model=opening.base.embedding_model,
        inputs=[question.request.query],
        role=EmbeddingRole.QUERY,
        dimensions=opening.base.space.dimensions,
        operation=Operation.QUERY,
        level=opening.base.classification,
        base=opening.base.id,
        labels=question.labels,
    )
    return await gateway.permit(call, opening.facts)


def cited(readable: Readable) -> Cited:
    """The passages with where they come from."""
    return Cited(readable, cite(readable, _vector_weight(readable.question)))


def _vector_weight(question: Question) -> float | None:
    if not question.request.explain:
        return None
    match question.request.mode:
        case Mode.VECTOR:
            return 1.0
        case Mode.KEYWORD:
            return 0.0
        case Mode.HYBRID:
            return question.fusion.dense_weight
