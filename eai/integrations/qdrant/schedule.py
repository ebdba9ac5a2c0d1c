"""The engine's one loop: who is served next.

Reads go before writes, all waiting searches of one space as one batch; a write advances by one step
between two batches. So a reader waits for at most one step, and a writer for one batch per step.
Writes are served one after the other in the order they came.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Any

from eai.integrations.qdrant.edge import EdgeShards
from eai.integrations.qdrant.requests import Request
from eai.integrations.qdrant.shard import Shard, Steps
from eai.integrations.qdrant.wire import write_page, write_rankings
from eai.knowledge.ports import SpaceId

BATCH_SEARCHES = 16
FLUSH_WHEN_IDLE_S = 2.0
ARRANGE_WHEN_IDLE_S = 8.0
"""Once more so long without a request. Who comes while segments are rearranged waits for up to seconds;
who never gives it the time has searches that take up to twice as long.
"""
READS = frozenset({"search", "count", "scan", "generations", "spaces", "owner", "check"})
LOOKS: dict[str, Callable[..., Any]] = {
    "count": EdgeShards.count,
    "scan": lambda shards, space, *page: write_page(*shards.scan(space, *page)),
    "generations": EdgeShards.generations,
    "spaces": lambda shards, _: [[each.name, each.dimensions] for each in shards.spaces],
    "owner": lambda shards, _: shards.owner(),
}
CHANGES: dict[str, Callable[..., Steps]] = {
    "upsert": Shard.upsert,
    "set_rights": Shard.set_rights,
    "set_sparse": Shard.set_sparse,
    "delete": Shard.delete,
}

log = logging.getLogger(__name__)


class Schedule:
    """Serves requests from `shards` until stopped. Nothing else may touch the shards meanwhile.

    The engine raises bare Exceptions, hence the broad handlers: one caller's failure is his own. A
    panic inside it is no Exception; it ends the process, and the next one recovers from the log.
    """

    def __init__(self, shards: EdgeShards) -> None:
        self._shards = shards
        self._reads: deque[Request] = deque()
        self._writes: deque[Request] = deque()
        self._writing: tuple[Request, Steps] | None = None
        self._arrival = asyncio.Event()
        self._is_stopping = False

    def submit(self, request: Request) -> None:
        (self._reads if request.operation in READS else self._writes).append(request)
        self._arrival.set()

    def stop(self) -> None:
        """End `run` after the present step."""
        self._is_stopping = True
        self._arrival.set()

    async def run(self) -> None:
        while not self._is_stopping:
            if not self._reads and not self._writes and self._writing is None:
                await self._rest()
            self._serve_reads()
            self._advance_write()
            await asyncio.sleep(0)  # the sockets' turn: what arrived meanwhile joins the next batch

    async def _rest(self) -> None:
        """Return when there is something to do; what blocks for long is done once nobody asks."""
        self._arrival.clear()
        if not self._shards.is_flushed and await self._is_idle(FLUSH_WHEN_IDLE_S):
            _tolerate(self._shards.flush)
        if not self._shards.is_arranged and await self._is_idle(ARRANGE_WHEN_IDLE_S):
            _tolerate(self._shards.arrange)
        elif self._shards.is_flushed and self._shards.is_arranged:
            await self._arrival.wait()

    async def _is_idle(self, for_s: float) -> bool:
        try:
            async with asyncio.timeout(for_s):
                await self._arrival.wait()
        except TimeoutError:
            return True
        return False

    def _serve_reads(self) -> None:
        batch = self._next_reads()
        if len(batch) > 1 and self._search_together(batch):
            return
        for request in batch:
            try:
                request.end(self._read(request))
            except Exception as error:  # noqa: BLE001
                request.fail(error)

    def _next_reads(self) -> list[Request]:
        if not self._reads:
            return []
        first = self._reads[0]
        if first.operation != "search":
            return _wanted([self._reads.popleft()])
        alike = (each for each in self._reads if each.operation == "search" and each.space == first.space)
        batch = list(islice(alike, BATCH_SEARCHES))
        self._reads = deque(each for each in self._reads if each not in batch)
        return _wanted(batch)

    def _search_together(self, batch: list[Request]) -> bool:
        """Whether one pass answered them all; if not, each must meet its own fault alone."""
        try:
            found = self._shards.search(batch[0].space, [request.arguments[0] for request in batch])
        except Exception:  # noqa: BLE001
            return False
        for request, rankings in zip(batch, found, strict=True):
            request.end(write_rankings(rankings))
        return True

    def _read(self, request: Request) -> Any:
        if request.operation == "search":
            (rankings,) = self._shards.search(request.space, request.arguments)
            return write_rankings(rankings)
        look = LOOKS.get(request.operation)
        return None if look is None else look(self._shards, request.space, *request.arguments)

    def _advance_write(self) -> None:
        if self._writing is None:
            self._writing = self._next_write()
        if self._writing is None:
            return
        request, steps = self._writing
        try:
            next(steps)
        except StopIteration:
            request.end()
        except Exception as error:  # noqa: BLE001
            request.fail(error)
        else:
            return
        self._writing = None
        _tolerate(partial(self._tidy, request.space))

    def _next_write(self) -> tuple[Request, Steps] | None:
        if not self._writes:
            return None
        wanted = _wanted([self._writes.popleft()])
        return (wanted[0], self._write(wanted[0])) if wanted else None

    def _write(self, request: Request) -> Steps:
        if request.operation == "ensure_space":
            self._shards.ensure_space(request.space)
            return
        if request.operation == "take":
            self._shards.take(*request.arguments)
            return
        is_upsert = request.operation == "upsert"
        shard = self._shards.shard(request.space) if is_upsert else self._shards.find(request.space)
        if shard is not None:
            yield from CHANGES[request.operation](shard, *request.arguments)

    def _tidy(self, space: SpaceId) -> None:
        shard = self._shards.find(space)
        if shard is not None:
            shard.tidy()


def _wanted(requests: list[Request]) -> list[Request]:
    wanted = []
    for request in requests:
        if request.is_wanted:
            wanted.append(request)
        else:
            request.abandon()
    return wanted


def _tolerate(upkeep: Callable[[], None]) -> None:
    """Upkeep that fails (on a full disk, say) is due again after the next write; nothing is lost by it."""
    try:
        upkeep()
    except Exception:
        log.exception("upkeep failed")
