"""An exact index of sparse vectors, in numpy: what a keyword leg's answer is compared with."""

from collections.abc import Sequence

import numpy as np

from eai.knowledge.ports import SparseVector, Vector


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
