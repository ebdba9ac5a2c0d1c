"""Guards of a question taken away."""

from dataclasses import replace
from functools import wraps
from typing import Any
from unittest import mock

from eai.knowledge.ports import SearchFilter, SearchHits, SearchRequest, SpaceId, Vectors
from eai.retrieval import components
from eai.retrieval.components import SearchIndex


class _HalfFiltered:
    def __init__(self, inner: Vectors) -> None:
        self._inner = inner

    async def search(self, space: SpaceId, request: SearchRequest) -> SearchHits:
        found = await self._inner.search(space, replace(request, sparse=None))
        wide = SearchFilter(request.filter.generation_key, None)
        terms = await self._inner.search(space, replace(request, dense=None, filter=wide))
        return SearchHits(found.dense, terms.sparse)


def keyword_leg_unfiltered() -> Any:
    """The rights filter is left out of one leg; the re-check still stands behind it."""
    run_async = SearchIndex.run_async

    @wraps(run_async)  # the library compares signatures
    async def runs(self: SearchIndex, question: Any) -> Any:
        filtered = self._vectors
        self._vectors = _HalfFiltered(filtered)  # type: ignore[assignment]
        try:
            return await run_async(self, question)
        finally:
            self._vectors = filtered

    return mock.patch.object(SearchIndex, "run_async", runs)


def recheck_skipped() -> Any:
    """What the store finds is shown."""
    readable = components.readable_passages

    def reads(ranked: Any, snapshot: Any, _rule: Any) -> Any:
        return readable(ranked, snapshot, lambda *_: True)

    return mock.patch.object(components, "readable_passages", reads)


def torn_unnoticed() -> Any:
    """A question that began before a swap and ended after it is not asked again."""
    readable = components.readable_passages

    def reads(ranked: Any, snapshot: Any, rule: Any) -> Any:
        return replace(readable(ranked, snapshot, rule), is_torn=False)

    return mock.patch.object(components, "readable_passages", reads)
