"""The port's values as the embedded engine takes them. Its stubs do not know that it accepts numpy arrays."""

from typing import Any

import numpy as np
import qdrant_edge as q

from eai.integrations.qdrant.layout import DENSE, SPARSE
from eai.integrations.qdrant.payload import DOCUMENT, GENERATION, RIGHTS, VERSION, payload, stored_point
from eai.kernel.ids import PointId
from eai.knowledge.ports import Point, SearchFilter, Selector, SparseVector, StoredPoint, Vector


def stored(point: Point) -> q.Point:
    vectors: dict[str, Any] = {DENSE: point.dense, SPARSE: sparse(point.sparse)}
    return q.Point(point.id, vectors, payload(point))


def found(record: q.Record) -> StoredPoint:
    """A point as it was read back; vectors only where they were asked for."""
    vectors: Any = record.vector or {}
    identity: Any = record.id
    dense, terms = vectors.get(DENSE), vectors.get(SPARSE)
    return stored_point(
        identity,
        record.payload or {},
        None if dense is None else np.asarray(dense, np.float32),
        None if terms is None else _terms(terms),
    )


def _terms(terms: Any) -> SparseVector:
    return SparseVector(np.asarray(terms.indices, np.uint32), np.asarray(terms.values, np.float32))


def reweighted(identity: PointId, vector: SparseVector) -> q.PointVectors:
    return q.PointVectors(identity, {SPARSE: sparse(vector)})


def near_dense(vector: Vector) -> q.Query:
    array: Any = vector
    return q.Query.Nearest(array, using=DENSE)


def near_sparse(vector: SparseVector) -> q.Query:
    return q.Query.Nearest(sparse(vector), using=SPARSE)


def sparse(vector: SparseVector) -> q.SparseVector:
    indices: Any = vector.indices
    values: Any = vector.values
    return q.SparseVector(indices, values)


def scope(wanted: SearchFilter) -> q.Filter:
    """One keyword field, whatever the caller's rights: a second one costs two to five times as much."""
    if wanted.rights_keys is None:
        return q.Filter(must=[_is(GENERATION, wanted.generation_key)])
    return q.Filter(must=[q.FieldCondition(RIGHTS, match=q.MatchAny(list(wanted.rights_keys)))])


def selection(selector: Selector) -> q.Filter:
    must: list[Any] = [_is(GENERATION, selector.generation_key)]
    if selector.document is not None:
        must.append(_is(DOCUMENT, selector.document.hex))
    if selector.version is not None:
        must.append(_is(VERSION, selector.version.hex))
    if selector.ids is not None:
        must.append(q.HasIdCondition(set(selector.ids)))
    return q.Filter(must=must)


def _is(field: str, value: str) -> q.FieldCondition:
    return q.FieldCondition(field, match=q.MatchValue(value))
