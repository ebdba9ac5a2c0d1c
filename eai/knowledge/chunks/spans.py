"""Stricter rights of parts of a text, and what they mean for a passage cut from it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eai.access.classification import Classification, highest
from eai.knowledge.documents.drafts import Readers, SpanRights


@dataclass(frozen=True, slots=True)
class OwnRights:
    """What a passage adds to its document's rights."""

    readers: Readers = None
    classification: Classification | None = None


def rights_between(start: int, end: int, spans: Iterable[SpanRights]) -> OwnRights:
    """The rights of a passage `[start, end)`: the strictest of every span that it touches.

    Only those whom all these spans name may read it.
    """
    readers: Readers = None
    level: Classification | None = None
    for span in spans:
        if span.start < end and start < span.end:
            readers = both(readers, span.readers)
            level = span.classification if level is None else highest(level, span.classification)
    return OwnRights(readers, level)


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
