"""A vector store in a dictionary, held to the same contract as the engines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from eai.kernel.ids import PointId
from eai.knowledge.ports import (
    Hit,
    Point,
    PointPage,
    SearchHits,
    SearchRequest,
    Selector,
    SpaceId,
    SparseVector,
    StoredPoint,
    Vector,
    VectorStoreUnavailable,
)


@dataclass(frozen=True, slots=True)
class _Space:
    dimensions: int
    points: dict[PointId, Point] = field(default_factory=dict)


class MemoryVectors:
    """Every call is done when it is called: nothing happens in its middle."""

    def __init__(self) -> None:
        self._spaces: dict[str, _Space] = {}
        self._owner: str | None = None

    def points(self, space: str) -> Mapping[PointId, Point]:
        """What is in a space, as it was written."""
        return self._spaces[space].points if space in self._spaces else {}

    def names(self) -> Sequence[str]:
        """The spaces that were made."""
        return sorted(self._spaces)

    def put(self, space: SpaceId, points: Sequence[Point]) -> None:
        """What a store that is begun with has in a space."""
        self._spaces[space.name] = _Space(space.dimensions, {point.id: point for point in points})

    async def ensure_space(self, space: SpaceId) -> None:
        made = self._spaces.setdefault(space.name, _Space(space.dimensions))
        if made.dimensions != space.dimensions:
            raise ValueError(f"{space.name} has {made.dimensions} dimensions, not {space.dimensions}")

    async def upsert(self, space: SpaceId, points: Sequence[Point]) -> None:
        into = self._existing(space)
        for point in points:
            _check(point.dense, into.dimensions)
            _check(point.sparse.values)
        into.points.update({point.id: point for point in points})

    async def search(self, space: SpaceId, request: SearchRequest) -> SearchHits:
        there, dense, sparse = self._existing(space), request.dense, request.sparse
        if dense is not None:
            _check(dense, there.dimensions)
        found = [point for point in there.points.values() if _is_in_scope(point, request)]
        by_vector = [] if dense is None else [Hit(p.id, _cosine(p.dense, dense)) for p in found]
        by_term = [] if sparse is None else [Hit(p.id, s) for p in found if (s := _product(p.sparse, sparse))]
        return SearchHits(_best(by_vector, request.limit), _best(by_term, request.limit))

    async def set_rights(self, space: SpaceId, selector: Selector, rights_key: str) -> None:
        for point in self._selected(space, selector):
            self._spaces[space.name].points[point.id] = replace(point, rights_key=rights_key)

    async def set_sparse(self, space: SpaceId, weights: Mapping[PointId, SparseVector]) -> None:
        known = self.points(space.name)
        for id_ in weights.keys() & known.keys():
            self._spaces[space.name].points[id_] = replace(known[id_], sparse=weights[id_])

    async def delete(self, space: SpaceId, selector: Selector) -> None:
        for point in self._selected(space, selector):
            del self._spaces[space.name].points[point.id]

    async def count(self, space: SpaceId, selector: Selector) -> int:
        return len(self._selected(space, selector))

    async def spaces(self) -> Sequence[SpaceId]:
        return [SpaceId(name, self._spaces[name].dimensions) for name in sorted(self._spaces)]

    async def generations(self, space: SpaceId) -> Mapping[str, int]:
        keys = [point.generation_key for point in self.points(space.name).values()]
        return {key: keys.count(key) for key in keys}

    async def scan(
        self,
        space: SpaceId,
        selector: Selector,
        *,
        begin: str | None = None,
        limit: int = 512,
        with_vectors: bool = False,
    ) -> PointPage:
        found = sorted(self._selected(space, selector), key=lambda point: str(point.id))
        rest = [point for point in found if begin is None or str(point.id) >= begin]
        following = str(rest[limit].id) if len(rest) > limit else None
        return PointPage(tuple(_stored(p, with_vectors=with_vectors) for p in rest[:limit]), following)

    async def owner(self) -> str | None:
        return self._owner

    async def take(self, owner: str) -> None:
        self._owner = owner

    async def check(self) -> None:
        """It is always there."""

    async def close(self) -> None:
        """There is nothing to close."""

    def _existing(self, space: SpaceId) -> _Space:
        if space.name not in self._spaces:
            raise VectorStoreUnavailable
        return self._spaces[space.name]

    def _selected(self, space: SpaceId, selector: Selector) -> list[Point]:
        return [
            point
            for point in self.points(space.name).values()
            if point.generation_key == selector.generation_key
            and selector.document in {None, point.document}
            and selector.version in {None, point.version}
            and (selector.ids is None or point.id in selector.ids)
        ]


def _is_in_scope(point: Point, request: SearchRequest) -> bool:
    keys = request.filter.rights_keys
    return point.generation_key == request.filter.generation_key and (
        keys is None or point.rights_key in keys
    )


def _best(hits: list[Hit], limit: int) -> tuple[Hit, ...]:
    return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.id))[:limit])


def _cosine(one: Vector, other: Vector) -> float:
    return float(np.dot(one, other) / (np.linalg.norm(one) * np.linalg.norm(other)))


def _product(one: SparseVector, other: SparseVector) -> float:
    weights = dict(zip(one.indices.tolist(), one.values.tolist(), strict=True))
    terms = zip(other.indices.tolist(), other.values.tolist(), strict=True)
    return float(sum(weights.get(index, 0.0) * value for index, value in terms))


def _check(values: Vector, size: int | None = None) -> None:
    if (size is not None and len(values) != size) or not np.isfinite(values).all():
        raise ValueError("a vector does not fit its space")


def _stored(point: Point, *, with_vectors: bool) -> StoredPoint:
    stored = StoredPoint(point.id, point.rights_key, point.generation_key, point.document, point.version)
    if not with_vectors:
        return stored
    length = np.linalg.norm(point.dense)
    return replace(stored, dense=(point.dense / length).astype(np.float32), sparse=point.sparse)
