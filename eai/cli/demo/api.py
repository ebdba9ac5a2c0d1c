"""The API as the demo calls it: with one key, and with sentences for what goes wrong."""

from collections.abc import AsyncIterator, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import Any, Self

import httpx2

Json = dict[str, Any]

_TIMEOUT_S = 60.0
_PAGE = 200


class DemoFailed(Exception):
    """The demo cannot go on; the text says why, and where to look."""


class Refused(DemoFailed):
    """The API answered with an error; `status` and `code` are its own."""

    def __init__(self, request: str, status: int, code: str, message: str) -> None:
        super().__init__(f"{request} was answered with {status} {code}: {message}")
        self.status = status
        self.code = code
        self.message = message


class Api:
    """A client that acts for the holder of one key."""

    def __init__(self, url: str, key: str) -> None:
        self._client = httpx2.AsyncClient(
            base_url=url,
            headers={"Authorization": f"Bearer {key}", "Accept-Language": "en"},
            trust_env=False,
            timeout=_TIMEOUT_S,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._client.aclose()

    async def get(self, path: str, **parameters: str | int) -> Json:
        """The body of an answer; raises Refused for any error."""
        return (await self._request("GET", path, params=parameters)).json()  # type: ignore[no-any-return]

    async def post(self, path: str, body: Mapping[str, Any]) -> Json:
        """The body of an answer; raises Refused for any error."""
        return (await self._request("POST", path, json=dict(body))).json()  # type: ignore[no-any-return]

    async def patch(self, path: str, body: Mapping[str, Any]) -> Json:
        """The body of an answer; raises Refused for any error."""
        return (await self._request("PATCH", path, json=dict(body))).json()  # type: ignore[no-any-return]

    async def delete(self, path: str) -> None:
        """Raises Refused for any error."""
        await self._request("DELETE", path)

    async def everything(self, path: str) -> AsyncIterator[Json]:
        """Every entry of a list, page by page."""
        cursor: str | None = None
        while True:
            more = {} if cursor is None else {"cursor": cursor}
            page = await self.get(path, limit=_PAGE, **more)
            for entry in page["data"]:
                yield entry
            cursor = page["next_cursor"]
            if cursor is None:
                return

    async def download(self, path: str, file: Path) -> None:
        """Write an answer to `file` as it comes."""
        try:
            async with self._client.stream("GET", path) as answer:
                if answer.is_error:
                    await answer.aread()
                    raise _refused(answer)
                with file.open("wb") as target:
                    async for piece in answer.aiter_bytes():
                        target.write(piece)
        except httpx2.TransportError as error:
            raise DemoFailed(f"GET {path} got no answer: {error}") from error

    async def _request(self, method: str, path: str, **parts: Any) -> httpx2.Response:
        try:
            answer = await self._client.request(method, path, **parts)
        except httpx2.TransportError as error:
            raise DemoFailed(f"{method} {path} got no answer: {error or type(error).__name__}") from error
        if answer.is_error:
            raise _refused(answer)
        return answer


def _refused(answer: httpx2.Response) -> Refused:
    request = f"{answer.request.method} {answer.request.url.path}"
    try:
        error = answer.json()["error"]
        return Refused(request, answer.status_code, error["code"], error["message"])
    except (ValueError, KeyError, TypeError):
        return Refused(request, answer.status_code, HTTPStatus(answer.status_code).phrase, answer.text[:200])
