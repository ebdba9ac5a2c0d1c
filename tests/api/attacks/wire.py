"""HTTP as bytes, for what no well-behaved client would send."""

import asyncio
from dataclasses import dataclass
from urllib.parse import urlsplit

import orjson

from tests.stack import Json


@dataclass(frozen=True)
class Raw:
    """An answer as it came; `status` is 0 where the connection was closed without one."""

    status: int
    head: str
    body: bytes

    @property
    def code(self) -> str:
        """The code of a refusal in the common form, else nothing."""
        if "problem+json" not in self.head or not self.body:
            return ""
        parsed: Json = orjson.loads(self.body)
        return str(parsed["error"]["code"])


async def sent(url: str, head: bytes, body: bytes = b"", *, patience_s: float = 10) -> Raw:
    """What the server answers to these very bytes, if it does within `patience_s`."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        async with asyncio.timeout(patience_s):
            answer = await _exchanged(reader, writer, head + body)
    finally:
        writer.close()
    if not answer:
        return Raw(0, "", b"")
    top, _, rest = answer.partition(b"\r\n\r\n")
    return Raw(int(top.split(b" ", 2)[1]), top.decode("latin-1"), rest)


async def _exchanged(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, data: bytes) -> bytes:
    try:
        writer.write(data)
        await writer.drain()
        return await reader.read()
    except (ConnectionResetError, BrokenPipeError):
        return b""


def get(target: str, *headers: str, method: str = "GET", host: str = "127.0.0.1") -> bytes:
    """The head of a request whose target and headers go out as they are given."""
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host}", "Connection: close", *headers]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")
