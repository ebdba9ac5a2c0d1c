"""Which revision of a thing a caller has seen, and whether it changed since.

A tag reads `"<revision>-<digest>"`: changes compare the revision, reads compare the whole, because what
a caller is shown (counts, for instance) may change without a new revision.
"""

import re
from hashlib import blake2b
from typing import Annotated, TypeVar

from fastapi import Depends, Header
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

Shown = TypeVar("Shown", bound=BaseModel)

_ANY = "*"
_OURS = re.compile(r'"(\d{1,18})-[0-9a-f]{16}"')
_NO_REVISION = -1
_READS = frozenset({"GET", "HEAD"})


class NotModified(Exception):
    """The caller already has what `tag` names."""

    def __init__(self, tag: str) -> None:
        super().__init__()
        self.tag = tag


class Tags:
    """The tags of one request and its answer.

    `expected` is the revision that `If-Match` insists on; None when any will do. What is not a tag of
    ours can match no revision.
    """

    def __init__(
        self, response: Response, if_match: str | None, if_none_match: str | None, *, is_read: bool = True
    ) -> None:
        self._response = response
        self._is_read = is_read
        self._if_none_match = if_none_match if is_read else None
        self.expected = _revision(if_match)

    def show(self, value: Shown, revision: int) -> Shown:
        """`value` with its tag on the answer. Raises NotModified when the caller has just this already."""
        digest = blake2b(value.model_dump_json().encode(), digest_size=8).hexdigest()
        tag = f'"{revision}-{digest}"'
        if self._if_none_match is not None and _names(self._if_none_match, tag):
            raise NotModified(tag)
        self._response.headers["etag"] = tag
        if self._is_read:
            self._response.headers["cache-control"] = "private, no-cache"
        return value


def _revision(if_match: str | None) -> int | None:
    if if_match is None or if_match.strip() == _ANY:
        return None
    match = _OURS.fullmatch(if_match.strip())
    return int(match[1]) if match else _NO_REVISION


def _names(header: str, tag: str) -> bool:
    tags = [listed.strip().removeprefix("W/") for listed in header.split(",")]
    return tag in tags or _ANY in tags


async def tags_of(
    request: Request,
    response: Response,
    if_match: Annotated[str | None, Header(description="Change only what still has this ETag.")] = None,
    if_none_match: Annotated[str | None, Header(description="Answer 304 if this ETag still holds.")] = None,
) -> Tags:
    """The tags of this request."""
    return Tags(response, if_match, if_none_match, is_read=request.method in _READS)


ETag = Annotated[Tags, Depends(tags_of)]
