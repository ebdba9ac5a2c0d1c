"""What the frames carry: the port's values as lists of plain values, vectors as little-endian bytes.

A request is `[id, expires_at, operation, space name, dimensions, *arguments]`, an answer
`[id, outcome, value]`; a request expires by the monotonic clock of the machine, which both ends share, so
that an engine that was frozen does nothing whose caller was told that it failed. Reading a value that has
another shape raises ValueError, TypeError or IndexError; whoever reads closes the connection.
"""

from collections.abc import Iterable, Sequence
from enum import IntEnum
from functools import lru_cache
from typing import Any
from uuid import UUID

import numpy as np

from eai.kernel.ids import DocumentId, PointId, VersionId
from eai.knowledge.ports import (
    Hit,
    Point,
    PointPage,
    SearchFilter,
    SearchHits,
    SearchRequest,
    Selector,
    SpaceId,
    SparseVector,
    StoredPoint,
)

_ID_BYTES = 16


@lru_cache(4_096)
def _uuid(name: bytes) -> UUID:
    """Those that many points of a page have in common: making one takes longer than all else of a point."""
    return UUID(bytes=name)


class Outcome(IntEnum):
    """How a request ended: done, refused as the caller's mistake, or failed."""

    DONE = 0
    REFUSED = 1
    FAILED = 2


def write_search(request: SearchRequest) -> list[Any]:
    return [
        request.filter.generation_key,
        request.filter.rights_keys,
        request.limit,
        None if request.dense is None else _floats(request.dense),
        None if request.sparse is None else _write_sparse(request.sparse),
    ]


def read_search(generation: str, rights: Any, limit: int, dense: Any, sparse: Any) -> SearchRequest:
    return SearchRequest(
        SearchFilter(generation, None if rights is None else tuple(rights)),
        limit,
        None if dense is None else np.frombuffer(dense, "<f4"),
        None if sparse is None else _read_sparse(sparse),
    )


def write_rankings(rankings: Sequence[Sequence[tuple[PointId, float]]]) -> list[Any]:
    return [[_write_ids([each for each, _ in leg]), [score for _, score in leg]] for leg in rankings]


def read_hits(rankings: Any) -> SearchHits:
    dense, sparse = (tuple(map(Hit, _read_ids(ids), scores)) for ids, scores in rankings)
    return SearchHits(dense, sparse)


def write_point(point: Point) -> list[Any]:
    return [
        point.id.bytes,
        _floats(point.dense),
        _write_sparse(point.sparse),
        point.rights_key,
        point.generation_key,
        point.document.bytes,
        point.version.bytes,
    ]


def read_points(points: Any) -> list[Point]:
    return [
        Point(
            id=PointId(UUID(bytes=identity)),
            dense=np.frombuffer(dense, "<f4"),
            sparse=_read_sparse(sparse),
            rights_key=rights,
            generation_key=generation,
            document=DocumentId(UUID(bytes=document)),
            version=VersionId(UUID(bytes=version)),
        )
        for identity, dense, sparse, rights, generation, document, version in points
    ]


def write_weights(weights: Iterable[tuple[PointId, SparseVector]]) -> list[Any]:
    return [[each.bytes, _write_sparse(vector)] for each, vector in weights]


def read_weights(weights: Any) -> dict[PointId, SparseVector]:
    return {PointId(UUID(bytes=identity)): _read_sparse(vector) for identity, vector in weights}


def write_selector(selector: Selector) -> list[Any]:
    return [
        selector.generation_key,
        None if selector.document is None else selector.document.bytes,
        None if selector.version is None else selector.version.bytes,
        None if selector.ids is None else _write_ids(selector.ids),
    ]


def read_selector(selector: Any) -> Selector:
    generation, document, version, ids = selector
    return Selector(
        generation,
        None if document is None else DocumentId(UUID(bytes=document)),
        None if version is None else VersionId(UUID(bytes=version)),
        None if ids is None else tuple(_read_ids(ids)),
    )


def write_page(points: Sequence[StoredPoint], following: str | None) -> list[Any]:
    return [
        [
            [
                point.id.bytes,
                point.rights_key,
                point.generation_key,
                None if point.document is None else point.document.bytes,
                None if point.version is None else point.version.bytes,
                None if point.dense is None else _floats(point.dense),
                None if point.sparse is None else _write_sparse(point.sparse),
            ]
            for point in points
        ],
        following,
    ]


def read_page(page: Any) -> PointPage:
    points, following = page
    return PointPage(tuple(_stored(*point) for point in points), following)


def read_spaces(spaces: Any) -> list[SpaceId]:
    return [SpaceId(name, dimensions) for name, dimensions in spaces]


def _stored(  # noqa: PLR0917 - in the order of the frame
    identity: bytes, rights: str, generation: str, document: Any, version: Any, dense: Any, sparse: Any
) -> StoredPoint:
    return StoredPoint(
        PointId(UUID(bytes=identity)),
        rights,
        generation,
        None if document is None else DocumentId(_uuid(document)),
        None if version is None else VersionId(_uuid(version)),
        None if dense is None else np.frombuffer(dense, "<f4"),
        None if sparse is None else _read_sparse(sparse),
    )


def _write_ids(ids: Sequence[PointId]) -> bytes:
    return b"".join([each.bytes for each in ids])


def _read_ids(ids: bytes) -> list[PointId]:
    return [PointId(UUID(bytes=ids[at : at + _ID_BYTES])) for at in range(0, len(ids), _ID_BYTES)]


def _floats(vector: Any) -> bytes:
    return np.asarray(vector, "<f4").tobytes()


def _write_sparse(vector: SparseVector) -> list[bytes]:
    return [np.asarray(vector.indices, "<u4").tobytes(), _floats(vector.values)]


def _read_sparse(vector: Any) -> SparseVector:
    indices, weights = vector
    return SparseVector(np.frombuffer(indices, "<u4"), np.frombuffer(weights, "<f4"))
