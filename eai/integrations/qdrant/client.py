"""The port over the engine's socket."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eai.integrations.qdrant import wire
from eai.integrations.qdrant.checks import check_points
from eai.integrations.qdrant.link import Line
from eai.kernel.ids import PointId
from eai.knowledge.ports import (
    Point,
    PointPage,
    SearchHits,
    SearchRequest,
    Selector,
    SpaceId,
    SparseVector,
    VectorStoreUnavailable,
)

DEADLINE_S = 10.0
FRAME_POINTS = 256
_NO_SPACE = SpaceId("", 0)


class EngineVectors:
    """The engine process as the vector store, for any number of tasks and event loops.

    It connects when first needed, again after a loss, and gives every call `deadline_s` seconds; a write
    of many points has that time for each 256 of them. It never repeats a call by itself, and a write that
    the engine had not begun by then is never done.
    """

    def __init__(self, socket: Path, deadline_s: float = DEADLINE_S) -> None:
        self._socket = socket
        self._deadline_s = deadline_s
        self._lines: dict[asyncio.AbstractEventLoop, Line] = {}

    async def ensure_space(self, space: SpaceId) -> None:
        await self._ask("ensure_space", space)

    async def upsert(self, space: SpaceId, points: Sequence[Point]) -> None:
        check_points(points, space.dimensions)  # all of them, before the first piece is written
        for start in range(0, len(points), FRAME_POINTS):
            piece = points[start : start + FRAME_POINTS]
            await self._ask("upsert", space, [wire.write_point(point) for point in piece])

    async def search(self, space: SpaceId, request: SearchRequest) -> SearchHits:
        return wire.read_hits(await self._ask("search", space, *wire.write_search(request)))

    async def set_rights(self, space: SpaceId, selector: Selector, rights_key: str) -> None:
        await self._ask("set_rights", space, wire.write_selector(selector), rights_key)

    async def set_sparse(self, space: SpaceId, weights: Mapping[PointId, SparseVector]) -> None:
        items = list(weights.items())
        for start in range(0, len(items), FRAME_POINTS):
            await self._ask("set_sparse", space, wire.write_weights(items[start : start + FRAME_POINTS]))

    async def delete(self, space: SpaceId, selector: Selector) -> None:
        await self._ask("delete", space, wire.write_selector(selector))

    async def count(self, space: SpaceId, selector: Selector) -> int:
        return int(await self._ask("count", space, wire.write_selector(selector)))

    async def spaces(self) -> Sequence[SpaceId]:
        return wire.read_spaces(await self._ask("spaces", _NO_SPACE))

    async def generations(self, space: SpaceId) -> Mapping[str, int]:
        return dict(await self._ask("generations", space))

    async def scan(
        self,
        space: SpaceId,
        selector: Selector,
        *,
        begin: str | None = None,
        limit: int = 512,
        with_vectors: bool = False,
    ) -> PointPage:
        wanted = wire.write_selector(selector)
        return wire.read_page(await self._ask("scan", space, wanted, begin, limit, with_vectors))

    async def owner(self) -> str | None:
        owner = await self._ask("owner", _NO_SPACE)
        return None if owner is None else str(owner)

    async def take(self, owner: str) -> None:
        await self._ask("take", _NO_SPACE, owner)

    async def check(self) -> None:
        await self._ask("check", _NO_SPACE)

    async def close(self) -> None:
        line = self._lines.pop(asyncio.get_running_loop(), None)
        if line is not None:
            line.close()

    async def _ask(self, operation: str, space: SpaceId, *arguments: Any) -> Any:
        expires_at = time.monotonic() + self._deadline_s
        request = [expires_at, operation, space.name, space.dimensions, *arguments]
        try:
            async with asyncio.timeout(self._deadline_s):
                return await self._line().ask(request)
        except OSError as error:  # absent, refused, lost, too late, or failed over there
            raise VectorStoreUnavailable from error

    def _line(self) -> Line:
        loop = asyncio.get_running_loop()
        line = self._lines.get(loop)
        if line is None:
            self._lines = {each: kept for each, kept in self._lines.items() if not each.is_closed()}
            line = self._lines[loop] = Line(self._socket)
        return line
