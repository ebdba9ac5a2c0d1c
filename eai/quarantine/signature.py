"""A signature that texts which are nearly alike have nearly in common: SimHash over rows of three words.

Spelling that only looks different (case, accents, lookalikes, invisible characters) makes no difference.
"""

import re
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from eai.quarantine.folding import fold

NEAR = 10
"""Bits in which signatures of nearly the same text may differ; those of others seldom do in fewer than 20."""
_ROW = 3
_FEWEST_ROWS = 8
_BITS = 64
_WORD = re.compile(r"\w+")
_FACTORS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], np.uint64)
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))

_Hashes = NDArray[np.uint64]


def signature(text: str) -> int | None:
    """The signature, as PostgreSQL keeps 64 bits; None for a text too short to have one of its own."""
    words = _WORD.findall(fold(text).text.casefold())
    if len(words) < _FEWEST_ROWS + _ROW - 1:
        return None
    rows = np.unique(_rows(_words(words)))
    majority = len(rows) / 2
    signed = 0
    for bit in range(_BITS):
        if int(((rows >> np.uint64(bit)) & np.uint64(1)).sum()) > majority:
            signed |= 1 << bit
    return signed - (1 << _BITS) if signed >> (_BITS - 1) else signed


def distance(one: int, other: int) -> int:
    """In how many bits two signatures differ."""
    return ((one ^ other) & ((1 << _BITS) - 1)).bit_count()


def _words(words: list[str]) -> _Hashes:
    known = {word: blake2b(word.encode(), digest_size=8).digest() for word in set(words)}
    return np.frombuffer(b"".join(known[word] for word in words), "<u8").astype(np.uint64)


def _rows(words: _Hashes) -> _Hashes:
    count = len(words) - _ROW + 1
    rows = np.zeros(count, np.uint64)
    for place, factor in enumerate(_FACTORS):
        # Sums of products keep the order of the words: each place has a factor of its own.
        rows += words[place : place + count] * factor
    for shift, factor in zip((30, 27), _MIX, strict=True):
        rows = (rows ^ (rows >> np.uint64(shift))) * factor
    return rows ^ (rows >> np.uint64(31))
