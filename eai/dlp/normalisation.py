"""One spelling for what looks alike, and where in the given text each character of it came from."""

import unicodedata
from functools import lru_cache

from eai.kernel.respelled import Respelled

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


def normalise(text: str) -> Respelled:
    """Read full-width, styled and foreign digits as digits, whatever stands between them unseen left out."""
    if text.isascii():
        return Respelled(text)
    folds = {character: fold(character) for character in set(text)}
    if all(character == folded for character, folded in folds.items()):
        return Respelled(text)
    return Respelled.of(text, {ord(character): folded for character, folded in folds.items()})


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
