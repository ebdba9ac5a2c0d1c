"""The port's values as a Qdrant server and Haystack's store on it take them."""

from uuid import UUID

import numpy as np
from haystack.dataclasses import Document, SparseEmbedding
from haystack_integrations.document_stores.qdrant.converters import (
    DENSE_VECTORS_NAME,
    SPARSE_VECTORS_NAME,
    convert_id,
)
from qdrant_client import models

from eai.integrations.qdrant.payload import DOCUMENT, GENERATION, RIGHTS, VERSION, payload, stored_point
from eai.kernel.ids import PointId
from eai.knowledge.ports import (
    Point,
    SearchFilter,
    SearchRequest,
    Selector,
    SparseVector,
    StoredPoint,
    Vector,
)

META = "meta"
SEARCH = models.SearchParams(hnsw_ef=128, acorn=models.AcornSearchParams(enable=True))
"""A wide search of the graph, and ACORN where the filter leaves too little of it to walk on."""


def document(point: Point) -> Document:
    return Document(
        id=str(point.id),
        embedding=_numbers(point.dense),
        sparse_embedding=SparseEmbedding(point.sparse.indices.tolist(), point.sparse.values.tolist()),
        meta=payload(point),
    )


def stored_id(identity: PointId) -> str:
    """The id of the point in the collection: the store hashes the document's id, which is ours."""
    return convert_id(str(identity))


def own_id(point: models.ScoredPoint) -> PointId:
    assert point.payload is not None
    return PointId(UUID(point.payload["id"]))


def found(record: models.Record) -> StoredPoint:
    """A point as it was read back; one that lost its own id keeps the one it is stored under."""
    carried = record.payload or {}
    vectors = record.vector if isinstance(record.vector, dict) else {}
    dense, terms = vectors.get(DENSE_VECTORS_NAME), vectors.get(SPARSE_VECTORS_NAME)
    return stored_point(
        PointId(UUID(carried.get("id", str(record.id)))),
        carried.get(META) or {},
        None if dense is None else np.asarray(dense, np.float32),
        _terms(terms) if isinstance(terms, models.SparseVector) else None,
    )


def _terms(terms: models.SparseVector) -> SparseVector:
    return SparseVector(np.asarray(terms.indices, np.uint32), np.asarray(terms.values, np.float32))


def dimensions_of(state: models.CollectionInfo) -> int | None:
    """How long the vectors of a collection are; None of one that somebody else made."""
    vectors = state.config.params.vectors
    if not isinstance(vectors, dict) or DENSE_VECTORS_NAME not in vectors:
        return None
    return vectors[DENSE_VECTORS_NAME].size


def queries(request: SearchRequest, limit: int) -> list[models.QueryRequest]:
    filtered = scope(request.filter)
    legs = []
    if request.dense is not None:
        legs.append(
            models.QueryRequest(
                query=_numbers(request.dense),
                using=DENSE_VECTORS_NAME,
                filter=filtered,
                limit=limit,
                params=SEARCH,
                with_payload=["id"],
            )
        )
    if request.sparse is not None:
        legs.append(
            models.QueryRequest(
                query=sparse(request.sparse),
                using=SPARSE_VECTORS_NAME,
                filter=filtered,
                limit=limit,
                with_payload=["id"],
            )
        )
    return legs


def reweighted(stored: str, vector: SparseVector) -> models.PointVectors:
    return models.PointVectors(id=stored, vector={SPARSE_VECTORS_NAME: sparse(vector)})


def sparse(vector: SparseVector) -> models.SparseVector:
    return models.SparseVector(indices=vector.indices.tolist(), values=vector.values.tolist())


def scope(wanted: SearchFilter) -> models.Filter:
    """One keyword field: a filter over two was published at 40 % recall."""
    if wanted.rights_keys is None:
        return models.Filter(must=[_is(GENERATION, wanted.generation_key)])
    permitted = models.MatchAny(any=list(wanted.rights_keys))
    return models.Filter(must=[models.FieldCondition(key=f"{META}.{RIGHTS}", match=permitted)])


def selection(selector: Selector) -> models.Filter:
    must: list[models.Condition] = [_is(GENERATION, selector.generation_key)]
    if selector.document is not None:
        must.append(_is(DOCUMENT, selector.document.hex))
    if selector.version is not None:
        must.append(_is(VERSION, selector.version.hex))
    if selector.ids is not None:
        must.append(models.HasIdCondition(has_id=[stored_id(each) for each in selector.ids]))
    return models.Filter(must=must)


def _is(field: str, value: str) -> models.FieldCondition:
    return models.FieldCondition(key=f"{META}.{field}", match=models.MatchValue(value=value))


def _numbers(vector: Vector) -> list[float]:
    numbers: list[float] = vector.tolist()
    return numbers
