"""A text spelled anew, and where in the given one each character of it came from."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Respelled:
    """`text` as it was spelled anew; without origins every character stands where it stood."""

    text: str
    _origins: NDArray[np.intp] | None = None

    @classmethod
    def of(cls, text: str, spellings: Mapping[int, str]) -> "Respelled":
        """`text` with the characters of these code points written so; others stay as they are."""
        widths = {code: len(spelling) for code, spelling in spellings.items() if len(spelling) != 1}
        return cls(text.translate(spellings), _origins(text, widths) if widths else None)

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """The part of the given text that `[start, end)` of this one, which is not empty, was made from."""
        if self._origins is None:
            return start, end
        return int(self._origins[start]), int(self._origins[end - 1]) + 1


_SHORT = 4_096
"""Characters that are looked up one by one sooner than a table of all code points is filled."""


def _origins(text: str, widths: Mapping[int, int]) -> NDArray[np.intp]:
    if len(text) < _SHORT:
        each = np.fromiter((widths.get(ord(sign), 1) for sign in text), np.intp, len(text))
        return np.repeat(np.arange(len(text)), each)
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    table = np.ones(int(codes.max()) + 1, np.int8)
    table[list(widths)] = list(widths.values())
    return np.repeat(np.arange(len(codes)), table[codes])
