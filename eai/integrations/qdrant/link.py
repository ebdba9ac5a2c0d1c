"""The engine's socket as a client sees it: many calls at once over one connection."""

import asyncio
import itertools
from pathlib import Path
from typing import Any, cast

from eai.integrations.qdrant.frames import FrameError, FrameReader, pack
from eai.integrations.qdrant.sockets import reachable
from eai.integrations.qdrant.wire import Outcome


class EngineFailed(ConnectionError):
    """The engine answered that it could not do what was asked."""


class Link(asyncio.Protocol):
    """One connection, and the calls that wait on it. Losing it fails every one of them."""

    def __init__(self) -> None:
        self._frames = FrameReader()
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._transport: asyncio.Transport | None = None

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    async def ask(self, request: list[Any]) -> Any:
        """The answer to `request`. Raises ValueError when it was refused, else ConnectionError."""
        if self._transport is None:
            raise ConnectionResetError("the connection to the engine is lost")
        number = next(self._numbers)
        answer = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            self._transport.write(pack([number, *request]))
            return await answer
        finally:
            del self._waiting[number]

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are transports by their methods, not by their class.
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, _: Exception | None) -> None:
        self._transport = None
        for answer in self._waiting.values():
            if not answer.done():
                answer.set_exception(ConnectionResetError("the connection to the engine is lost"))

    def data_received(self, data: bytes) -> None:
        try:
            for message, _ in self._frames.feed(data):
                number, outcome, value = message
                self._settle(number, outcome, value)
        except (FrameError, ValueError):
            self.close()

    def _settle(self, number: int, outcome: int, value: Any) -> None:
        answer = self._waiting.get(number)
        if answer is None or answer.done():  # its caller gave up waiting
            return
        match outcome:
            case Outcome.DONE:
                answer.set_result(value)
            case Outcome.REFUSED:
                answer.set_exception(ValueError(value))
            case _:
                answer.set_exception(EngineFailed(value))


class Line:
    """The connection of one event loop, made when first needed and again after a loss."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket
        self._link = Link()
        self._connecting = asyncio.Lock()

    async def ask(self, request: list[Any]) -> Any:
        if not self._link.is_open:
            async with self._connecting:
                if not self._link.is_open:
                    self._link = await self._connect()
        return await self._link.ask(request)

    def close(self) -> None:
        self._link.close()

    async def _connect(self) -> Link:
        with reachable(self._socket) as path:
            _, link = await asyncio.get_running_loop().create_unix_connection(Link, path)
        return link
