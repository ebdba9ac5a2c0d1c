"""What knowledge needs from outside: an index of vectors that is a projection of its rows, and models."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from eai.access.classification import Classification
from eai.access.subject import Subject
from eai.kernel.errors import Unavailable
from eai.kernel.ids import DocumentId, PointId, TenantId, VersionId

if TYPE_CHECKING:
    # The engine process imports this module, and SQLAlchemy would take it a quarter of a second.
    from sqlalchemy.ext.asyncio import AsyncSession

Vector = NDArray[np.float32]


class VectorStoreUnavailable(Unavailable):
    """The vector store does not answer. Nothing was half done: rows are the truth."""

    code = "vector_store_unavailable"


@dataclass(frozen=True, slots=True)
class SpaceId:
    """One embedding space: vectors of different spaces never meet in one collection.

    `name` is the collection's name (`space_` and a hash over model, provider model, revision,
    dimensions and preprocessing); `dimensions` is the size of every dense vector in it.
    """

    name: str
    dimensions: int


@dataclass(frozen=True, slots=True)
class SparseVector:
    """Term weights: `indices` are distinct unsigned 32-bit term numbers, `values` their weights."""

    indices: NDArray[np.uint32]
    values: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Point:
    """A chunk as the index knows it: two vectors, and ids only.

    `rights_key` and `generation_key` come from `eai.access.rights_class`; no text, no title.
    """

    id: PointId
    dense: Vector
    sparse: SparseVector
    rights_key: str
    generation_key: str
    document: DocumentId
    version: VersionId


@dataclass(frozen=True, slots=True)
class Selector:
    """Which points are meant: those that match every field given. Never empty.

    `ids` selects exactly those points, still subject to the other fields.
    """

    generation_key: str
    document: DocumentId | None = None
    version: VersionId | None = None
    ids: tuple[PointId, ...] | None = None


@dataclass(frozen=True, slots=True)
class SearchFilter:
    """The scope of a search, always one keyword field.

    With `rights_keys`, points that carry one of them (at most 1,000; none matches nothing);
    with `None`, every point of the generation, and the re-check decides.
    """

    generation_key: str
    rights_keys: tuple[str, ...] | None


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """Both legs of one query under one filter; a leg whose vector is `None` is not searched."""

    filter: SearchFilter
    limit: int
    dense: Vector | None = None
    sparse: SparseVector | None = None


class Hit(NamedTuple):
    """A point and its raw score: cosine for the dense leg, dot product for the sparse leg.

    A tuple, because a query makes a hundred of them, and a frozen dataclass takes twice as long to make.
    """

    id: PointId
    score: float


@dataclass(frozen=True, slots=True)
class SearchHits:
    """Each leg's hits, best first, ties by id; empty for a leg that was not searched."""

    dense: tuple[Hit, ...] = ()
    sparse: tuple[Hit, ...] = ()


@dataclass(frozen=True, slots=True)
class StoredPoint:
    """A point as the index holds it, for whoever compares the index with its rows.

    A `document` or `version` that is no id is None. The vectors are there when they were asked for; the
    dense one has the length 1 that the store gave it.
    """

    id: PointId
    rights_key: str
    generation_key: str
    document: DocumentId | None
    version: VersionId | None
    dense: Vector | None = None
    sparse: SparseVector | None = None


class PointPage(NamedTuple):
    """Some points in the store's own order, and where the next page begins; None after the last one."""

    points: tuple[StoredPoint, ...]
    next: str | None


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What a base must know of its embedding model.

    `space` comes from `eai.knowledge.spaces.space_id` and changes whenever the same text would give
    another vector.
    """

    name: str
    space: SpaceId
    classification_ceiling: Classification


class ModelCatalogue(Protocol):
    """The registered embedding models, as `subject` may use them."""

    async def resolve(
        self, session: "AsyncSession", subject: Subject, name: str | None, dimensions: int | None
    ) -> ModelFacts | None:
        """The model called `name`, or the default one; None when there is no such model.

        Raises InvalidInput for `dimensions` that the model does not have, and where the environment
        wants the model to be named.
        """
        ...


class BaseQuota(Protocol):
    """How many bases a tenant may have."""

    async def admit_base(self, session: "AsyncSession", tenant: TenantId) -> None:
        """Raise a Conflict when it may have no further one; count with whoever is at it at the same time."""


class Vectors(Protocol):
    """The vector store. Every method raises VectorStoreUnavailable when it does not answer in time.

    A write that returned is durable. Writes are idempotent: the same point twice is one point. A vector
    that does not fit its space, or has a value that is not finite, is the caller's mistake: ValueError.
    """

    async def ensure_space(self, space: SpaceId) -> None:
        """Create the space and its payload indexes unless it exists; with other dimensions, ValueError."""
        ...

    async def upsert(self, space: SpaceId, points: Sequence[Point]) -> None:
        """Write points, whole; a point of the same id is replaced."""
        ...

    async def search(self, space: SpaceId, request: SearchRequest) -> SearchHits:
        """Search each requested leg. An unknown space is VectorStoreUnavailable, never empty."""
        ...

    async def set_rights(self, space: SpaceId, selector: Selector, rights_key: str) -> None:
        """Move the selected points to another rights class; vectors are not touched."""
        ...

    async def set_sparse(self, space: SpaceId, weights: Mapping[PointId, SparseVector]) -> None:
        """Replace the sparse vectors of existing points; unknown ids are ignored."""
        ...

    async def delete(self, space: SpaceId, selector: Selector) -> None:
        """Remove the selected points; removing nothing is fine."""
        ...

    async def count(self, space: SpaceId, selector: Selector) -> int:
        """Exact number of selected points, counted by the engine; 0 for an unknown space."""
        ...

    async def spaces(self) -> Sequence[SpaceId]:
        """Every space there is, by name."""
        ...

    async def generations(self, space: SpaceId) -> Mapping[str, int]:
        """Exact number of points by generation key; empty for an unknown space."""
        ...

    async def scan(
        self,
        space: SpaceId,
        selector: Selector,
        *,
        begin: str | None = None,
        limit: int = 512,
        with_vectors: bool = False,
    ) -> PointPage:
        """Up to `limit` of the selected points, from `begin` on: None, or what the page before named.

        Points that stay where they are appear exactly once in all pages together; others, once at most.
        Empty for an unknown space.
        """
        ...

    async def owner(self) -> str | None:
        """Whose store this is, as `take` was last told; None of a store that nobody took."""
        ...

    async def take(self, owner: str) -> None:
        """Note whose store this is, in place of whoever's it was. It keeps nobody from writing."""
        ...

    async def check(self) -> None:
        """Return when the store answers."""
        ...

    async def close(self) -> None:
        """Release connections."""
        ...
