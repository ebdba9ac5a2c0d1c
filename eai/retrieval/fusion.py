"""Scores of 0 to 1, and one list out of the two legs. Pure.

A chunk's score comes from its own raw scores, the question and the model's rule, and from nothing
else: no ranks, no minimum or maximum over the list. So it says nothing about chunks beside it, which
the caller may not be allowed to see, and `min_score` means the same for every question. Measured
against reciprocal ranks and list-wise scaling, it was also the better ranking
(`benchmarks/retrieval_quality.py`).
"""

from collections.abc import Sequence
from typing import NamedTuple

from eai.gateway.ports import FusionRule
from eai.kernel.ids import PointId
from eai.knowledge.ports import Hit

HALF_MATCH = 0.5
"""A passage that reaches this part of what a question can attain has a keyword score of one half."""


class ScoredHit(NamedTuple):
    """A chunk with its scores, each 0 to 1; `None` for a leg that did not return it."""

    id: PointId
    score: float
    vector_score: float | None
    keyword_score: float | None


def vector_score(cosine: float) -> float:
    """`(1 + cosine) / 2`."""
    return _clipped((1.0 + cosine) / 2.0)


def keyword_score(raw: float, attainable: float) -> float:
    """`s / (s + k)` with k half of what the question can attain: 0.67 where all of it matches once."""
    return raw / (raw + HALF_MATCH * attainable) if raw > 0.0 else 0.0


def by_vector(dense: Sequence[Hit]) -> tuple[ScoredHit, ...]:
    """The dense leg alone, best first, ties by id."""
    scored = ((hit.id, vector_score(hit.score)) for hit in dense)
    return _ranked([ScoredHit(id_, score, score, None) for id_, score in scored])


def by_keyword(sparse: Sequence[Hit], attainable: float) -> tuple[ScoredHit, ...]:
    """The keyword leg alone, best first, ties by id."""
    scored = ((hit.id, keyword_score(hit.score, attainable)) for hit in sparse)
    return _ranked([ScoredHit(id_, score, None, score) for id_, score in scored])


def fuse(
    dense: Sequence[Hit], sparse: Sequence[Hit], rule: FusionRule, attainable: float
) -> tuple[ScoredHit, ...]:
    """Both legs in one list, best first, ties by id.

    `score = w * likeness + (1 - w) * keyword_score`, where likeness is the cosine above the model's
    floor. A leg that did not return a chunk adds nothing: it would have added little.
    """
    weight, floor = rule.dense_weight, rule.dense_floor
    found = {hit.id: hit.score for hit in sparse}
    fused = []
    for hit in dense:
        likeness = _clipped((hit.score - floor) / (1.0 - floor))
        raw = found.pop(hit.id, None)
        keywords = None if raw is None else keyword_score(raw, attainable)
        score = weight * likeness + (1.0 - weight) * (keywords or 0.0)
        fused.append(ScoredHit(hit.id, score, vector_score(hit.score), keywords))
    for id_, raw in found.items():
        keywords = keyword_score(raw, attainable)
        fused.append(ScoredHit(id_, (1.0 - weight) * keywords, None, keywords))
    return _ranked(fused)


def _clipped(value: float) -> float:
    # Rounding in an engine gives cosines a little above 1. `min(max())` takes four times as long.
    return 0.0 if value < 0.0 else 1.0 if value > 1.0 else value  # noqa: FURB136


def _ranked(hits: list[ScoredHit]) -> tuple[ScoredHit, ...]:
    return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.id)))
