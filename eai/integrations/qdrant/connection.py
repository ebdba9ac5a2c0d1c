"""One client of the engine process: reads what it asks from the socket, writes what it is answered."""

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from eai.integrations.qdrant.frames import FrameError, FrameReader, pack
from eai.integrations.qdrant.requests import Request
from eai.integrations.qdrant.schedule import Schedule
from eai.integrations.qdrant.wire import Outcome, read_points, read_search, read_selector, read_weights
from eai.knowledge.ports import SpaceId

QUEUED_BYTES = 64 * 2**20
"""What one connection may have waiting; beyond it the engine stops reading from it for a while."""

log = logging.getLogger(__name__)

READERS: dict[str, Callable[..., tuple[Any, ...]]] = {
    "ensure_space": lambda: (),
    "upsert": lambda points: (read_points(points),),
    "search": lambda *search: (read_search(*search),),
    "set_rights": lambda selector, key: (read_selector(selector), key),
    "set_sparse": lambda weights: (read_weights(weights),),
    "delete": lambda selector: (read_selector(selector),),
    "count": lambda selector: (read_selector(selector),),
    "scan": lambda selector, begin, limit, with_vectors: (
        read_selector(selector),
        begin,
        limit,
        with_vectors,
    ),
    "generations": lambda: (),
    "spaces": lambda: (),
    "owner": lambda: (),
    "take": lambda owner: (owner,),
    "check": lambda: (),
}


class Connection(asyncio.Protocol):
    """One client's end of the socket; hands what it asks to the schedule."""

    def __init__(self, schedule: Schedule, connected: "set[Connection]") -> None:
        self._schedule = schedule
        self._connected = connected
        self._frames = FrameReader()
        self._queued = 0
        self._transport: asyncio.Transport | None = None

    @property
    def is_waiting(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._connected.add(self)

    def connection_lost(self, _: Exception | None) -> None:
        self._transport = None
        self._connected.discard(self)

    def data_received(self, data: bytes) -> None:
        try:
            for message, size in self._frames.feed(data):
                self._queued += size
                self._schedule.submit(_read_request(self, message, size))
        except (FrameError, ValueError, TypeError, LookupError) as error:
            log.warning("closing a connection: %s", error)
            self.close()
            return
        if self._queued > QUEUED_BYTES and self._transport is not None:
            self._transport.pause_reading()

    def answer(self, request: Request, outcome: Outcome, value: Any) -> None:
        self._queued -= request.size
        if self._transport is None or self._transport.is_closing():
            return
        self._transport.write(pack([request.id, outcome, value]))
        if self._queued <= QUEUED_BYTES:
            self._transport.resume_reading()

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()


def _read_request(caller: Connection, message: list[Any], size: int) -> Request:
    number, expires_at, operation, name, dimensions, *arguments = message
    return Request(
        caller=caller,
        id=number,
        expires_at=float(expires_at),
        operation=operation,
        space=SpaceId(name, dimensions),
        arguments=READERS[operation](*arguments),
        size=size,
    )
