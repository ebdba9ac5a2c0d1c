"""Things that stand close to each other, taken as one."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

Span = tuple[int, int]
_Placed = TypeVar("_Placed", bound=Span)


def clusters(spans: Iterable[_Placed], reach: int) -> Iterator[Sequence[_Placed]]:
    """Spans, which come in order, in groups with less than `reach` characters between neighbours.

    More spans make groups larger and never smaller: what was counted together stays together.
    """
    group: list[_Placed] = []
    for span in spans:
        if group and span[0] - group[-1][1] >= reach:
            yield group
            group = []
        group.append(span)
    if group:
        yield group


def extent(group: Sequence[Span]) -> Span:
    """From the start of the first to the end of the last."""
    return group[0][0], group[-1][1]
