"""Takes entities out of a text, leaves the rest as it is, and knows where everything went."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple


class Removal(NamedTuple):
    """A part of a text, and the name of what it is."""

    start: int
    end: int
    entity: str


class Replaced(NamedTuple):
    """A part `[source_start, source_end)` of the text that was given, and what stands there instead."""

    source_start: int
    source_end: int
    start: int
    end: int
    entity: str


@dataclass(frozen=True)
class Redacted:
    """`text` with what was `replaced` in it, in order; nothing overlaps."""

    text: str
    replaced: tuple[Replaced, ...] = ()

    @classmethod
    def of(cls, text: str, removals: Iterable[Removal]) -> "Redacted":
        """`[<entity>]` in place of each part; of parts that overlap, one, named after the longest."""
        pieces, replaced, position, length = [], [], 0, 0
        for removal in _merged(removals):
            name = f"[{removal.entity}]"
            start = length + removal.start - position
            pieces += [text[position : removal.start], name]
            replaced.append(Replaced(removal.start, removal.end, start, start + len(name), removal.entity))
            position, length = removal.end, start + len(name)
        return cls("".join([*pieces, text[position:]]), tuple(replaced))

    def moved(self, start: int, end: int) -> tuple[int, int]:
        """Where `[start, end)` of the given text is now; of what was replaced in part, the whole."""
        return self._moved_start(start), self._moved_end(end)

    def origin(self, start: int, end: int) -> tuple[int, int]:
        """Where `[start, end)` of this text was in the given one; of a name in part, the whole of it."""
        return self._turned.moved(start, end)

    def _moved_start(self, start: int) -> int:
        place = bisect_right(self._starts, start) - 1
        if place < 0:
            return start
        last = self.replaced[place]
        return last.start if start < last.source_end else start - last.source_end + last.end

    def _moved_end(self, end: int) -> int:
        place = bisect_left(self._starts, end) - 1
        if place < 0:
            return end
        last = self.replaced[place]
        return last.end if end <= last.source_end else end - last.source_end + last.end

    @cached_property
    def _turned(self) -> "Redacted":
        turned = (Replaced(r.start, r.end, r.source_start, r.source_end, r.entity) for r in self.replaced)
        return Redacted("", tuple(turned))

    @cached_property
    def _starts(self) -> Sequence[int]:
        return [each.source_start for each in self.replaced]


def redact(text: str, removals: Iterable[Removal]) -> str:
    """`text` with `[<entity>]` in place of each part; of parts that overlap, one, named after the longest."""
    return Redacted.of(text, removals).text


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
