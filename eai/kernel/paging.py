"""A page of a list, and the opaque cursor to the next one."""

import base64
import binascii
import hmac
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Generic, TypeVar

import orjson

from eai.kernel.errors import BadRequest

Item = TypeVar("Item")
MAX_PAGE_SIZE = 200
DEFAULT_PAGE_SIZE = 50
_MAC_BYTES = 16


class CursorInvalid(BadRequest):
    """The cursor was altered, or belongs to another list or caller."""

    code = "cursor_invalid"


@dataclass(frozen=True, slots=True)
class PageRequest:
    """Which part of a list is wanted: up to `limit` items after the key `after`."""

    limit: int = DEFAULT_PAGE_SIZE
    after: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """Items in a stable order; `next_key` is the sort key of the last one when more follow."""

    items: Sequence[Item]
    next_key: tuple[str, ...] | None = None


class Cursors:
    """Seals sort keys so that a client can neither read meaning into them nor make its own.

    `scope` names the list and its reader (tenant, principal, route, filters): a cursor opens only
    under the scope that sealed it.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key

    def seal(self, scope: str, key: tuple[str, ...]) -> str:
        """Opaque text for `key`, URL-safe."""
        body = orjson.dumps(key)
        return base64.urlsafe_b64encode(self._mac(scope, body) + body).decode().rstrip("=")

    def open(self, scope: str, cursor: str) -> tuple[str, ...]:
        """The key that `seal` was given. Raises CursorInvalid for anything else."""
        try:
            raw = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError) as error:
            raise CursorInvalid from error
        mac, body = raw[:_MAC_BYTES], raw[_MAC_BYTES:]
        if not hmac.compare_digest(mac, self._mac(scope, body)):
            raise CursorInvalid
        return tuple(orjson.loads(body))

    def _mac(self, scope: str, body: bytes) -> bytes:
        message = scope.encode() + b"\0" + body
        return hmac.new(self._key, message, sha256).digest()[:_MAC_BYTES]
