"""The real index with something around it: what happens meanwhile, what goes wrong, what is ignored."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from eai.knowledge.ports import SearchFilter, SearchHits, SearchRequest, SpaceId, Vectors

Action = Callable[[], Awaitable[None]]


class Around:
    """Passes every call on to the real index."""

    def __init__(self, inner: Vectors) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


class Meanwhile(Around):
    """Lets something happen once, between the first search and the re-check; keeps what was asked for."""

    def __init__(self, inner: Vectors, action: Action | None = None) -> None:
        super().__init__(inner)
        self._actions = [action] if action else []
        self.asked: list[SearchRequest] = []

    async def search(self, space: SpaceId, request: SearchRequest) -> SearchHits:
        self.asked.append(request)
        hits = await self._inner.search(space, request)
        if self._actions:
            await self._actions.pop()()
        return hits


class Beforehand(Around):
    """Lets something happen once, when the question is opened and nothing is searched yet."""

    def __init__(self, inner: Vectors, action: Action) -> None:
        super().__init__(inner)
        self._actions = [action]

    async def search(self, space: SpaceId, request: SearchRequest) -> SearchHits:
        if self._actions:
            await self._actions.pop()()
        return await self._inner.search(space, request)


class Unfiltered(Around):
    """A store that ignores the filter: whatever is asked for, it searches all of these generations."""

    def __init__(self, inner: Vectors, generation_keys: Sequence[str]) -> None:
        super().__init__(inner)
        self._filters = [SearchFilter(key, None) for key in generation_keys]

    async def search(self, space: SpaceId, request: SearchRequest) -> SearchHits:
        found = [await self._inner.search(space, replace(request, filter=each)) for each in self._filters]
        return SearchHits(
            dense=tuple(chain.from_iterable(hits.dense for hits in found)),
            sparse=tuple(chain.from_iterable(hits.sparse for hits in found)),
        )
