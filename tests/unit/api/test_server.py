import asyncio
import resource

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Receive, Scope, Send

from eai.api.server import MAX_HEAD_BYTES, MOST_SURPLUS, SURPLUS, BoundedProtocol, ServerConfig
from tests.serving import served


class Hasty(BoundedProtocol):
    head_within_s = 0.1


async def _read_all(scope: Scope, receive: Receive, send: Send) -> None:
    while (await receive()).get("more_body"):
        pass
    await PlainTextResponse("ok")(scope, receive, send)


async def _answer(port: int, *parts: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        for part in parts:
            writer.write(part)
            await writer.drain()
        async with asyncio.timeout(5):
            return await reader.read()
    except ConnectionResetError:
        return b""
    finally:
        writer.close()


HEAD = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"


async def test_an_ordinary_head_is_served() -> None:
    async with served(_read_all) as port:
        assert (await _answer(port, HEAD + b"A: " + b"a" * 30_000 + b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        assert (await _answer(port, *(HEAD[at : at + 1] for at in range(len(HEAD))), b"\r\n")).endswith(b"ok")


async def test_a_body_may_be_larger_than_a_head() -> None:
    body = b"a" * (3 * MAX_HEAD_BYTES)
    head = HEAD.replace(b"GET", b"POST") + b"Content-Length: %d\r\n\r\n" % len(body)
    async with served(_read_all) as port:
        assert (await _answer(port, head, body)).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "endless",
    [HEAD + b"A: ", HEAD, b"GET /", b"GET / HTTP/1.1\r\n"],
    ids=["value", "headers", "path", "lines"],
)
async def test_a_head_that_does_not_end_is_cut_off(endless: bytes) -> None:
    more = b"A: b\r\n" * 10_000 if endless.endswith(b"\r\n") else b"a" * 60_000
    async with served(_read_all) as port:
        assert (await _answer(port, endless, *[more] * 12)).startswith((b"HTTP/1.1 400", b""))
        assert (await _answer(port, HEAD, b"\r\n")).endswith(b"ok")


@pytest.mark.parametrize("begun", [b"", b"GET", HEAD])
async def test_a_head_that_does_not_come_is_not_waited_for(begun: bytes) -> None:
    async with served(_read_all, Hasty) as port:
        assert (await _answer(port, begun)).startswith(b"HTTP/1.1 400")


async def test_the_second_request_of_a_connection_is_bounded_too() -> None:
    async with served(_read_all, Hasty) as port:
        answer = await _answer(port, HEAD.replace(b"close", b"keep-alive") + b"\r\n", HEAD)
    assert answer.count(b"HTTP/1.1 200") == 1
    assert answer.count(b"HTTP/1.1 400") == 1


async def _tell(scope: Scope, receive: Receive, send: Send) -> None:
    await PlainTextResponse("too many" if SURPLUS in scope["state"] else "served")(scope, receive, send)


async def test_as_many_connections_are_served_as_there_may_be_files(monkeypatch: pytest.MonkeyPatch) -> None:
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    monkeypatch.setattr(ServerConfig, "files_elsewhere", files - 6)
    kept = HEAD.replace(b"close", b"keep-alive") + b"\r\n"
    async with served(_tell) as port:
        connections = [await asyncio.open_connection("127.0.0.1", port) for _ in range(8)]
        told = []
        for reader, writer in connections:
            writer.write(kept)
            head = await reader.readuntil(b"\r\n\r\n")
            told.append((await reader.readexactly(len(b"served") if b"length: 6" in head else 8)).decode())
        assert told == ["served"] * 6 + ["too many"] * 2
        for _, writer in connections:
            writer.close()


async def test_connections_that_are_too_many_and_say_nothing_are_soon_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    monkeypatch.setattr(ServerConfig, "files_elsewhere", files - 6)
    async with served(_tell) as port:
        connections = [await asyncio.open_connection("127.0.0.1", port) for _ in range(6 + MOST_SURPLUS + 2)]
        async with asyncio.timeout(5):
            ends = [await _rest(reader) for reader, _ in connections[6:]]
        assert [end[:12] for end in ends] == [b"HTTP/1.1 400"] * MOST_SURPLUS + [b""] * 2
        assert not any(reader.at_eof() for reader, _ in connections[:6])
        for _, writer in connections:
            writer.close()


async def _rest(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read()
    except ConnectionResetError:
        return b""
