"""The order both adapters promise: best score first, ties by id, also across the cut.

An engine orders equals as they lie in its segments, which changes when it restarts. So more is fetched
than was asked for, and when even that ends inside a tie (a paragraph that hundreds of documents share),
far more.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from eai.kernel.ids import PointId

TIE_SLACK = 16
TIE_LIMIT = 1_024
"""Beyond so many equals at the cut the engine's order decides which of them are seen."""


class Scored(Protocol):
    """A point as an engine returns it."""

    @property
    def score(self) -> float: ...


Found = TypeVar("Found", bound=Scored)


def ends_in_a_tie(points: Sequence[Scored], limit: int) -> bool:
    """Whether more points than those fetched with TIE_SLACK may share the score at the cut."""
    return len(points) == limit + TIE_SLACK and limit > 0 and points[-1].score == points[limit - 1].score


def ranked(
    points: Sequence[Found], limit: int, id_of: Callable[[Found], PointId]
) -> list[tuple[PointId, float]]:
    """The best `limit` of `points`, which come in falling order of score."""
    if len(points) > limit > 0:
        cut = points[limit - 1].score
        points = [*points[:limit], *(point for point in points[limit:] if point.score == cut)]
    by_rank = sorted((-point.score, id_of(point)) for point in points)
    return [(identity, -negated) for negated, identity in by_rank[:limit]]
