"""What no index may be given: the caller's mistakes, refused alike by both adapters.

They are ValueErrors and not outages: trying again would not help.
"""

from collections.abc import Iterable

import numpy as np

from eai.knowledge.ports import Point, SearchRequest, SparseVector, Vector


def check_points(points: Iterable[Point], dimensions: int) -> None:
    """Refuse a vector of another size, and numbers that would poison every comparison."""
    for point in points:
        check_dense(point.dense, dimensions)
        check_sparse(point.sparse)


def check_search(request: SearchRequest, dimensions: int) -> None:
    """Refuse a query that does not fit, so that it cannot spoil a batch it would ride in."""
    if request.dense is not None:
        check_dense(request.dense, dimensions)
    if request.sparse is not None:
        check_sparse(request.sparse)


def check_dense(vector: Vector, dimensions: int) -> None:
    if vector.shape != (dimensions,):
        raise ValueError(f"a vector of shape {vector.shape} in a space of {dimensions} dimensions")
    if not np.isfinite(vector).all():
        raise ValueError("a vector with a value that is not finite")


def check_sparse(vector: SparseVector) -> None:
    if vector.indices.shape != vector.values.shape or vector.indices.ndim != 1:
        raise ValueError("a sparse vector needs one value for each index")
    if not np.isfinite(vector.values).all():
        raise ValueError("a sparse vector with a weight that is not finite")
