"""Rows of three words, as numbers: what texts are compared by.

Where words follow each other without spaces, each sign counts as one.
"""

import re
from collections.abc import Sequence
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from eai.quarantine.scripts import UNSPACED

WORD = re.compile(rf"(?!\W)[{UNSPACED}]|[^\W{UNSPACED}]+")
WORD_WITHOUT_DIGITS = re.compile(rf"(?![\W\d_])[{UNSPACED}]|[^\W\d_{UNSPACED}]+")
ROW = 3
"""Words of a row."""
_FACTORS = np.array([0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9], np.uint64)
_MIX = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))

Hashes = NDArray[np.uint64]


def rows(words: Sequence[str]) -> Hashes:
    """A number for each row of a text of these words, in its order; the same for equal rows."""
    if len(words) < ROW:
        return np.zeros(0, np.uint64)
    hashed = _words(words)
    count = len(hashed) - ROW + 1
    numbers = np.zeros(count, np.uint64)
    for place, factor in enumerate(_FACTORS):
        # Sums of products keep the order of the words: each place has a factor of its own.
        numbers += hashed[place : place + count] * factor
    for shift, factor in zip((30, 27), _MIX, strict=True):
        numbers = (numbers ^ (numbers >> np.uint64(shift))) * factor
    return numbers ^ (numbers >> np.uint64(31))


def _words(words: Sequence[str]) -> Hashes:
    known = {word: blake2b(word.encode(), digest_size=8).digest() for word in set(words)}
    return np.frombuffer(b"".join(known[word] for word in words), "<u8").astype(np.uint64)
