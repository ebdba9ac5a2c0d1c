from typing import Any

import numpy as np
import ormsgpack
from hypothesis import given
from hypothesis import strategies as st

from eai.integrations.qdrant import wire
from eai.kernel.ids import DocumentId, PointId, VersionId
from eai.knowledge.ports import Hit, Point, SearchFilter, SearchHits, SearchRequest, Selector, SparseVector

floats = st.lists(st.floats(width=32, allow_nan=False), max_size=8).map(lambda v: np.array(v, np.float32))
keys = st.text(max_size=30)
uuids = st.uuids()
sparse = st.dictionaries(st.integers(0, 2**32 - 1), st.floats(width=32, allow_nan=False), max_size=8).map(
    lambda weights: SparseVector(np.array([*weights], np.uint32), np.array([*weights.values()], np.float32))
)


def sent(value: Any) -> Any:
    return ormsgpack.unpackb(ormsgpack.packb(value))


def same_sparse(left: SparseVector, right: SparseVector) -> bool:
    return np.array_equal(left.indices, right.indices) and np.array_equal(left.values, right.values)


@given(
    st.builds(
        Point,
        id=uuids.map(PointId),
        dense=floats,
        sparse=sparse,
        rights_key=keys,
        generation_key=keys,
        document=uuids.map(DocumentId),
        version=uuids.map(VersionId),
    )
)
def test_points_arrive_as_they_were(point: Point) -> None:
    (arrived,) = wire.read_points(sent([wire.write_point(point)]))
    assert (arrived.id, arrived.document, arrived.version) == (point.id, point.document, point.version)
    assert (arrived.rights_key, arrived.generation_key) == (point.rights_key, point.generation_key)
    assert np.array_equal(arrived.dense, point.dense)
    assert same_sparse(arrived.sparse, point.sparse)


@given(
    st.builds(
        Selector,
        generation_key=keys,
        document=st.none() | uuids.map(DocumentId),
        version=st.none() | uuids.map(VersionId),
        ids=st.none() | st.lists(uuids.map(PointId)).map(tuple),
    )
)
def test_selectors_arrive_as_they_were(selector: Selector) -> None:
    assert wire.read_selector(sent(wire.write_selector(selector))) == selector


@given(keys, st.none() | st.lists(keys).map(tuple), st.integers(1, 1000), st.none() | floats)
def test_searches_arrive_as_they_were(generation: str, rights, limit: int, dense) -> None:
    request = SearchRequest(SearchFilter(generation, rights), limit, dense=dense)
    arrived = wire.read_search(*sent(wire.write_search(request)))
    assert (arrived.filter, arrived.limit, arrived.sparse) == (request.filter, limit, None)
    assert (arrived.dense is None) == (dense is None)
    assert dense is None or np.array_equal(arrived.dense, dense)


def test_no_rights_keys_stay_distinct_from_all_of_them() -> None:
    nothing = SearchRequest(SearchFilter("g", ()), 1)
    everything = SearchRequest(SearchFilter("g", None), 1)
    assert wire.read_search(*sent(wire.write_search(nothing))).filter.rights_keys == ()
    assert wire.read_search(*sent(wire.write_search(everything))).filter.rights_keys is None


@given(st.lists(st.tuples(uuids.map(PointId), st.floats(allow_nan=False))))
def test_rankings_arrive_as_hits(ranking: list[tuple[PointId, float]]) -> None:
    hits = wire.read_hits(sent(wire.write_rankings(([], ranking))))
    assert hits == SearchHits((), tuple(Hit(identity, score) for identity, score in ranking))


def test_vectors_travel_as_little_endian_bytes() -> None:
    request = SearchRequest(SearchFilter("g", None), 1, dense=np.array([1.0, -2.0], ">f4"))
    assert wire.write_search(request)[3] == b"\x00\x00\x80\x3f\x00\x00\x00\xc0"
