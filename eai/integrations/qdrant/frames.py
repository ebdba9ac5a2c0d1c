"""Messages on the engine's socket: a length of four bytes, little-endian, then that much MessagePack."""

from typing import Any

import ormsgpack

MAX_FRAME_BYTES = 32 * 2**20
_PREFIX_BYTES = 4


class FrameError(ConnectionError):
    """The other side does not speak this protocol; the connection is of no further use."""


def pack(message: list[Any]) -> bytes:
    """One frame. Raises ValueError for a message that no receiver would take."""
    body = ormsgpack.packb(message)
    if len(body) > MAX_FRAME_BYTES:
        raise ValueError(f"a message of {len(body)} bytes does not fit a frame")
    return len(body).to_bytes(_PREFIX_BYTES, "little") + body


class FrameReader:
    """Puts messages together again from whatever pieces the socket delivers."""

    def __init__(self) -> None:
        self._pending = bytearray()

    def feed(self, received: bytes) -> list[tuple[list[Any], int]]:
        """The messages that are complete now, each with its size. Raises FrameError at the first bad one."""
        self._pending += received
        complete, start = [], 0
        while (body := self._next_body(start)) is not None:
            complete.append((_unpack(body), len(body)))
            start += _PREFIX_BYTES + len(body)
        del self._pending[:start]
        return complete

    def _next_body(self, start: int) -> bytes | None:
        head = start + _PREFIX_BYTES
        if len(self._pending) < head:
            return None
        size = int.from_bytes(self._pending[start:head], "little")
        if size > MAX_FRAME_BYTES:
            raise FrameError(f"a frame of {size} bytes")
        if len(self._pending) < head + size:
            return None
        return bytes(self._pending[head : head + size])


def _unpack(body: bytes) -> list[Any]:
    try:
        message = ormsgpack.unpackb(body)
    except ormsgpack.MsgpackDecodeError as error:
        raise FrameError("a frame that is not MessagePack") from error
    if not isinstance(message, list):
        raise FrameError("a frame that is not a list")
    return message
