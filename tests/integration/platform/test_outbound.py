"""The way out, against real sockets on loopback: who is reached, and what cannot be made to happen."""

import asyncio
import logging
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from eai.platform.egress import AddressRefused
from eai.platform.logging import ExceptionText
from eai.platform.outbound import Failure, Outbound, OutboundFailed
from tests.fakes.certificates import encryption_for

Say = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
LISTED = ["models.example", "127.0.0.1", "::1"]
WELL = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


class Site:
    """A server that keeps what it reads; `say` answers each request."""

    def __init__(self, *answers: bytes, say: Say | None = None) -> None:
        self.answers = list(answers) or [WELL]
        self.say = say
        self.heads: list[bytes] = []
        self.connections = 0
        self.names: list[str | None] = []
        self.left = asyncio.Event()
        self.port = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                self.heads.append(await reader.readuntil(b"\r\n\r\n"))
                if self.say is not None:
                    await self.say(reader, writer)
                    return
                writer.write(self.answers[min(len(self.heads), len(self.answers)) - 1])
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            self.left.set()
        finally:
            writer.close()


@asynccontextmanager
async def listening(site: Site, tls: ssl.SSLContext | None = None) -> AsyncIterator[Site]:
    if tls is not None:
        tls.sni_callback = lambda _socket, name, _context: site.names.append(name)
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0, ssl=tls)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.close()


class Names:
    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = answers
        self.asked = 0

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked += 1
        return self.answers[min(self.asked, len(self.answers)) - 1]


@asynccontextmanager
async def going_out(
    allow: Sequence[str] = LISTED, *, names: Names | None = None, trust: ssl.SSLContext | None = None
) -> AsyncIterator[Outbound]:
    outbound = Outbound(allow, resolve=names or Names(["127.0.0.1"]), trust=trust)
    try:
        yield outbound
    finally:
        await outbound.close()


async def post(
    outbound: Outbound, url: str, *, deadline_s: float = 5.0, limit: int = 1000, **headers: str
) -> tuple[int, bytes]:
    answer = await outbound.post(url, headers=headers, body=b"{}", deadline_s=deadline_s, limit_bytes=limit)
    return answer.status, answer.body


async def failure_of(running: Awaitable[object]) -> OutboundFailed:
    with pytest.raises(OutboundFailed) as caught:
        await running
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None
    return caught.value


async def test_a_vetted_address_is_reached_under_the_name_that_was_asked_for() -> None:
    async with listening(Site()) as site, going_out() as outbound:
        assert await post(outbound, f"http://models.example:{site.port}/v1/x") == (200, b"{}")
        assert site.heads[0].startswith(b"POST /v1/x HTTP/1.1\r\n")
        assert f"Host: models.example:{site.port}\r\n".encode() in site.heads[0]


async def test_connections_are_used_again() -> None:
    async with listening(Site()) as site, going_out() as outbound:
        for _ in range(3):
            await post(outbound, f"http://127.0.0.1:{site.port}/")
        assert (site.connections, len(site.heads)) == (1, 3)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "models.example", "[::ffff:127.0.0.1]"])
async def test_what_is_not_listed_receives_nothing(host: str) -> None:
    async with listening(Site()) as site, going_out([]) as outbound:
        for scheme in ("http", "https"):
            with pytest.raises(AddressRefused):
                await post(outbound, f"{scheme}://{host}:{site.port}/")
            with pytest.raises(AddressRefused):
                await outbound.vet(f"{scheme}://{host}:{site.port}/")
        assert site.connections == 0


@pytest.mark.parametrize("host", ["127.1", "0x7f.1", "2130706433", "017700000001", "127.0.0.1."])
async def test_another_spelling_of_a_listed_address_is_no_way_in(host: str) -> None:
    async with listening(Site()) as site, going_out() as outbound:
        with pytest.raises(AddressRefused):
            await post(outbound, f"http://{host}:{site.port}/")
        assert site.connections == 0


async def test_a_name_that_changes_after_it_was_vetted_leads_where_it_led() -> None:
    names = Names(["127.0.0.1"], ["169.254.169.254"])
    async with listening(Site()) as site, going_out(names=names) as outbound:
        url = f"http://models.example:{site.port}/"
        await outbound.vet(url)
        assert await post(outbound, url) == (200, b"{}")
        assert names.asked == 1


async def test_a_name_is_asked_again_once_nobody_answered_there() -> None:
    names = Names(["::1"], ["127.0.0.1"])
    async with listening(Site()) as site, going_out(names=names) as outbound:
        url = f"http://models.example:{site.port}/"
        failed = await failure_of(post(outbound, url))
        assert failed.failure is Failure.UNSENT
        assert await post(outbound, url) == (200, b"{}")


async def test_the_next_address_is_tried_where_the_first_does_not_answer() -> None:
    async with listening(Site()) as site, going_out(names=Names(["::1", "127.0.0.1"])) as outbound:
        assert await post(outbound, f"http://models.example:{site.port}/") == (200, b"{}")


async def test_a_redirect_is_not_followed() -> None:
    async with listening(Site()) as inside, going_out() as outbound:
        away = f"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:{inside.port}/\r\nContent-Length: 0\r\n\r\n"
        async with listening(Site(away.encode())) as site:
            assert await post(outbound, f"http://127.0.0.1:{site.port}/") == (302, b"")
        assert inside.connections == 0


async def test_proxies_and_passwords_of_the_environment_are_ignored(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    async with listening(Site()) as proxy, listening(Site()) as site, going_out() as outbound:
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
            monkeypatch.setenv(name.lower(), f"http://127.0.0.1:{proxy.port}")
        (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password hunter2\n")
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
        assert await post(outbound, f"http://127.0.0.1:{site.port}/") == (200, b"{}")
        assert proxy.connections == 0
        assert b"authorization" not in site.heads[0].lower()


async def test_certificates_are_checked_against_the_name_and_not_the_address(tmp_path: Path) -> None:
    encryption = encryption_for("models.example", tmp_path)
    async with (
        listening(Site(), encryption.server) as site,
        going_out([*LISTED, "other.example"], trust=encryption.client) as outbound,
    ):
        assert await post(outbound, f"https://models.example:{site.port}/") == (200, b"{}")
        assert site.names == ["models.example"]
        for other in ("other.example", "127.0.0.1"):
            failed = await failure_of(post(outbound, f"https://{other}:{site.port}/"))
            assert failed.failure is Failure.UNSENT
        assert len(site.heads) == 1


async def test_an_authority_of_the_environment_is_not_trusted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    encryption = encryption_for("models.example", tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "chain.pem"))
    async with listening(Site(), encryption.server) as site, going_out() as outbound:
        failed = await failure_of(post(outbound, f"https://models.example:{site.port}/"))
        assert not failed.was_sent
        assert site.heads == []


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n" + b"a" * 1001,
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999999\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n" + b"a" * 1001 + b"\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + b"a" * 2000,
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc",
    ],
)
async def test_an_answer_that_is_too_much_is_not_read(answer: bytes) -> None:
    async with listening(Site(answer)) as site, going_out() as outbound:
        failed = await failure_of(post(outbound, f"http://127.0.0.1:{site.port}/"))
        assert failed.failure is Failure.UNREADABLE


async def test_an_endless_answer_ends_at_the_limit() -> None:
    async def endless(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            writer.write(b"1000\r\n" + b" " * 0x1000 + b"\r\n")
            await writer.drain()

    async with listening(Site(say=endless)) as site, going_out() as outbound:
        failed = await failure_of(post(outbound, f"http://127.0.0.1:{site.port}/", limit=1_000_000))
        assert failed.failure is Failure.UNREADABLE
        await asyncio.wait_for(site.left.wait(), 5)


async def test_the_deadline_holds_for_silence_and_for_drops() -> None:
    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(100)
        await reader.read(100)

    async def dripping(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n")
        while True:
            writer.write(b"a")
            await writer.drain()
            await asyncio.sleep(0.01)

    for say in (silent, dripping):
        async with listening(Site(say=say)) as site, going_out() as outbound:
            failed = await failure_of(post(outbound, f"http://127.0.0.1:{site.port}/", deadline_s=0.2))
            assert (failed.failure, failed.was_sent) == (Failure.DEADLINE, True)


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.9\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n{",
        b"HTTP/1.1 200 OK\r\nx: " + b"a" * 200_000,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
async def test_an_answer_that_is_none_is_a_broken_exchange(answer: bytes) -> None:
    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        await writer.drain()

    async with listening(Site(say=say)) as site, going_out() as outbound:
        failed = await failure_of(post(outbound, f"http://127.0.0.1:{site.port}/"))
        assert (failed.failure, failed.was_sent) == (Failure.BROKEN, True)


async def test_the_words_of_a_refusal_are_not_read() -> None:
    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 500 No\r\nContent-Length: 100000000\r\n\r\n" + b"a" * 1000)
        await writer.drain()
        await reader.read(100)
        await reader.read(100)

    async with listening(Site(say=say)) as site, going_out() as outbound:
        assert await post(outbound, f"http://127.0.0.1:{site.port}/") == (500, b"")


async def test_leaving_an_answer_closes_its_connection() -> None:
    async def say(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n")
        await writer.drain()
        while await reader.read(100):
            pass
        site.left.set()

    async with listening(Site(say=say)) as site, going_out() as outbound:
        url = f"http://127.0.0.1:{site.port}/"
        async with outbound.open("POST", url, headers={}, body=b"", deadline_s=60) as opened:
            chunks = opened.chunks(limit_bytes=100)
            assert await anext(chunks) == b"a"
            await chunks.aclose()
        await asyncio.wait_for(site.left.wait(), 1)


async def test_a_header_that_is_none_is_not_repeated(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with listening(Site()) as site, going_out() as outbound:
        for key in ("sk-canary\r\nX-Evil: 1", "sk-canary\x00", "sk-canäry", "sk-canary\n"):
            failed = await failure_of(post(outbound, f"http://127.0.0.1:{site.port}/", Authorization=key))
            assert not failed.was_sent
            assert "can" not in ExceptionText(show_messages=True).text(failed).split("\n")[0]
        assert site.connections == 0
    assert "canary" not in caplog.text


async def test_waiting_for_a_connection_that_others_hold_is_no_exchange() -> None:
    asked = asyncio.Event()

    async def hang(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
        asked.set()
        await reader.read()

    async with listening(Site(say=hang)) as site:
        outbound = Outbound(LISTED, resolve=Names(["127.0.0.1"]), most_connections=1)
        url = f"http://models.example:{site.port}/"
        held = asyncio.create_task(outbound.post(url, headers={}, body=b"{}", deadline_s=60))
        await asyncio.wait_for(asked.wait(), 5)
        with pytest.raises(OutboundFailed) as failed:
            await outbound.post(url, headers={}, body=b"{}", deadline_s=7)
        assert failed.value.failure is Failure.UNSENT
        assert len(site.heads) == 1
        held.cancel()
        await asyncio.wait({held})
        await outbound.close()
