"""BM25 cut in two: a chunk's weights go into the index, a question's carry what is known of a base.

The dot product of both is the BM25 score. `k1` and `b` were chosen on the sets of
`benchmarks/retrieval_quality`, where scores are flat around them; a small `b` also makes an old average
length matter less.
"""

import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import log

import numpy as np

from eai.knowledge.lexical.language import Language
from eai.knowledge.ports import SparseVector

K1 = 0.9
B = 0.4
TYPICAL_LENGTH = 120.0
"""Terms in a chunk of 800 characters: the average length to assume before a base has chunks."""
ENOUGH_CHUNKS = 100
"""With fewer, a language's counts do not tell a rare word from a common one."""


@dataclass(frozen=True, slots=True)
class QueryWeights:
    """A question as the keyword leg sees it.

    `attainable` is the score of an average passage that holds each term of the question once, in the
    language that the base's statistics know the question's words from; it gives raw scores of
    different questions one scale. 0.0 for a question without terms.
    """

    vector: SparseVector
    attainable: float


def term_number(term: str) -> int:
    """The number of a term in sparse vectors: unsigned, 32 bits, the same for ever (CRC-32 of UTF-8)."""
    return zlib.crc32(term.encode())


def document_weights(terms: Mapping[str, int], average_length: float) -> SparseVector:
    """BM25 weights of a chunk, without IDF. `average_length` is the one fixed for its generation."""
    counts = np.fromiter(terms.values(), dtype=np.float64, count=len(terms))
    length = counts.sum() / max(average_length, 1.0)
    weights = counts * (K1 + 1) / (counts + K1 * (1 - B + B * length))
    return _sparse(terms, weights)


def query_weights(
    terms: Mapping[str, int],
    document_frequency: Mapping[str, int],
    chunks_by_language: Mapping[str, int],
) -> QueryWeights:
    """IDF times the count of each term in the question.

    The statistics count only chunks that everyone who may ask at all may see: `document_frequency` by
    term, `chunks_by_language` by language. Nothing else enters a weight, so a weight tells nothing of
    other chunks. A term they do not hold is as rare as a term can be: in a chunk that not everyone may
    see it is most likely what sets that chunk apart. Without any statistics every IDF is 1.
    """
    chunks = _chunk_counts(chunks_by_language)
    weights = {
        term: count * _idf(document_frequency.get(term, 0), chunks[term[:2]]) for term, count in terms.items()
    }
    vector = _sparse(weights, np.fromiter(weights.values(), dtype=np.float64, count=len(weights)))
    return QueryWeights(vector, _attainable(weights, document_frequency))


def _chunk_counts(chunks_by_language: Mapping[str, int]) -> dict[str, int]:
    # Languages compete in one list. A word of a language with few counted chunks would weigh next to
    # nothing beside the others, and its first chunk would change every score: it borrows their size.
    borrowed = min(max(chunks_by_language.values(), default=0), ENOUGH_CHUNKS)
    return {language.value: max(chunks_by_language.get(language, 0), borrowed) for language in Language}


def _idf(frequency: int, chunks: int) -> float:
    if chunks == 0:
        return 1.0
    # The two counts may be read a moment apart.
    absent = max(chunks - frequency, 0)
    return log(1 + (absent + 0.5) / (frequency + 0.5))


def _attainable(weights: Mapping[str, float], document_frequency: Mapping[str, int]) -> float:
    known = dict.fromkeys(Language, 0.0)
    total = dict.fromkeys(Language, 0.0)
    for term, weight in weights.items():
        language = Language(term[:2])
        total[language] += weight
        if term in document_frequency:
            known[language] += weight
    return max((known[language], total[language]) for language in Language)[1]


def _sparse(terms: Iterable[str], weights: np.ndarray[tuple[int], np.dtype[np.float64]]) -> SparseVector:
    numbers = np.fromiter((zlib.crc32(term.encode()) for term in terms), dtype=np.uint32, count=len(weights))
    # Two terms of one text may share a number; an index takes each number once.
    indices, positions = np.unique(numbers, return_inverse=True)
    return SparseVector(
        indices=indices,
        values=np.bincount(positions, weights=weights, minlength=len(indices)).astype(np.float32),
    )
