"""What LiteLLM's HTTP clients are made of here: one request to one host, through our own way out.

The library would follow redirects, read proxies from the environment and try again by itself. A client
over this transport can do none of it, and what came of its request is remembered apart from whatever
the library makes of it.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import AsyncExitStack

import httpx

from eai.platform.outbound import Opened, Outbound, OutboundFailed

_CREDENTIALS = frozenset({"authorization", "api-key", "x-api-key", "x-goog-api-key"})
_FORWARDED = frozenset({"accept", "content-type"})
"""All that a provider needs to be told besides a key; the library would add what it knows of this machine."""


class Strayed(Exception):
    """The library asked for something else than the one request it was given leave for."""


class Exchange(httpx.AsyncBaseTransport):
    """Lets `requests` requests through, to the origin of `url` and as whoever `api_key` is, nobody else.

    Keeps the worst `status` with its `headers`, and the first `error`; `has_succeeded` once any request did.
    """

    def __init__(
        self,
        outbound: Outbound,
        url: str,
        api_key: str | None,
        *,
        deadline_s: float,
        limit_bytes: int,
        requests: int = 1,
    ) -> None:
        self._outbound = outbound
        self._origin = _origin(httpx.URL(url))
        self._credentials = set() if api_key is None else {api_key, f"Bearer {api_key}"}
        self._ends_at = asyncio.get_running_loop().time() + deadline_s
        self._limit_bytes = limit_bytes
        self._left = requests
        self._opened = AsyncExitStack()
        self.status: int | None = None
        self.headers: Mapping[str, str] = {}
        self.error: Exception | None = None
        self.has_succeeded = False

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Raises what is then found in `error`: Strayed, AddressRefused or OutboundFailed."""
        try:
            opened = await self._open(request)
        except Exception as error:
            # Whatever the library makes of it, the provider tells it apart by what is kept here.
            self.error = self.error or error
            raise
        self.has_succeeded = self.has_succeeded or httpx.codes.is_success(opened.status)
        if self.status is None or opened.status > self.status:
            self.status, self.headers = opened.status, opened.headers
        return httpx.Response(opened.status, headers=opened.headers, stream=_Body(self._chunks(opened)))

    async def aclose(self) -> None:
        """Let go of the connection."""
        await self._opened.aclose()

    async def _open(self, request: httpx.Request) -> Opened:
        if self._left == 0 or _origin(request.url) != self._origin:
            raise Strayed
        self._left -= 1
        return await self._opened.enter_async_context(
            self._outbound.open(
                request.method,
                str(request.url),
                headers=dict(filter(self._is_forwarded, request.headers.items())),
                body=await request.aread(),
                deadline_s=max(self._ends_at - asyncio.get_running_loop().time(), 0.0),
            )
        )

    def _is_forwarded(self, header: tuple[str, str]) -> bool:
        name, value = header
        # A key that is not the endpoint's was found in the environment.
        return value in self._credentials if name in _CREDENTIALS else name in _FORWARDED

    async def _chunks(self, opened: Opened) -> AsyncGenerator[bytes, None]:
        try:
            async for chunk in opened.chunks(limit_bytes=self._limit_bytes):
                yield chunk
        except OutboundFailed as failed:
            self.error = self.error or failed
            raise


class _Body(httpx.AsyncByteStream):
    def __init__(self, chunks: AsyncGenerator[bytes, None]) -> None:
        self._chunks = chunks

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self._chunks

    async def aclose(self) -> None:
        await self._chunks.aclose()


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port
