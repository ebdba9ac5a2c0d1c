"""Takes entities out of a text and leaves the rest as it is."""

from collections.abc import Iterable
from typing import NamedTuple


class Removal(NamedTuple):
    """A part of a text, and the name of what it is."""

    start: int
    end: int
    entity: str


def redact(text: str, removals: Iterable[Removal]) -> str:
    """`text` with `[<entity>]` in place of each part; of parts that overlap, one, named after the longest."""
    pieces, position = [], 0
    for removal in _merged(removals):
        pieces += [text[position : removal.start], f"[{removal.entity}]"]
        position = removal.end
    return "".join([*pieces, text[position:]])


def _merged(removals: Iterable[Removal]) -> list[Removal]:
    merged: list[Removal] = []
    longest = 0
    for removal in sorted(removals):
        length = removal.end - removal.start
        if not merged or removal.start >= merged[-1].end:
            merged.append(removal)
            longest = length
            continue
        last = merged[-1]
        entity = removal.entity if length > longest else last.entity
        longest = max(longest, length)
        merged[-1] = Removal(last.start, max(last.end, removal.end), entity)
    return merged
