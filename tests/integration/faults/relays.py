"""Stands between a process and another part of the product, and can be cut like a network."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from sqlalchemy import URL

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
_PIECE = 64 * 1024


class Relay:
    """Carries what it is sent to `target`, and back, unless it is cut: then nobody comes through."""

    def __init__(self, target: Callable[[], Awaitable[Streams]]) -> None:
        self._target = target
        self._open: set[asyncio.StreamWriter] = set()
        self._is_cut = False

    def cut(self) -> None:
        """Let nothing through any more, and drop what is on its way."""
        self._is_cut = True
        for writer in self._open:
            writer.transport.abort()

    def mend(self) -> None:
        """Let everybody through again."""
        self._is_cut = False

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, from its beginning to its end."""
        if self._is_cut:
            writer.transport.abort()
            return
        with suppress(ConnectionError):
            there, back = await self._target()
            self._open |= {writer, back}
            async with asyncio.TaskGroup() as group:
                group.create_task(_pump(reader, back))
                group.create_task(_pump(there, writer))
            self._open -= {writer, back}


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError):
        while piece := await source.read(_PIECE):
            sink.write(piece)
            await sink.drain()
    sink.transport.abort() if source.exception() else sink.close()


@asynccontextmanager
async def to_database(url: URL) -> AsyncIterator[tuple[Relay, URL]]:
    """A relay on loopback, and the URL that leads through it."""

    async def target() -> Streams:
        folder = url.query.get("host")
        if folder is None:
            return await asyncio.open_connection(url.host, url.port or 5432)
        return await asyncio.open_unix_connection(f"{folder}/.s.PGSQL.{url.query.get('port', 5432)}")

    relay = Relay(target)
    server = await asyncio.start_server(relay.carry, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    kept = {name: value for name, value in url.query.items() if name not in {"host", "port"}}
    async with _ending(relay, server):
        yield relay, url.set(host=host, port=port, query=kept)


@asynccontextmanager
async def to_engine(socket: Path, instead: Path) -> AsyncIterator[Relay]:
    """A relay that answers on the socket `instead`."""
    relay = Relay(lambda: asyncio.open_unix_connection(socket))
    instead.parent.mkdir(parents=True, exist_ok=True)
    server = await asyncio.start_unix_server(relay.carry, instead)
    async with _ending(relay, server):
        yield relay


@asynccontextmanager
async def _ending(relay: Relay, server: asyncio.Server) -> AsyncIterator[None]:
    try:
        yield
    finally:
        server.close()
        relay.cut()
        await server.wait_closed()
