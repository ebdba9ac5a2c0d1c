"""What a provider answered, believed only as far as it can be checked. Anything else is an error of its own.

An answer holds the provider's words, and a hostile one may echo a text: no error here repeats any of it.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from eai.gateway.calls import Usage, Vectors
from eai.gateway.errors import EmbeddingDimensionMismatch, ModelSubstituted, ProviderResponseInvalid
from eai.gateway.ports import ProviderCompletion, ProviderDelta, ProviderEmbeddings, ProviderRanking
from eai.gateway.registry import Capability, Model

_DATED = re.compile(r"-\d{4}-?\d{2}-?\d{2}")
_TOKENS_PER_BYTE = 4
_TOKENS_OF_A_FRAME = 1_000_000
"""What a provider may wrap around a text, with much to spare: an upper limit for belief, not for charging."""


def check_model(model: Model, answered: str | None) -> None:
    """Return unless the answer names another model. Raises ModelSubstituted.

    A name may have lost or gained the path before it (`BAAI/bge-m3`). A chat model may answer under the
    date of its present version; of an embedding model another version is another space.
    """
    if answered is None:
        return
    wanted = model.provider_model
    if answered == wanted or answered.endswith(f"/{wanted}") or wanted.endswith(f"/{answered}"):
        return
    if model.capability is Capability.CHAT:
        name = wanted.rpartition("/")[2]
        own = answered.rpartition("/")[2]
        if own.startswith(name) and _DATED.fullmatch(own[len(name) :]):
            return
    raise ModelSubstituted(model=model.name)


def embedding_matrix(model: Model, count: int, dimensions: int, answer: ProviderEmbeddings) -> Vectors:
    """One vector per text, in the order of the texts.

    Raises ModelSubstituted, EmbeddingDimensionMismatch and ProviderResponseInvalid.
    """
    check_model(model, answer.model)
    by_index = dict(answer.items)
    if len(answer.items) != count or by_index.keys() != set(range(count)):
        raise ProviderResponseInvalid(model=model.name)
    rows = [by_index[index] for index in range(count)]
    other = next((len(row) for row in rows if len(row) != dimensions), None)
    if other is not None:
        raise EmbeddingDimensionMismatch(model=model.name, expected=dimensions, received=other)
    vectors = _matrix(rows)
    if vectors is None:
        raise ProviderResponseInvalid(model=model.name)
    check_vectors(model, count, dimensions, vectors)
    return vectors


def _matrix(rows: Sequence[Sequence[float]]) -> Vectors | None:
    try:
        # What exceeds the range becomes infinite, which is found out later.
        with np.errstate(over="ignore"):
            read = np.asarray(rows)
            # Told which type is wanted, the library would read texts and truths as numbers.
            return read.astype(np.float32, copy=False) if read.dtype.kind in "fiu" else None
    except (ValueError, TypeError, OverflowError):
        return None


def check_vectors(model: Model, count: int, dimensions: int, vectors: Vectors) -> None:
    """Return when every vector is usable. Raises EmbeddingDimensionMismatch and ProviderResponseInvalid."""
    if vectors.ndim != 2 or len(vectors) != count:  # noqa: PLR2004, rows and columns
        raise ProviderResponseInvalid(model=model.name)
    if vectors.shape[1] != dimensions:
        raise EmbeddingDimensionMismatch(
            model=model.name, expected=dimensions, received=int(vectors.shape[1])
        )
    if not (np.isfinite(vectors).all() and np.any(vectors, axis=1).all()):
        raise ProviderResponseInvalid(model=model.name)


def check_ranking(
    model: Model, documents: Sequence[str], answer: ProviderRanking
) -> tuple[tuple[int, float], ...]:
    """Index and score (0 to 1) of the documents that were ranked, the best first.

    What was not sent is dropped and what is missing stays unranked; of a repeated index the best counts.
    Scores beyond 0 and 1 are log-odds and become probabilities, all of them, which changes no order.
    Raises ModelSubstituted and ProviderResponseInvalid.
    """
    check_model(model, answer.model)
    known = [(index, score) for index, score in answer.items if 0 <= index < len(documents)]
    if documents and not known:
        raise ProviderResponseInvalid(model=model.name)
    if not all(math.isfinite(score) for _, score in known):
        raise ProviderResponseInvalid(model=model.name)
    best: dict[int, float] = {}
    for index, score in known:
        best[index] = max(score, best.get(index, -math.inf))
    ranked = sorted(best.items(), key=lambda each: (-each[1], each[0]))
    if all(0 <= score <= 1 for score in best.values()):
        return tuple(ranked)
    return tuple((index, _probability(score)) for index, score in ranked)


def _probability(odds: float) -> float:
    return 0.5 * (1 + math.tanh(odds / 2))


def check_completion(model: Model, answer: ProviderCompletion) -> tuple[str, str, Usage | None]:
    """The words, why they ended, and what they took where the provider said so. Raises ModelSubstituted."""
    check_model(model, answer.model)
    read, written = answer.read_tokens, answer.written_tokens
    usage = None if read is None or written is None else Usage(read, written)
    return answer.content, answer.finish_reason or "stop", usage


def believed(tokens: int | None, texts: Sequence[str]) -> int | None:
    """`tokens` as a provider counted them for `texts`; None for a number that cannot be one."""
    return _believed(tokens, size_of(texts))


def size_of(texts: Sequence[str]) -> int:
    """The bytes of `texts` together."""
    return sum(len(text.encode(errors="surrogatepass")) for text in texts)


def _believed(tokens: int | None, size: int) -> int | None:
    is_possible = tokens is not None and 0 <= tokens <= _TOKENS_PER_BYTE * size + _TOKENS_OF_A_FRAME
    # Nobody reads words for nothing.
    return tokens if is_possible and (tokens or not size) else None


def believed_completion(
    answer: ProviderCompletion, texts: Sequence[str], most_written: int
) -> ProviderCompletion:
    """The same answer without counts that cannot be one."""
    read, written = _believed_counts(answer, size_of(texts), most_written)
    return replace(answer, read_tokens=read, written_tokens=written)


def believed_delta(piece: ProviderDelta, size: int, most_written: int) -> ProviderDelta:
    """The same piece without counts that cannot be one; `size` is `size_of` what was sent.

    Some servers count with every piece, so that what was sent is not measured again for each.
    """
    if piece.read_tokens is None and piece.written_tokens is None:
        return piece
    read, written = _believed_counts(piece, size, most_written)
    return replace(piece, read_tokens=read, written_tokens=written)


def _believed_counts(
    answer: ProviderCompletion | ProviderDelta, size: int, most_written: int
) -> tuple[int | None, int | None]:
    written = answer.written_tokens
    is_possible = written is not None and 0 <= written <= most_written + _TOKENS_OF_A_FRAME
    return _believed(answer.read_tokens, size), written if is_possible else None
