"""Cutting text into words: one spelling for each, whatever its accents, case or apostrophes."""

import re
import unicodedata
from functools import cache

MAX_WORD_LENGTH = 64
"""A longer run of letters is cut: no name is so long, and terms are keys of a table."""

_APOSTROPHES = (
    "\N{RIGHT SINGLE QUOTATION MARK}",
    "\N{LEFT SINGLE QUOTATION MARK}",
    "\N{MODIFIER LETTER APOSTROPHE}",
)
_UNDECOMPOSED = (("œ", "oe"), ("æ", "ae"), ("ø", "o"), ("đ", "d"), ("ł", "l"))


def fold(text: str) -> str:
    """`text` in NFKC and lower case, without accents and with one kind of apostrophe."""
    if text.isascii():
        return text.lower()
    for apostrophe in _APOSTROPHES:
        text = text.replace(apostrophe, "'")
    bare = _accents().sub("", unicodedata.normalize("NFKD", text))
    folded = unicodedata.normalize("NFKC", bare).casefold()
    for letter, spelling in _UNDECOMPOSED:
        folded = folded.replace(letter, spelling)
    return folded


def words(text: str) -> list[str]:
    """The words of `text` in order, folded. Hyphens separate, digits stay.

    What French elides (`l'`, `qu'`) and English contracts (`'s`, `'ll`) is dropped in every language,
    since the language of a query is unknown and both sides must cut alike.
    """
    folded = fold(text)
    found = _word().findall(folded)
    if "'" not in folded:
        return found
    return [part for word in found for part in (_parts(word) if "'" in word else (word,))]


def _parts(word: str) -> list[str]:
    parts = word.split("'")
    while len(parts) > 1 and parts[0] in _ELIDED:
        del parts[0]
    if len(parts) > 1 and parts[-1] in _CONTRACTED:
        del parts[-1]
    return parts


_ELIDED = frozenset(["c", "d", "j", "l", "m", "n", "s", "t", "qu", "jusqu", "lorsqu", "puisqu", "quoiqu"])
_CONTRACTED = frozenset(["s", "t", "d", "m", "re", "ve", "ll"])


@cache
def _word() -> re.Pattern[str]:
    letters = rf"[^\W_]{{1,{MAX_WORD_LENGTH}}}"
    return re.compile(rf"{letters}(?:'{letters})*")


@cache
def _accents() -> re.Pattern[str]:
    return re.compile("[\N{COMBINING GRAVE ACCENT}-\N{COMBINING LATIN SMALL LETTER X}]")
