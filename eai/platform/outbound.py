"""The one way out over HTTP: vetted addresses, no proxy, no redirect, bounded in time and in bytes.

Built on the connection pool alone: there is no cookie, no `.netrc`, no environment and no redirect to
forget about. Failures carry a kind and nothing else, because what a library says of one may quote a
header or a body.
"""

import asyncio
import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Iterable, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TypeVar

import httpcore2
import httpx2

from eai.platform.egress import Allowance, Destination, Egress, Resolve, system_resolve

T = TypeVar("T")

_CONNECT_S = 5.0
_MOST_CONNECTIONS = 512
_MOST_IDLE = 64
_IDLE_S = 30.0
_DEFAULT_LIMIT = 8 * 1024 * 1024


class Failure(StrEnum):
    """How far an exchange came."""

    UNSENT = "unsent"
    """Nothing left: no address, no connection, no trust in who answered, or a request that is none."""
    BROKEN = "broken"
    """The connection broke or spoke no HTTP after the request had begun to leave."""
    DEADLINE = "deadline"
    UNREADABLE = "unreadable"
    """More than was asked for, or in a form that was not asked for."""


class OutboundFailed(Exception):
    """An exchange that brought no whole answer. Says nothing of what was exchanged."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.value)
        self.failure = failure

    @property
    def was_sent(self) -> bool:
        """Whether the other side may have seen the request."""
        return self.failure is not Failure.UNSENT


_FAILURES: Mapping[type[Exception], Failure] = {
    httpcore2.ConnectError: Failure.UNSENT,
    httpcore2.ConnectTimeout: Failure.UNSENT,
    httpcore2.PoolTimeout: Failure.UNSENT,
    httpcore2.LocalProtocolError: Failure.UNSENT,
    httpcore2.UnsupportedProtocol: Failure.UNSENT,
    httpcore2.TimeoutException: Failure.DEADLINE,
    httpcore2.NetworkError: Failure.BROKEN,
    httpcore2.ProtocolError: Failure.BROKEN,
    TimeoutError: Failure.DEADLINE,
    OSError: Failure.BROKEN,
}
"""The most particular first."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A whole answer. Header names are in lower case; of repeated ones the last stands."""

    status: int
    headers: Mapping[str, str]
    body: bytes = field(repr=False)


class Opened:
    """An answer whose body has not been read. Lives as long as the block that opened it."""

    def __init__(self, response: httpcore2.Response, ends_at: float) -> None:
        self._response = response
        self._ends_at = ends_at
        self.status = response.status
        self.headers = {
            name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers
        }

    async def chunks(self, *, limit_bytes: int) -> AsyncGenerator[bytes, None]:
        """The body as it arrives. Raises OutboundFailed, also beyond the limit or the deadline."""
        # Nothing is asked for in compressed form; what comes so anyway may be a bomb.
        if self.headers.get("content-encoding", "identity") != "identity":
            raise OutboundFailed(Failure.UNREADABLE)
        if _length(self.headers) > limit_bytes:
            raise OutboundFailed(Failure.UNREADABLE)
        read = 0
        async with aclosing(self._response.aiter_stream()) as body:
            while (chunk := await _bounded(anext(body, None), self._ends_at)) is not None:
                read += len(chunk)
                if read > limit_bytes:
                    raise OutboundFailed(Failure.UNREADABLE)
                yield chunk


def _length(headers: Mapping[str, str]) -> int:
    text = headers.get("content-length", "0")
    return int(text) if text.isdecimal() else 0


class Outbound:
    """One per process; connections are kept for reuse, each to an address that was vetted for its host."""

    def __init__(
        self,
        allow: Iterable[str] = (),
        *,
        resolve: Resolve = system_resolve,
        trust: ssl.SSLContext | None = None,
        most_connections: int = _MOST_CONNECTIONS,
    ) -> None:
        """`allow` holds the hosts and networks beyond the public internet.

        `trust` replaces the machine's own certificate authorities. Raises ValueError for an entry that is
        neither host nor network.
        """
        self._egress = Egress(Allowance.parse(allow), resolve=resolve)
        self._trust = trust
        self._most_connections = most_connections

    async def vet(self, url: str) -> None:
        """Return when `url` may be reached. Raises AddressRefused.

        A name without an address is not refused: there is nothing to be reached.
        """
        destination = Destination.parse(url)
        try:
            async with asyncio.timeout(_CONNECT_S):
                await self._egress.vet(destination)
        except OSError:
            return

    async def post(
        self,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes,
        deadline_s: float,
        limit_bytes: int = _DEFAULT_LIMIT,
    ) -> Answer:
        """Send `body` and read the answer whole. A body that tells of no success is not read.

        Raises AddressRefused and OutboundFailed.
        """
        async with self.open("POST", url, headers=headers, body=body, deadline_s=deadline_s) as opened:
            parts = []
            if 200 <= opened.status < 300:  # noqa: PLR2004, the range of success
                parts = [chunk async for chunk in opened.chunks(limit_bytes=limit_bytes)]
            return Answer(opened.status, opened.headers, b"".join(parts))

    @asynccontextmanager
    async def open(
        self, method: str, url: str, *, headers: Mapping[str, str], body: bytes, deadline_s: float
    ) -> AsyncIterator[Opened]:
        """Send a request and read the head of its answer; leaving the block lets go of the connection.

        `deadline_s` bounds everything, the body included. A redirect is an answer like any other.
        Raises AddressRefused and OutboundFailed.
        """
        destination = Destination.parse(url)
        now = asyncio.get_running_loop().time()
        ends_at = now + deadline_s
        connect_s = min(deadline_s, _CONNECT_S)
        request = _request(method, destination, headers, body, connect_s)
        await _bounded(self._egress.vet(destination), now + connect_s, otherwise=Failure.UNSENT)
        pool = self._plain if destination.is_plain else self._encrypted
        response = await _bounded(pool.handle_async_request(request), ends_at)
        try:
            yield Opened(response, ends_at)
        finally:
            await response.aclose()

    async def close(self) -> None:
        """Let go of every connection."""
        for name in ("_plain", "_encrypted"):
            if name in self.__dict__:
                await self.__dict__[name].aclose()

    @cached_property
    def _plain(self) -> httpcore2.AsyncConnectionPool:
        return _pool(_Pinned(self._egress, is_plain=True), None, self._most_connections)

    @cached_property
    def _encrypted(self) -> httpcore2.AsyncConnectionPool:
        # Certificates are read when the first encrypted connection needs them. The environment has no say.
        trust = self._trust or httpx2.create_ssl_context(trust_env=False)
        return _pool(_Pinned(self._egress, is_plain=False), trust, self._most_connections)


def _pool(
    network: httpcore2.AsyncNetworkBackend, trust: ssl.SSLContext | None, most_connections: int
) -> httpcore2.AsyncConnectionPool:
    return httpcore2.AsyncConnectionPool(
        ssl_context=trust,
        max_connections=most_connections,
        max_keepalive_connections=_MOST_IDLE,
        keepalive_expiry=_IDLE_S,
        network_backend=network,
    )


def _request(
    method: str, destination: Destination, headers: Mapping[str, str], body: bytes, connect_s: float
) -> httpcore2.Request:
    written = {
        "Host": destination.authority,
        "Accept-Encoding": "identity",
        **headers,
        "Content-Length": str(len(body)),
    }
    # Checked here, because the library's own error would quote the header, which may be a key.
    if not all(value.isascii() and value.isprintable() for value in written.values()):
        raise OutboundFailed(Failure.UNSENT)
    return httpcore2.Request(
        method,
        httpcore2.URL(
            scheme=destination.scheme,
            host=destination.host,
            port=destination.port,
            target=destination.path or "/",
        ),
        headers=[(name.encode(), value.encode()) for name, value in written.items()],
        content=body,
        # Whoever waits for a connection has sent nothing, and must not be taken for somebody who has.
        extensions={"timeout": {"connect": connect_s, "pool": connect_s}},
    )


async def _bounded(work: Awaitable[T], ends_at: float, *, otherwise: Failure | None = None) -> T:
    """The result of `work`, or OutboundFailed without the library's own words, not even as context."""
    try:
        async with asyncio.timeout_at(ends_at):
            return await work
    except tuple(_FAILURES) as error:
        failure = otherwise or next(f for kind, f in _FAILURES.items() if isinstance(error, kind))
    raise OutboundFailed(failure)


class _Pinned(httpcore2.AsyncNetworkBackend):
    """Connects to vetted addresses only; names are for certificates and `Host` headers."""

    def __init__(self, egress: Egress, *, is_plain: bool) -> None:
        self._egress = egress
        self._is_plain = is_plain
        self._network = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109, the library's signature
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        addresses = self._egress.pinned(host, is_plain=self._is_plain)
        each_s = (timeout or _CONNECT_S) / len(addresses)
        for address in addresses:
            try:
                return await self._network.connect_tcp(address, port, each_s, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        self._egress.doubt(host)
        raise httpcore2.ConnectError
