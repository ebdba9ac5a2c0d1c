"""A passage as it is sent: its text, its scores, and exactly where it comes from."""

from typing import Any

from eai.knowledge.lexical import Language, analyse_document, analyse_query
from eai.retrieval.values import Passage, Readable


def cite(readable: Readable, vector_weight: float | None) -> tuple[dict[str, Any], ...]:
    """The results of an answer, in order. `vector_weight` is given when they are to be explained."""
    results = tuple([_result(passage) for passage in readable.passages])
    if vector_weight is not None:
        asked = frozenset(analyse_query(readable.question.request.query))
        for passage, result in zip(readable.passages, results, strict=True):
            result["explanation"] = _explanation(passage, asked, vector_weight)
    return results


def _result(passage: Passage) -> dict[str, Any]:
    hit, row = passage.hit, passage.row
    return {
        "chunk_id": row.chunk,
        "document_id": row.document,
        "title": row.title,
        "ordinal": row.ordinal,
        "content": row.content,
        "score": hit.score,
        "vector_score": hit.vector_score,
        "keyword_score": hit.keyword_score,
        "rerank_score": None,
        "classification": passage.level,
        "provenance": {
            "source_type": "rag",
            "source_id": row.document,
            "version": str(row.version),
            "classification": passage.level,
            "source_uri": row.source_uri,
            "source_uri_verified": row.source_uri_verified,
            "source_connector": row.source_connector,
        },
        "position": {"start": row.start, "end": row.end},
    }


def _explanation(passage: Passage, asked: frozenset[str], vector_weight: float) -> dict[str, Any]:
    """Only what the passage itself shows: never a rank, which would count what stands before it."""
    shared = asked & analyse_document(passage.row.content, Language(passage.row.language)).keys()
    return {
        "matched_stems": sorted({term.partition(":")[2] for term in shared}),
        "vector_weight": vector_weight,
    }
