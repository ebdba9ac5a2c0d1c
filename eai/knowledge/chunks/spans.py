"""Stricter rights of parts of a text, and what they mean for a passage cut from it."""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eai.access.classification import Classification, highest
from eai.knowledge.documents.drafts import Readers, SpanRights


@dataclass(frozen=True, slots=True)
class OwnRights:
    """What a passage adds to its document's rights."""

    readers: Readers = None
    classification: Classification | None = None


class Strictest:
    """The rights of passages under these spans: the strictest of every span that a passage touches.

    Only those whom all these spans name may read it; none is below `floor`. The spans are cut into disjoint
    stretches once, so that a thousand of them over a text of fifty thousand passages cost little more than
    one.
    """

    def __init__(self, spans: Sequence[SpanRights], floor: Classification | None = None) -> None:
        self._floor = floor
        self._starts = sorted({at for span in spans for at in (span.start, span.end)})
        self._rights = _stretches(self._starts, spans)
        before = [OwnRights(), *self._rights]
        changed = zip(self._starts, self._rights, before, strict=False)
        self.edges = [at for at, own, last in changed if own != last]
        """Where the rights of the text change, in order: no passage should lie on both sides of one."""

    def divides(self, start: int, end: int) -> bool:
        """Whether rights change within the passage `[start, end)`."""
        return bisect_right(self.edges, start) < bisect_left(self.edges, end)

    def between(self, start: int, end: int) -> OwnRights:
        """The rights of the passage `[start, end)`."""
        readers: Readers = None
        level = self._floor
        first = max(bisect_right(self._starts, start) - 1, 0)
        for own in self._rights[first : bisect_left(self._starts, end)]:
            readers = both(readers, own.readers)
            level = own.classification if level is None else highest(level, own.classification)
        return OwnRights(readers, level)


def _stretches(starts: Sequence[int], spans: Sequence[SpanRights]) -> list[OwnRights]:
    """What every text from each start to the next adds to its document's rights; the last adds nothing."""
    begin, end = defaultdict(list), defaultdict(list)
    for place, span in enumerate(spans):
        begin[span.start].append((place, span))
        end[span.end].append((place, span))
    over, stretches = _Overlap(), []
    for at in starts:
        for place, span in end[at]:
            over.leave(place, span)
        for place, span in begin[at]:
            over.enter(place, span)
        stretches.append(over.rights())
    return stretches


class _Overlap:
    """The spans over one place of a text, counted so that each is looked at when it begins and ends only."""

    def __init__(self) -> None:
        self._narrowing: dict[int, frozenset[str]] = {}
        self._named: Counter[str] = Counter()
        self._levels: Counter[Classification] = Counter()

    def enter(self, place: int, span: SpanRights) -> None:
        if span.readers is not None:
            self._narrowing[place] = span.readers
            self._named.update(span.readers)
        if span.classification is not None:
            self._levels[span.classification] += 1

    def leave(self, place: int, span: SpanRights) -> None:
        if span.readers is not None:
            del self._narrowing[place]
            self._named.subtract(span.readers)
        if span.classification is not None:
            self._levels[span.classification] -= 1

    def rights(self) -> OwnRights:
        levels = [level for level, count in self._levels.items() if count]
        level = highest(*levels) if levels else None
        if not self._narrowing:
            return OwnRights(None, level)
        anybody = next(iter(self._narrowing.values()))
        everybody = (reader for reader in anybody if self._named[reader] == len(self._narrowing))
        return OwnRights(frozenset(everybody), level)


def both(first: Readers, second: Readers) -> Readers:
    """Whom two readers lists name together; `None` narrows nothing."""
    if first is None or second is None:
        return second if first is None else first
    return first & second


def spans_to_rows(spans: Sequence[SpanRights]) -> list[dict[str, Any]]:
    """The spans as they are stored."""
    return [
        {
            "start": span.start,
            "end": span.end,
            "readers": None if span.readers is None else sorted(span.readers),
            "classification": span.classification and span.classification.value,
        }
        for span in spans
    ]


def spans_from_rows(rows: Sequence[Mapping[str, Any]]) -> tuple[SpanRights, ...]:
    """What `spans_to_rows` was given."""
    return tuple(
        SpanRights(
            start=row["start"],
            end=row["end"],
            readers=None if row["readers"] is None else frozenset(row["readers"]),
            classification=row["classification"] and Classification(row["classification"]),
        )
        for row in rows
    )
