"""Exact search, in numpy: what an engine's answers are compared with."""

from collections.abc import Sequence

import numpy as np

from benchmarks.cloud import Cloud, Query
from eai.knowledge.ports import SparseVector, Vector

CUT = 10


class Postings:
    """Every text's weights by term; texts are known by their position."""

    def __init__(self, weights: Sequence[SparseVector]) -> None:
        self._size = len(weights)
        rows = np.repeat(np.arange(len(weights)), [len(vector.indices) for vector in weights])
        terms = np.concatenate([vector.indices for vector in weights])
        values = np.concatenate([vector.values for vector in weights])
        order = np.argsort(terms, kind="stable")
        numbers, starts = np.unique(terms[order], return_index=True)
        lists = zip(np.split(rows[order], starts[1:]), np.split(values[order], starts[1:]), strict=True)
        self._lists = dict(zip(numbers.tolist(), lists, strict=True))

    def scores(self, asked: SparseVector) -> Vector:
        """The dot product of `asked` with every text."""
        scores = np.zeros(self._size, dtype=np.float32)
        for number, weight in zip(asked.indices.tolist(), asked.values, strict=True):
            if number in self._lists:
                rows, values = self._lists[number]
                scores[rows] += weight * values
        return scores


class Truth:
    """The scores of every point of a cloud."""

    def __init__(self, cloud: Cloud) -> None:
        self._cloud = cloud
        self._postings = Postings(cloud.sparse)

    def scores(self, query: Query) -> tuple[Vector, Vector]:
        """By either leg."""
        return self._cloud.vectors @ query.dense, self._postings.scores(query.sparse)


def share_found(rows: Sequence[int], scores: Vector, permitted: slice, above: float = -2.0) -> float:
    """The share of the ten best permitted points that were found; one as good as the tenth counts too."""
    best = np.sort(scores[permitted])[::-1][:CUT]
    best = best[best > above]
    if len(best) == 0:
        return 1.0
    least = best[-1] - 1e-5
    good = [r for r in rows[: len(best)] if permitted.start <= r < permitted.stop and scores[r] >= least]
    return len(good) / len(best)
