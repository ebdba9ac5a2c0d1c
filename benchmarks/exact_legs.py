"""The two legs of a search over an evaluation set, exact, and Haystack's BM25 as a peer."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from haystack import Document
from haystack.document_stores.in_memory import InMemoryDocumentStore

from benchmarks.evaluation_sets import DEPTH, EvaluationSet, Quality, quality
from benchmarks.exact_search import Postings
from eai.gateway.ports import Embedder, EmbeddingRole
from eai.kernel.ids import PointId
from eai.knowledge.lexical import (
    analyse_document,
    analyse_query,
    detect_language,
    document_weights,
    query_weights,
)
from eai.knowledge.ports import Hit, Vector

_BATCH = 64


@dataclass(frozen=True)
class KeywordLeg:
    """What the keyword leg found for each question, and the scale of its scores."""

    hits: Sequence[Sequence[Hit]]
    attainable: Sequence[float]


def keyword_leg(evaluation: EvaluationSet, counted: Callable[[int], bool] = lambda _: True) -> KeywordLeg:
    """Search with the product's own terms and weights; statistics over the `counted` passages only."""
    languages = [detect_language(passage) for passage in evaluation.passages]
    analysed = [
        analyse_document(passage, language)
        for passage, language in zip(evaluation.passages, languages, strict=True)
    ]
    average = sum(terms.total() for terms in analysed) / len(analysed)
    index = Postings([document_weights(terms, average) for terms in analysed])
    shared = [row for row in range(len(analysed)) if counted(row)]
    frequency = Counter(term for row in shared for term in analysed[row])
    chunks = Counter(languages[row].value for row in shared)
    asked = [query_weights(analyse_query(question), frequency, chunks) for question in evaluation.questions]
    return KeywordLeg(
        hits=[_best(index.scores(weights.vector), above=0.0) for weights in asked],
        attainable=[weights.attainable for weights in asked],
    )


async def dense_leg(evaluation: EvaluationSet, embedder: Embedder) -> Sequence[Sequence[Hit]]:
    """Search with the model's vectors, exactly."""
    passages = await _embedded(embedder, evaluation.passages, EmbeddingRole.DOCUMENT)
    questions = await _embedded(embedder, evaluation.questions, EmbeddingRole.QUERY)
    return [_best(passages @ question) for question in questions]


def haystack_bm25(evaluation: EvaluationSet) -> Quality:
    """The peer: Haystack's in-memory BM25 with its defaults."""
    store = InMemoryDocumentStore()
    store.write_documents([Document(id=str(i), content=text) for i, text in enumerate(evaluation.passages)])
    return quality(
        evaluation,
        [
            [int(found.id) for found in store.bm25_retrieval(question, top_k=DEPTH)]
            for question in evaluation.questions
        ],
    )


async def _embedded(embedder: Embedder, texts: Sequence[str], role: EmbeddingRole) -> Vector:
    starts = range(0, len(texts), _BATCH)
    answers = [await embedder.embed(texts[start : start + _BATCH], role) for start in starts]
    return np.concatenate([answer.vectors for answer in answers])


def _best(scores: Vector, above: float = -2.0) -> list[Hit]:
    order = np.argsort(-scores, kind="stable")[:DEPTH]
    return [Hit(_point(row), float(scores[row])) for row in order.tolist() if scores[row] > above]


def _point(row: int) -> PointId:
    return PointId(UUID(int=row))


def ranking(hits: Sequence[Hit]) -> list[int]:
    return [hit.id.int for hit in hits]
