"""How near the passages of a text are to those of its base, and how near those are to each other."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FEWEST_KNOWN = 64
"""Of fewer passages nobody can tell what is usual among them."""
MOST_KNOWN = 1_024
_AT_ONCE = 1_024
_OF_NORMAL = 1.4826
"""What a median of deviations is multiplied by to be the standard deviation of what is normal."""

Span = tuple[int, int]
Vectors = NDArray[np.float32]
Cosines = NDArray[np.float64]


@dataclass(frozen=True)
class Neighbourhood:
    """Cosines of some new passages, which stand at `spans` of their text, and of passages that answer.

    `within[i, j]` is that of two that answer, with -1 where both are the same one; `towards[i, j]` that of
    new passage `i` and of `j`, which answers.
    """

    spans: Sequence[Span]
    within: Cosines
    towards: Cosines


def neighbourhoods(spans: Sequence[Span], vectors: Vectors, known: Vectors) -> Iterator[Neighbourhood]:
    """The new passages, some at a time, beside those `known`; nothing where these are too few to tell.

    In which order those come, and how often the same one does, makes no difference.
    """
    distinct = np.unique(_unit(known), axis=0)
    if len(distinct) < FEWEST_KNOWN:
        return
    within = _cosines(distinct, distinct)
    np.fill_diagonal(within, -1)
    for start in range(0, len(spans), _AT_ONCE):
        part = slice(start, start + _AT_ONCE)
        yield Neighbourhood(spans[part], within, _cosines(_unit(vectors[part]), distinct))


def deviations(usual: Cosines, others: Cosines, *, least: float) -> Cosines:
    """How far `others` are above the median of what is `usual`, in its median absolute deviations.

    A deviation counts as no less than `least`: where all is alike, a little would be far away otherwise.
    """
    middle = np.median(usual)
    deviation = _OF_NORMAL * np.median(np.abs(usual - middle))
    return np.asarray((others - middle) / max(deviation, least))


def _unit(vectors: Vectors) -> Vectors:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.where(lengths == 0, 1, lengths), np.float32)


def _cosines(some: Vectors, others: Vectors) -> Cosines:
    return (some @ others.T).astype(np.float64)
