"""Finds numbers in texts whatever stands between their digits.

A number that people write in groups is told from the columns of a table by three ways of standing: in one
piece; `alone`, with no other digits before or after it in its line or among the lines; and in the groups
that this kind of number is usually written in, joined by one and the same sign.
Every pattern passes over separators without coming back, so that none takes more than linear time.
"""

import re
from collections.abc import Iterator
from functools import cache

from eai.dlp.passage import SEPARATORS, STROKES, Passage

Span = tuple[int, int]

STROKE = "[/_+]{1,2}"
SIGN = r"(?P<sign>[\x00-\x20.\-]++)"
STARTS = r"(?<![0-9])"
ENDS = r"(?![0-9])"
_NONE = dict.fromkeys(SEPARATORS + STROKES)
_BREAK = re.compile(r"[\x00-\x08\x0a-\x1f]")
_ROW_IN_LINE = re.compile(r"[0-9](?:[\t\x20.\-]*+[0-9])*+")


def compact(text: str) -> bytes:
    """The signs of an ASCII text without its separators."""
    return text.translate(_NONE).encode()


def rows(shape: bytes, least: bytes) -> Iterator[Span]:
    """The longest parts of a passage's shape that begin with `least` and go on with its last sign."""
    return (row.span() for row in _row(least).finditer(shape))


def stroked_rows(passage: Passage, least: bytes) -> Iterator[Span]:
    """Where in the text such a row goes on across strokes."""
    wide = passage.wide
    if wide is not None and least in wide.shape:
        for row in rows(wide.shape, least):
            yield wide.place(*row)


def may_hold_row(passage: Passage, least: bytes) -> bool:
    """Whether there is such a row in either reading."""
    return least in passage.shape or (passage.wide is not None and least in passage.wide.shape)


def lines(text: str, least: int) -> Iterator[Span]:
    """The rows of digits in the single lines of `text`, where it has several and they are long enough."""
    if _BREAK.search(text):
        for row in _ROW_IN_LINE.finditer(text):
            if row.end() - row.start() >= least:
                yield row.span()


@cache
def _row(least: bytes) -> re.Pattern[bytes]:
    return re.compile(b"%b%b*+" % (least, least[-1:]))
