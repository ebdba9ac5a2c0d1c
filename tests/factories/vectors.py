"""Points and searches for tests of the vector store."""

from uuid import UUID

import numpy as np

from eai.kernel.ids import DocumentId, PointId, VersionId
from eai.knowledge.ports import Point, Selector, SparseVector, Vector

MINE, THEIRS = "a" * 24, "b" * 24
GENERATION = Selector(MINE)
DOCUMENT_1, DOCUMENT_2 = DocumentId(UUID(int=101)), DocumentId(UUID(int=102))
VERSION_1, VERSION_2 = VersionId(UUID(int=201)), VersionId(UUID(int=202))


def dense(*values: float) -> Vector:
    return np.array(values, np.float32)


def sparse(weights: dict[int, float]) -> SparseVector:
    return SparseVector(np.array([*weights], np.uint32), np.array([*weights.values()], np.float32))


def identity(number: int) -> PointId:
    return PointId(UUID(int=number))


EAST, NORTH, NORTH_EAST, WEST = dense(1, 0, 0), dense(0, 1, 0), dense(2, 2, 0), dense(-3, 0, 0)


def point(
    number: int,
    vector: Vector = EAST,
    weights: dict[int, float] | None = None,
    *,
    rights: str = f"{MINE}:1",
    document: DocumentId = DOCUMENT_1,
    version: VersionId = VERSION_1,
) -> Point:
    """A point of the generation that `rights` names; its one term is 7 unless `weights` say otherwise."""
    return Point(
        id=identity(number),
        dense=vector,
        sparse=sparse({7: 1.0} if weights is None else weights),
        rights_key=rights,
        generation_key=rights.partition(":")[0],
        document=document,
        version=version,
    )
