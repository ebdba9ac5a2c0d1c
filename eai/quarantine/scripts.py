"""What kind of letter stands beside an invisible character, since some scripts need them."""

import unicodedata
from functools import lru_cache

_JOINING = (
    (0x0600, 0x109F),  # Arabic and its kin, the Indic scripts, Thai to Myanmar
    (0x1780, 0x18AF), (0x1900, 0x1CFF), (0xA800, 0xABFF), (0xFB50, 0xFDFF), (0xFE70, 0xFEFE),
    (0x10A00, 0x11FFF),
)  # fmt: skip
_UNSPACED = ((0x0E00, 0x109F), (0x1780, 0x17FF), (0x1100, 0x11FF), (0x2E80, 0xA4CF), (0xAC00, 0xD7FF))
UNSPACED = "".join(f"{chr(low)}-{chr(high)}" for low, high in _UNSPACED)
"""As part of a class of signs in a regular expression."""
_RIGHT_TO_LEFT = frozenset({"R", "AL", "AN"})
_EMOJI = frozenset({"So", "Sk"})
_EMOJI_PARTS = "\ufe0f\u20e3"


@lru_cache(maxsize=1 << 14)
def needs_joiners(sign: str) -> bool:
    """Whether words of this character's script are spelled with joiners and non-joiners."""
    return _within(sign, _JOINING)


@lru_cache(maxsize=1 << 14)
def is_unspaced(sign: str) -> bool:
    """Whether words of this character's script follow each other without spaces."""
    return _within(sign, _UNSPACED)


@lru_cache(maxsize=1 << 14)
def is_emoji_part(sign: str) -> bool:
    """Whether emoji sequences are made of it."""
    return sign in _EMOJI_PARTS or unicodedata.category(sign) in _EMOJI


@lru_cache(maxsize=1 << 14)
def is_right_to_left(sign: str) -> bool:
    """Whether it is written from right to left."""
    return unicodedata.bidirectional(sign) in _RIGHT_TO_LEFT


def _within(sign: str, ranges: tuple[tuple[int, int], ...]) -> bool:
    code = ord(sign)
    return any(low <= code <= high for low, high in ranges)
