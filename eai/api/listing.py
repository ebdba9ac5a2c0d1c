"""Lists: a page at a time, in a stable order, with a cursor that only its own reader can use."""

from typing import Annotated, Generic, TypeVar
from urllib.parse import parse_qsl, quote, urlencode

from fastapi import Depends, Query
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from eai.access.subject import Subject
from eai.api.requirement import SUBJECT
from eai.kernel.paging import DEFAULT_PAGE_SIZE, MAX_PAGE_SIZE, Cursors, Page, PageRequest

Item = TypeVar("Item")

_OWN = frozenset({"cursor", "limit"})


class Listing(BaseModel, Generic[Item]):
    """One page of a list. `next_cursor` is null on the last one."""

    data: list[Item]
    has_more: bool
    next_cursor: str | None


class Paging:
    """The page that a request asks for, and how its answer leads to the next one."""

    def __init__(self, request: Request, response: Response, limit: int, cursor: str | None) -> None:
        self._request = request
        self._response = response
        self._cursors: Cursors = request.app.state.cursors
        self.request = PageRequest(limit, self._cursors.open(self._scope, cursor) if cursor else None)

    def answer(self, page: Page[Item]) -> Listing[Item]:
        """The page as it is sent, with the `Link` to the next."""
        cursor = self._cursors.seal(self._scope, page.next_key) if page.next_key else None
        if cursor is not None:
            query = urlencode([*self._filters, ("limit", str(self.request.limit)), ("cursor", cursor)])
            self._response.headers["link"] = f'<{quote(self._request.scope["path"])}?{query}>; rel="next"'
        return Listing(data=list(page.items), has_more=cursor is not None, next_cursor=cursor)

    @property
    def _filters(self) -> list[tuple[str, str]]:
        query = parse_qsl(self._request.scope["query_string"].decode("latin-1"), keep_blank_values=True)
        return sorted((name, value) for name, value in query if name not in _OWN)

    @property
    def _scope(self) -> str:
        subject: Subject = self._request.scope[SUBJECT]
        path, filters = self._request.scope["path"], urlencode(self._filters)
        return f"{subject.tenant} {subject.principal} {path}?{filters}"


async def paging_of(
    request: Request,
    response: Response,
    limit: Annotated[
        int, Query(ge=1, le=MAX_PAGE_SIZE, description="Most entries wanted.")
    ] = DEFAULT_PAGE_SIZE,
    cursor: Annotated[str | None, Query(max_length=2000, description="From `next_cursor`.")] = None,
) -> Paging:
    """The page that the request asks for. Raises CursorInvalid."""
    return Paging(request, response, limit, cursor)


PageQuery = Annotated[Paging, Depends(paging_of)]
