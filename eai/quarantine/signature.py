"""A signature that texts which are nearly alike have nearly in common: SimHash over rows of three words.

Spelling that only looks different (case, accents, lookalikes, invisible characters) makes no difference.
"""

import numpy as np

from eai.quarantine.folding import fold
from eai.quarantine.rows import ROW, WORD, rows

NEAR = 10
"""Bits in which signatures of nearly the same text may differ; those of others seldom do in fewer than 20."""
_FEWEST_ROWS = 8
_BITS = 64


def signature(text: str) -> int | None:
    """The signature, as PostgreSQL keeps 64 bits; None for a text too short to have one of its own."""
    words = WORD.findall(fold(text).text.casefold())
    if len(words) < _FEWEST_ROWS + ROW - 1:
        return None
    distinct = np.unique(rows(words))
    majority = len(distinct) / 2
    signed = 0
    for bit in range(_BITS):
        if int(((distinct >> np.uint64(bit)) & np.uint64(1)).sum()) > majority:
            signed |= 1 << bit
    return signed - (1 << _BITS) if signed >> (_BITS - 1) else signed


def distance(one: int, other: int) -> int:
    """In how many bits two signatures differ."""
    return ((one ^ other) & ((1 << _BITS) - 1)).bit_count()
