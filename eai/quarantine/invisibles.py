"""Characters that a reader does not see, by what they are good for."""

import unicodedata
from enum import StrEnum
from functools import lru_cache


class Kind(StrEnum):
    """Families of invisible characters."""

    SOFT_HYPHEN = "soft_hyphen"
    JOINER = "joiner"
    ZERO_WIDTH = "zero_width"
    BIDI = "bidi"
    TAG = "tag"
    VARIATION = "variation"
    CONTROL = "control"


SOFT_HYPHEN = "\u00ad"
JOINERS = "\u200c\u200d"
BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_FILLERS = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060\u2061\u2062\u2063\u2064\u2065\u2800\u3164\ufeff\uffa0"
    "\u206a\u206b\u206c\u206d\u206e\u206f\ufff9\ufffa\ufffb"
).union(map(chr, range(0x1D173, 0x1D17B)))
_TAGS = range(0xE0000, 0xE0080)
_SELECTORS = (range(0xFE00, 0xFE10), range(0xE0100, 0xE01F0), range(0x180B, 0x1810))
_WHITE = "\t\n\v\f\r\x1c\x1d\x1e\x1f\x85"


@lru_cache(maxsize=1 << 16)
def kind_of(sign: str) -> Kind | None:
    """The family of one character; None for one that is seen, or is white space."""
    if sign == SOFT_HYPHEN:
        return Kind.SOFT_HYPHEN
    if sign in JOINERS:
        return Kind.JOINER
    if sign in BIDI:
        return Kind.BIDI
    return _by_block(sign)


def _by_block(sign: str) -> Kind | None:
    if sign in _FILLERS:
        return Kind.ZERO_WIDTH
    code = ord(sign)
    if code in _TAGS:
        return Kind.TAG
    if any(code in selectors for selectors in _SELECTORS):
        return Kind.VARIATION
    return Kind.CONTROL if unicodedata.category(sign) == "Cc" and sign not in _WHITE else None


def is_invisible(sign: str) -> bool:
    """Whether a reader sees nothing of it and it is no white space."""
    return kind_of(sign) is not None
