"""One spelling for what looks alike, and where in the given text each character of it came from."""

import unicodedata
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

# Marks that change a character's look, and characters without any: neither ends a number for a reader.
_UNSEEN = frozenset({"Cf", "Mn", "Me"})
_FILLERS = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_SIGNS = {
    **dict.fromkeys("\u2028\u2029\x85", "\n"),
    **dict.fromkeys("\u00b7\u2022\u2027\u2219\u22c5\u30fb", "."),
    **dict.fromkeys("\u2044\u2215", "/"),
    "\u2212": "-",
}
"""Breaks of lines, points in the middle, slashes and the minus as ASCII has them."""
_OF_KIND = {"Pd": "-", "Zs": " "}


@dataclass(frozen=True, slots=True)
class Normalised:
    """`text` with ASCII digits, spaces and hyphens, and without what cannot be seen."""

    text: str
    _origins: NDArray[np.intp] | None = None

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """The part of the given text that `[start, end)` of this one, which is not empty, was made from."""
        if self._origins is None:
            return start, end
        return int(self._origins[start]), int(self._origins[end - 1]) + 1


def normalise(text: str) -> Normalised:
    """Read full-width, styled and foreign digits as digits, whatever stands between them unseen left out."""
    if text.isascii():
        return Normalised(text)
    folds = {character: fold(character) for character in set(text)}
    if all(character == folded for character, folded in folds.items()):
        return Normalised(text)
    plain = text.translate({ord(character): folded for character, folded in folds.items()})
    widths = {ord(character): len(folded) for character, folded in folds.items() if len(folded) != 1}
    return Normalised(plain, _origins(text, widths) if widths else None)


@lru_cache(maxsize=1 << 16)
def fold(character: str) -> str:
    """What one character is read as. A numeral that is no digit of a row, as in 10², stands by itself."""
    same = unicodedata.normalize("NFKC", character)
    plain = _plain(same) if len(same) == 1 else "".join(map(_plain, same))
    return f" {plain} " if unicodedata.category(character) == "No" else plain


def _plain(character: str) -> str:
    category = unicodedata.category(character)
    if category in {"Ll", "Lu"}:
        return character
    if category in _UNSEEN or character in _FILLERS:
        return ""
    if category == "Nd":
        return str(unicodedata.decimal(character))
    return _SIGNS.get(character) or _OF_KIND.get(category, character)


def _origins(text: str, widths: dict[int, int]) -> NDArray[np.intp]:
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    table = np.ones(int(codes.max()) + 1, np.int8)
    table[list(widths)] = list(widths.values())
    return np.repeat(np.arange(len(codes)), table[codes])
