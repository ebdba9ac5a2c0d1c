"""Ways to join two result lists that the product could have used, for comparison with the one it uses."""

from collections.abc import Callable, Sequence
from statistics import fmean, pstdev

from eai.kernel.ids import PointId
from eai.knowledge.ports import Hit

Fusion = Callable[[Sequence[Hit], Sequence[Hit]], list[PointId]]
_RANK_CONSTANT = 60


def reciprocal_ranks(weight: float) -> Fusion:
    """Reciprocal rank fusion; `weight` is the dense leg's share (0.5 is the usual RRF)."""
    return _weighted(weight, lambda hits: [1 / (_RANK_CONSTANT + rank) for rank in range(1, len(hits) + 1)])


def distribution_based(weight: float) -> Fusion:
    """Each list scaled so that its mean ± 3 standard deviations become 0 to 1."""
    return _weighted(weight, _within_three_deviations)


def smallest_to_largest(weight: float) -> Fusion:
    """Each list scaled so that its smallest and largest scores become 0 and 1."""
    return _weighted(weight, _between_extremes)


def _weighted(weight: float, scaled: Callable[[Sequence[Hit]], list[float]]) -> Fusion:
    def fuse(dense: Sequence[Hit], sparse: Sequence[Hit]) -> list[PointId]:
        scores: dict[PointId, float] = {}
        for share, hits in ((weight, dense), (1 - weight, sparse)):
            for hit, score in zip(hits, scaled(hits), strict=True):
                scores[hit.id] = scores.get(hit.id, 0.0) + share * score
        return sorted(scores, key=lambda id_: (-scores[id_], id_))

    return fuse


def _within_three_deviations(hits: Sequence[Hit]) -> list[float]:
    if not hits:
        return []
    scores = [hit.score for hit in hits]
    mean, deviation = fmean(scores), pstdev(scores) or 1.0
    return [min(max((score - mean) / (6 * deviation) + 0.5, 0.0), 1.0) for score in scores]


def _between_extremes(hits: Sequence[Hit]) -> list[float]:
    if not hits:
        return []
    highest, lowest = hits[0].score, hits[-1].score
    return [(hit.score - lowest) / ((highest - lowest) or 1.0) for hit in hits]
