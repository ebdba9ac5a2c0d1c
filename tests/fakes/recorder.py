"""A provider on loopback that keeps every byte it is sent, and answers what it was told to."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Recorded:
    """One request, as it stood on the wire. Header names are in lower case."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True, slots=True)
class Answer:
    """What is sent back; `pieces` are written one by one, without a length."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    pieces: tuple[bytes, ...] = ()


Script = Callable[[Recorded], Answer]


class Recorder:
    """`answer` is asked for each request; `url` has no slash at its end."""

    def __init__(self, answer: Script) -> None:
        self.answer = answer
        self.requests: list[Recorded] = []
        self.connections = 0
        self.port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while (request := await _read(reader)) is not None:
                self.requests.append(request)
                answer = self.answer(request)
                writer.write(_written(answer))
                for piece in answer.pieces:
                    await writer.drain()
                    writer.write(piece)
                await writer.drain()
                if answer.pieces:
                    return
        except ConnectionError:
            return
        finally:
            writer.close()


@asynccontextmanager
async def recording(answer: Script) -> AsyncIterator[Recorder]:
    """A recorder that listens until the block ends."""
    recorder = Recorder(answer)
    server = await asyncio.start_server(recorder.serve, "127.0.0.1", 0)
    recorder.port = server.sockets[0].getsockname()[1]
    try:
        yield recorder
    finally:
        server.close()


async def _read(reader: asyncio.StreamReader) -> Recorded | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").strip().split("\r\n")
    method, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", 0)))
    return Recorded(method, target, headers, body)


def _written(answer: Answer) -> bytes:
    body = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
    length = {} if answer.pieces else {"content-length": str(len(body))}
    headers = {"content-type": "application/json", **length, **answer.headers}
    lines = [f"HTTP/1.1 {answer.status} Said", *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + (b"" if answer.pieces else body)
