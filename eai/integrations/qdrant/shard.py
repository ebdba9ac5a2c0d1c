"""One embedding space in the embedded engine: a folder, and what may be done with it.

Every call blocks and holds the interpreter lock, so writes are cut into steps of a few milliseconds.
"""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

import qdrant_edge as q

from eai.integrations.qdrant import edge_values as values
from eai.integrations.qdrant.checks import check_points, check_search, check_sparse
from eai.integrations.qdrant.layout import Layout
from eai.integrations.qdrant.payload import GENERATION, INDEXED, RIGHTS
from eai.integrations.qdrant.ranking import TIE_LIMIT, TIE_SLACK, ends_in_a_tie, ranked
from eai.kernel.ids import PointId
from eai.knowledge.ports import Point, SearchRequest, Selector, SparseVector, StoredPoint

STEP_POINTS = 64
PAGE_POINTS = 1_024
MANY_GENERATIONS = 1_000_000
FLUSH_AFTER = 10_000
"""Changes after which the log is folded into the segments: replaying so many takes 0.7 s at start."""
RESERVE_BYTES = 64 * 2**20
"""Free disk that no new point may use: the engine maps its files, and a full disk kills it in mid-write."""

Steps = Iterator[None]
"""A write in small steps. Each step is durable when it ends, the whole when the iterator does."""

Ranking = list[tuple[PointId, float]]
Item = TypeVar("Item")


class DiskFull(OSError):
    """New points are refused before the disk is really full; deleting still works."""


class _Leg(NamedTuple):
    request: int
    side: int
    near: q.Query
    scope: q.Filter
    limit: int
    params: q.SearchParams | None


class Shard:
    """The points of one embedding space. `tidy` belongs after each write that ended."""

    def __init__(self, folder: Path, dimensions: int, layout: Layout) -> None:
        self._folder = folder
        self._dimensions = dimensions
        self._layout = layout
        self._params = layout.search_params()
        self._shard = q.EdgeShard.load(str(folder))
        self._unarranged = self._shard.info().points_count
        self._unflushed = 0

    @staticmethod
    def create(folder: Path, dimensions: int, layout: Layout) -> None:
        """Make an empty shard with its payload indexes at `folder`, all or nothing."""
        require_room(folder.parent)
        unfinished = folder.with_name(f".{folder.name}")
        shutil.rmtree(unfinished, ignore_errors=True)
        shard = q.EdgeShard.create(str(unfinished), layout.config(dimensions))
        for field in INDEXED:
            shard.update(q.UpdateOperation.create_field_index(field, q.PayloadSchemaType.Keyword))
        shard.flush()
        shard.close()
        unfinished.rename(folder)

    @property
    def is_flushed(self) -> bool:
        return self._unflushed == 0

    def search(self, requests: Sequence[SearchRequest]) -> list[tuple[Ranking, Ranking]]:
        """The dense and the sparse ranking of each request, all in one pass over the segments."""
        legs = [leg for number, request in enumerate(requests) for leg in self._legs(number, request)]
        answers = self._query(legs, TIE_SLACK)
        tied = [at for at, leg in enumerate(legs) if ends_in_a_tie(answers[at], leg.limit)]
        for at, answer in zip(tied, self._query([legs[at] for at in tied], TIE_LIMIT), strict=True):
            answers[at] = answer
        found: list[tuple[Ranking, Ranking]] = [([], []) for _ in requests]
        for leg, answer in zip(legs, answers, strict=True):
            found[leg.request][leg.side].extend(ranked(answer, leg.limit, _id_of))
        return found

    def upsert(self, points: Sequence[Point]) -> Steps:
        check_points(points, self._dimensions)
        for step in _steps(points):
            require_room(self._folder)
            self._change(q.UpdateOperation.upsert_points([values.stored(point) for point in step]), len(step))
            yield

    def set_rights(self, selector: Selector, rights_key: str) -> Steps:
        for ids in self._selected(selector):
            self._change(q.UpdateOperation.set_payload(ids, {RIGHTS: rights_key}), len(ids))
            yield

    def set_sparse(self, weights: Mapping[PointId, SparseVector]) -> Steps:
        for vector in weights.values():
            check_sparse(vector)
        for step in _steps(list(weights)):
            require_room(self._folder)
            # The engine refuses the whole operation for one id that it does not know.
            known = {record.id for record in self._shard.retrieve([*step], False, False)}
            vectors = [values.reweighted(each, weights[each]) for each in step if each in known]
            if vectors:
                self._change(q.UpdateOperation.update_vectors(vectors), len(vectors))
            yield

    def delete(self, selector: Selector) -> Steps:
        for ids in self._selected(selector):
            self._change(q.UpdateOperation.delete_points(ids), len(ids))
            yield

    def count(self, selector: Selector) -> int:
        return self._shard.count(q.CountRequest(exact=True, filter=values.selection(selector)))

    def generations(self) -> dict[str, int]:
        """How many points carry each generation key."""
        request = q.FacetRequest(GENERATION, limit=MANY_GENERATIONS, exact=True)
        return {str(hit.value): hit.count for hit in self._shard.facet(request).hits}

    def scan(
        self, selector: Selector, begin: str | None, limit: int, *, with_vectors: bool
    ) -> tuple[list[StoredPoint], str | None]:
        """A page of the selected points by id, and the id that the next one begins with."""
        offset: Any = None if begin is None else UUID(begin)
        page, following = self._shard.scroll(
            q.ScrollRequest(
                offset=offset,
                limit=limit,
                filter=values.selection(selector),
                with_payload=True,
                with_vector=with_vectors,
            )
        )
        return [values.found(record) for record in page], None if following is None else str(following)

    @property
    def is_arranged(self) -> bool:
        """Whether too little has changed since the segments were arranged for it to be worth doing again."""
        due = self._layout.optimize_after
        return due is None or self._unarranged < due

    def tidy(self) -> None:
        """Fold in the log when enough has changed: a tenth of a second."""
        if self._unflushed >= FLUSH_AFTER:
            self.flush()

    def optimize(self) -> None:
        """Rearrange the segments now, which blocks: 3 s for 50,000 exact points, minutes with a graph."""
        self._shard.optimize()
        self._unarranged = 0
        self.flush()

    def flush(self) -> None:
        """Fold the log into the segments. Nothing depends on it but the time of the next start."""
        if not self.is_flushed:
            self._shard.flush()
            self._unflushed = 0

    def close(self) -> None:
        self.flush()
        self._shard.close()

    def _legs(self, number: int, request: SearchRequest) -> Iterator[_Leg]:
        check_search(request, self._dimensions)
        if request.filter.rights_keys == ():
            return
        scope, limit = values.scope(request.filter), request.limit
        if request.dense is not None:
            yield _Leg(number, 0, values.near_dense(request.dense), scope, limit, self._params)
        if request.sparse is not None:
            yield _Leg(number, 1, values.near_sparse(request.sparse), scope, limit, None)

    def _query(self, legs: Sequence[_Leg], more: int) -> list[list[q.ScoredPoint]]:
        if not legs:
            return []
        queries = [
            q.QueryRequest(limit=leg.limit + more, query=leg.near, filter=leg.scope, params=leg.params)
            for leg in legs
        ]
        return self._shard.query_batch(q.QueryBatchRequest(queries))

    def _selected(self, selector: Selector) -> Iterator[list[Any]]:
        """Ids of the selected points in id order; those already yielded may have changed or gone."""
        selection = values.selection(selector)
        offset: Any = None
        while True:
            page, offset = self._shard.scroll(
                q.ScrollRequest(
                    offset=offset, limit=PAGE_POINTS, filter=selection, with_payload=False, with_vector=False
                )
            )
            yield from _steps([record.id for record in page])
            if offset is None:
                return

    def _change(self, operation: q.UpdateOperation, points: int) -> None:
        self._shard.update(operation)
        self._unarranged += points
        self._unflushed += points


def require_room(folder: Path) -> None:
    """Raise DiskFull unless there is room for new points."""
    if shutil.disk_usage(folder).free < RESERVE_BYTES:
        raise DiskFull(f"less than {RESERVE_BYTES} bytes are free under {folder}")


def _steps(items: Sequence[Item]) -> Iterator[list[Item]]:
    for start in range(0, len(items), STEP_POINTS):
        yield list(items[start : start + STEP_POINTS])


def _id_of(point: Any) -> PointId:
    identity: PointId = point.id
    return identity
