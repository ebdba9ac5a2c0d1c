"""`local-hash-256`: compares spelling, not meaning. For development and tests.

Each word and each run of three letters adds to one of 256 places, or subtracts from it. Long words
count more, because short ones are mostly grammar. Sums are whole numbers and the last steps are a
square root and a division, so that every machine computes the same bits; a change to any of it, or to
`fold`, is a new `revision` in the catalogue.
"""

import asyncio
import re
import zlib
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from eai.gateway.ports import Embedded, EmbeddingRole
from eai.knowledge.lexical import fold

DIMENSIONS = 256
_TRIGRAM_WEIGHT = 3
_LONGEST_GRAMMAR_WORD = 3
_HEAVIEST_WORD = 10
_FEW = 4


class HashEmbedder:
    """Vectors of spelling. `tokens` counts words."""

    async def warm_up(self) -> None:
        """There is nothing to load."""

    async def embed(self, texts: Sequence[str], role: EmbeddingRole) -> Embedded:  # noqa: ARG002 both sides alike
        """One vector per text, in the order of `texts`."""
        if len(texts) <= _FEW:
            return _embed(texts)
        return await asyncio.to_thread(_embed, texts)


def hash_vector(text: str) -> NDArray[np.float32]:
    """The unit vector of a text. One without letters or digits is the first axis: never zero."""
    return _vector(_words(text))


def _embed(texts: Sequence[str]) -> Embedded:
    vectors = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
    tokens = 0
    for row, text in enumerate(texts):
        words = _words(text)
        vectors[row] = _vector(words)
        tokens += len(words)
    return Embedded(vectors=vectors, tokens=tokens)


def _words(text: str) -> list[str]:
    return _word().findall(fold(text))


def _vector(words: Sequence[str]) -> NDArray[np.float32]:
    if not words:
        return _first_axis()
    lengths = np.fromiter(map(len, words), dtype=np.int64, count=len(words))
    numbers = _mixed(np.concatenate((_word_numbers(words), _trigram_numbers(words))))
    weights = np.concatenate((_word_weights(lengths), _trigram_weights(lengths)))
    weights[(numbers & np.uint32(DIMENSIONS)) != 0] *= -1
    sums = np.bincount(numbers & np.uint32(DIMENSIONS - 1), weights=weights, minlength=DIMENSIONS)
    sizes = np.abs(sums)
    total = sizes.sum()
    if total == 0:
        return _first_axis()
    # The root keeps one frequent word from drowning the others; the sum of squares is then `total`.
    vector: NDArray[np.float32] = np.copysign(np.sqrt(sizes / total), sums).astype(np.float32)
    return vector


def _word_weights(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.minimum(np.maximum(lengths - 2, 1), _HEAVIEST_WORD)


def _trigram_weights(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """One weight for the three letters around each letter of each word."""
    return np.repeat((lengths > _LONGEST_GRAMMAR_WORD) * _TRIGRAM_WEIGHT, lengths)


def _word_numbers(words: Sequence[str]) -> NDArray[np.uint32]:
    return np.fromiter((zlib.crc32(word.encode()) for word in words), dtype=np.uint32, count=len(words))


def _trigram_numbers(words: Sequence[str]) -> NDArray[np.uint32]:
    padded = f" {' '.join(words)} ".encode("utf-32-le")
    letters = np.frombuffer(padded, dtype="<u4").astype(np.uint32)
    before, here, after = letters[:-2], letters[1:-1], letters[2:]
    numbers: NDArray[np.uint32] = (_mixed(_mixed(before) + here) + after)[here != ord(" ")]
    return numbers


def _mixed(numbers: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Spread each number over all 32 bits (a multiply-xorshift finaliser; overflow is meant)."""
    mixed = (numbers ^ (numbers >> np.uint32(16))) * np.uint32(0x7FEB352D)
    mixed = (mixed ^ (mixed >> np.uint32(15))) * np.uint32(0x846CA68B)
    return mixed ^ (mixed >> np.uint32(16))


def _first_axis() -> NDArray[np.float32]:
    axis = np.zeros(DIMENSIONS, dtype=np.float32)
    axis[0] = 1.0
    return axis


@cache
def _word() -> re.Pattern[str]:
    return re.compile(r"[^\W_]+")
