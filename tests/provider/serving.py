"""Serves the test provider over plain sockets: it must be able to break every rule of HTTP."""

import asyncio
import base64
import json
import socket
import struct
from collections import deque
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from tests.provider import answering
from tests.provider.steps import Step

_EOF_POLL_S = 0.01
_LONGEST_FAULT_S = 600.0


@dataclass(slots=True)
class Exchange:
    """One request as it stood on the wire, and how it ended."""

    head: bytes
    body: bytes = b""
    pieces: int = 0
    ended: str = "open"

    def as_json(self) -> dict[str, Any]:
        return {
            "head": base64.b64encode(self.head).decode(),
            "body": base64.b64encode(self.body).decode(),
            "pieces": self.pieces,
            "ended": self.ended,
        }


@dataclass(slots=True)
class TalkingProvider:
    """The state of the process: what came, and what is to be answered next."""

    dimensions: int
    usual: Step = field(default_factory=Step)
    steps: deque[Step] = field(default_factory=deque)
    exchanges: list[Exchange] = field(default_factory=list)
    connections: int = 0
    stray: int = 0
    may_go_on: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while (exchange := await self._read(reader)) is not None:
                step = self.steps.popleft() if self.steps else self.usual
                if not await _Answering(self, exchange, step, reader, writer).finish():
                    break
        except (ConnectionError, TimeoutError, asyncio.CancelledError):
            # The client left, or the process is told to end.
            pass
        finally:
            with suppress(ConnectionError, asyncio.CancelledError):
                writer.close()
                await writer.wait_closed()

    async def _read(self, reader: asyncio.StreamReader) -> Exchange | None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError as cut:
            self.stray += len(cut.partial)
            return None
        exchange = Exchange(head)
        self.exchanges.append(exchange)
        try:
            exchange.body = await reader.readexactly(_length(head))
        except asyncio.IncompleteReadError as cut:
            exchange.body, exchange.ended = cut.partial, "client_left"
            return None
        return exchange

    def control(self, order: dict[str, Any]) -> dict[str, Any]:
        """Carry out one order of the test."""
        if order["do"] == "say":
            self.may_go_on.clear()
            self.steps.extend(Step(**step) for step in order["steps"])
        elif order["do"] == "go_on":
            self.may_go_on.set()
        elif order["do"] == "usually":
            self.usual = Step(**order["step"])
        elif order["do"] == "forget":
            self.steps.clear()
            self.exchanges.clear()
            self.usual, self.connections, self.stray = Step(), 0, 0
        return {
            "connections": self.connections,
            "bytes": self.stray + sum(len(each.head) + len(each.body) for each in self.exchanges),
            "exchanges": [each.as_json() for each in self.exchanges] if order["do"] == "show" else [],
        }

    async def listen_to_orders(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(json.dumps(self.control(json.loads(line))).encode() + b"\n")
            await writer.drain()
        writer.close()


def _length(head: bytes) -> int:
    fields = (line.lower().partition(b":") for line in head.split(b"\r\n"))
    return next((int(value) for name, _, value in fields if name == b"content-length"), 0)


class _Answering:
    """One answer, good or bad."""

    def __init__(
        self,
        provider: TalkingProvider,
        exchange: Exchange,
        step: Step,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        self._provider = provider
        self._exchange = exchange
        self._step = step
        self._reader = reader
        self._writer = writer

    async def finish(self) -> bool:
        """Answer; whether the connection may be used again."""
        if self._step.is_held:
            await self._provider.may_go_on.wait()
        if self._step.wait_s and await self._client_left(self._step.wait_s):
            self._exchange.ended = "client_left"
            return False
        if self._step.fault is not None:
            return await self._break()
        if self._step.status is not None:
            body = self._step.body
            text = '{"error": {"message": "told to fail"}}' if body is None else body
            return await self._write(self._step.status, text.encode())
        return await self._answer_well()

    async def _answer_well(self) -> bool:
        target = self._exchange.head.split(b" ")[1].decode()
        change = self._step.change
        request = json.loads(self._exchange.body)
        if target.endswith("/embeddings"):
            return await self._write(200, answering.embeddings(request, self._provider.dimensions, change))
        if target.endswith("/rerank"):
            return await self._write(200, answering.rerank(request, change))
        if not target.endswith("/chat/completions"):
            return await self._write(404, b'{"error": {"message": "no such page"}}')
        if not request.get("stream"):
            return await self._write(200, answering.chat(request, change))
        return await self._stream(request)

    async def _stream(self, request: dict[str, Any]) -> bool:
        self._writer.write(self._head(200, {"content-type": "text/event-stream", "connection": "close"}))
        for piece in answering.chat_pieces(request, self._step.change):
            if self._step.pace_s and await self._client_left(self._step.pace_s):
                self._exchange.ended = "client_left"
                return False
            self._writer.write(piece)
            await self._writer.drain()
            self._exchange.pieces += 1
        self._exchange.ended = "answered"
        return False

    async def _write(self, status: int, body: bytes) -> bool:
        headers = {"content-type": "application/json", "content-length": str(len(body)), **self._step.headers}
        self._writer.write(self._head(status, headers) + body)
        await self._writer.drain()
        self._exchange.ended = "answered"
        return True

    @staticmethod
    def _head(status: int, headers: dict[str, str]) -> bytes:
        lines = [f"HTTP/1.1 {status} Said", *(f"{name}: {value}" for name, value in headers.items())]
        return "\r\n".join(lines).encode() + b"\r\n\r\n"

    async def _break(self) -> bool:
        self._exchange.ended = f"told to {self._step.fault}"
        await getattr(self, f"_fault_{self._step.fault}")()
        return False

    async def _fault_close(self) -> None:
        """Nothing is said."""

    async def _fault_reset(self) -> None:
        sock: socket.socket = self._writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    async def _fault_half(self) -> None:
        self._writer.write(self._head(200, {"content-type": "application/json", "content-length": "500"}))
        self._writer.write(b'{"object": "list", "data": [')
        await self._writer.drain()

    async def _fault_hang(self) -> None:
        if await self._client_left(_LONGEST_FAULT_S):
            self._exchange.ended = "client_left"

    async def _fault_garbage(self) -> None:
        self._writer.write(b"SSH-2.0-OpenSSH_9.9\r\n\r\n")
        await self._writer.drain()

    async def _fault_long_headers(self) -> None:
        self._writer.write(b"HTTP/1.1 200 Said\r\nx-long: " + b"a" * 1_000_000)
        await self._writer.drain()

    async def _fault_endless(self) -> None:
        self._writer.write(
            self._head(200, {"content-type": "application/json", "transfer-encoding": "chunked"})
        )
        while not self._reader.at_eof():
            self._writer.write(b"10000\r\n" + b" " * 0x10000 + b"\r\n")
            await self._writer.drain()
            self._exchange.pieces += 1

    async def _fault_drip(self) -> None:
        self._writer.write(self._head(200, {"content-type": "application/json", "content-length": "100000"}))
        while not await self._client_left(_EOF_POLL_S):
            self._writer.write(b" ")
            await self._writer.drain()

    async def _client_left(self, within_s: float) -> bool:
        """Wait so long; whether the other side has closed the connection meanwhile."""
        loop = asyncio.get_running_loop()
        ends_at = loop.time() + within_s
        while loop.time() < ends_at and not self._reader.at_eof():  # noqa: ASYNC110, nothing tells of it
            await asyncio.sleep(min(_EOF_POLL_S, within_s))
        return self._reader.at_eof()
