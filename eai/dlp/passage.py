"""A normalised text as recognisers read it, with the cheap and exact looks that dismiss most texts."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

SEPARATORS = bytes(range(0x21)) + b".-"
"""What may stand between the digits of a number: spaces, breaks, controls, points and hyphens."""

STROKES = b"/_+"
"""What may stand there besides, in one form all along: slashes, low lines, and the spaces of an address."""

_DIGITS = b"0123456789"
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def _names(**members: bytes) -> bytes:
    """A translation of each member's signs to its name, and of all others to a question mark."""
    names = {sign: ord(name) for name, signs in members.items() for sign in signs}
    return bytes(names.get(sign, ord("?")) for sign in range(256))


_SHAPES = _names(d=_DIGITS, a=_LETTERS)
_HEXADECIMAL = _names(h=_DIGITS + b"ABCDEFabcdef")
_BETWEEN_PAIRS = SEPARATORS + b":,"
_TOKENS = _names(t=_DIGITS + _LETTERS + b"+/_-")


class Passage:
    """A text, and what is left of it without separators.

    `signs` are its characters that are no separators, those beyond ASCII as question marks; their `shape`
    has d for a digit and a for a letter.
    """

    def __init__(self, text: str, separators: bytes = SEPARATORS) -> None:
        self.text = text
        self._separators = separators
        self._ascii = text.encode("ascii", "replace")

    @cached_property
    def signs(self) -> bytes:
        return self._ascii.translate(None, self._separators)

    @cached_property
    def wide(self) -> "Passage | None":
        """The same with strokes among the separators; None where it has none."""
        written = self._ascii
        has_any = b"/" in written or b"_" in written or b"+" in written
        return Passage(self.text, SEPARATORS + STROKES) if has_any else None

    @cached_property
    def shape(self) -> bytes:
        return self.signs.translate(_SHAPES)

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where `[start, end)` of the signs, which is not empty, lies in the text."""
        return self._places.item(start), self._places.item(end - 1) + 1

    def has_token(self, least: int) -> bool:
        """Whether so many letters, digits and signs of base64 stand side by side anywhere."""
        return b"t" * least in self._tokens

    def has_bytes(self, least: int) -> bool:
        """Whether so many bytes may be written in hexadecimal anywhere, in one row or with gaps."""
        return b"hh" * least in self._ascii.translate(_HEXADECIMAL, _BETWEEN_PAIRS)

    @cached_property
    def _tokens(self) -> bytes:
        return self._ascii.translate(_TOKENS)

    @cached_property
    def _places(self) -> NDArray[np.intp]:
        is_sign = np.ones(256, np.bool_)
        is_sign[list(self._separators)] = False
        return np.flatnonzero(is_sign[np.frombuffer(self._ascii, np.uint8)])
