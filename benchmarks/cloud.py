"""A made-up base of points that behaves like text: topics in space, and words of which few are common."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from eai.kernel.ids import DocumentId, PointId, VersionId
from eai.knowledge.ports import Point, SparseVector, Vector

DIMENSIONS = 256
TOPICS = 400
VOCABULARY = 30_000
_DRAWS = 90
_QUERY_TERMS = 6
_SPREAD = 0.9
_PER_DOCUMENT = 20


@dataclass(frozen=True)
class Query:
    """A question as both legs see it."""

    dense: Vector
    sparse: SparseVector


class Cloud:
    """`size` points in topics, and questions from anywhere among them. Seeded: always the same."""

    def __init__(self, size: int, seed: int = 7) -> None:
        self._draw = np.random.default_rng(seed)
        self.size = size
        self.topics = np.sort(self._draw.integers(0, TOPICS, size))
        self._centres = _unit(self._draw.standard_normal((TOPICS, DIMENSIONS)).astype(np.float32))
        self.vectors = self._near(self.topics)
        popularity = 1 / np.arange(8, VOCABULARY + 8)
        self._popularity = popularity / popularity.sum()
        self.sparse = self._texts()

    def points(self, rights_keys: Sequence[str], generation_key: str) -> list[Point]:
        """Every point, with the rights key of the same position."""
        return [
            Point(
                id=identity(row),
                dense=self.vectors[row],
                sparse=self.sparse[row],
                rights_key=rights_keys[row],
                generation_key=generation_key,
                document=DocumentId(UUID(int=2**64 + row // _PER_DOCUMENT)),
                version=VersionId(UUID(int=2**65 + row // _PER_DOCUMENT)),
            )
            for row in range(self.size)
        ]

    def queries(self, count: int) -> list[Query]:
        """Questions near random points, with words of theirs."""
        chosen = self._draw.integers(0, self.size, count)
        dense = self._near(self.topics[chosen])
        return [Query(dense[i], self._asked(self.sparse[row])) for i, row in enumerate(chosen)]

    def _near(self, topics: NDArray[np.int64]) -> Vector:
        noise = self._draw.standard_normal((len(topics), DIMENSIONS)).astype(np.float32)
        return _unit(self._centres[topics] + noise * np.float32(_SPREAD / np.sqrt(DIMENSIONS)))

    def _texts(self) -> list[SparseVector]:
        texts = []
        for start in range(0, self.size, 10_000):
            count = min(10_000, self.size - start)
            draws = self._draw.choice(VOCABULARY, (count, _DRAWS), p=self._popularity).astype(np.uint32)
            for row in draws:
                numbers, counts = np.unique(row, return_counts=True)
                texts.append(SparseVector(numbers, (counts * 1.9 / (counts + 0.9)).astype(np.float32)))
        return texts

    def _asked(self, text: SparseVector) -> SparseVector:
        terms = np.sort(self._draw.choice(text.indices, _QUERY_TERMS, replace=False))
        rarity = -np.log(self._popularity[terms] * _DRAWS).astype(np.float32)
        return SparseVector(terms, np.maximum(rarity, np.float32(0.1)))


def identity(row: int) -> PointId:
    """The id of the point at `row`."""
    return PointId(UUID(int=row))


def _unit(vectors: Vector) -> Vector:
    unit: Vector = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit
