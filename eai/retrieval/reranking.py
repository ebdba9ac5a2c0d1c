"""Puts cited passages in a model's order. It never makes an answer wrong: where it fails, the order stays.

The model may take its time, so who may read what is looked up again before its order is used.
"""

from dataclasses import dataclass, replace

from eai.access.classification import highest
from eai.access.visibility import may_read
from eai.audit.errors import AuditUnavailable
from eai.gateway.calls import Caller, Operation, Ranking, RerankCall
from eai.gateway.errors import ModelNotFound
from eai.gateway.service import Gateway
from eai.kernel.errors import BadGateway, EaiError, Unavailable
from eai.retrieval.recheck import Rule, readable_passages
from eai.retrieval.repository import QueryRows
from eai.retrieval.schemas import Shortcoming
from eai.retrieval.values import Cited, Ranked, Readable


@dataclass(frozen=True, slots=True)
class Ordered:
    """At most `top_k` passages; `shortcoming` says why their order is the search's own."""

    cited: Cited
    shortcomings: tuple[Shortcoming, ...] = ()
    is_reranked: bool = False


class Reranking:
    """One per process. `default_model` serves questions that name none."""

    def __init__(
        self, gateway: Gateway, rows: QueryRows, default_model: str | None, rule: Rule = may_read
    ) -> None:
        self._gateway = gateway
        self._rows = rows
        self._default_model = default_model
        self._rule = rule

    async def reorder(self, cited: Cited) -> Ordered:
        """The best `top_k` of `cited`, by the model's judgement where it can be had.

        Raises Unauthenticated, NotFound and PermissionMissing when the caller's rights were taken meanwhile,
        and AuditUnavailable; nothing else.
        """
        question = cited.readable.question
        model = question.request.rerank_model or self._default_model
        if model is None:
            return Ordered(_cut(cited), (Shortcoming.RERANKER_NOT_CONFIGURED,))
        if not cited.results:
            return Ordered(cited)
        try:
            ranking = await self._gateway.rerank(_call(cited, model))
        except AuditUnavailable:
            # What the model was asked is not on record, so nothing may be answered.
            raise
        except EaiError as error:
            return Ordered(_cut(cited), (_shortcoming(error),))
        question.trail.append(ranking.evidence)
        kept = await self._still_readable(_in_order(cited, ranking))
        return Ordered(_cut(kept), is_reranked=True)

    async def _still_readable(self, cited: Cited) -> Cited:
        readable = cited.readable
        question = readable.question
        snapshot = await self._rows.recheck(
            question.opening.subject,
            question.opening.base,
            [passage.hit.id for passage in readable.passages],
            wants_metadata=bool(question.request.filters.metadata),
        )
        hits = tuple(passage.hit for passage in readable.passages)
        ranked = Ranked(readable.found, hits)
        kept = {
            passage.hit.id for passage in readable_passages(ranked, snapshot, self._rule, len(hits)).passages
        }
        return _chosen(cited, [n for n, hit in enumerate(hits) if hit.id in kept])


def _call(cited: Cited, model: str) -> RerankCall:
    question = cited.readable.question
    opening = question.opening
    return RerankCall(
        caller=Caller.of(opening.subject),
        model=model,
        operation=Operation.QUERY,
        level=highest(opening.base.classification, *(passage.level for passage in cited.readable.passages)),
        base=opening.base.id,
        labels=question.labels,
        query=question.request.query,
        documents=[passage.row.content for passage in cited.readable.passages],
    )


def _shortcoming(error: EaiError) -> Shortcoming:
    match error:
        case ModelNotFound():
            return Shortcoming.RERANKER_NOT_CONFIGURED
        case Unavailable() | BadGateway():
            return Shortcoming.RERANKER_UNAVAILABLE
        case _:
            return Shortcoming.RERANK_REFUSED


def _in_order(cited: Cited, ranking: Ranking) -> Cited:
    """What the model ranked, best first; then what it left out, as it was."""
    ranked = [index for index, _ in ranking.ranked]
    left_out = [index for index in range(len(cited.results)) if index not in set(ranked)]
    for index, score in ranking.ranked:
        cited.results[index]["rerank_score"] = score
    return _chosen(cited, [*ranked, *left_out])


def _cut(cited: Cited) -> Cited:
    return _chosen(cited, range(min(len(cited.results), cited.readable.question.request.top_k)))


def _chosen(cited: Cited, places: "list[int] | range") -> Cited:
    passages = tuple(cited.readable.passages[place] for place in places)
    results = tuple(cited.results[place] for place in places)
    readable: Readable = replace(cited.readable, passages=passages)
    return Cited(readable, results)
