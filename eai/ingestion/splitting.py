"""Cuts a text into passages that overlap a little, where a reader would pause, and wherever rights change."""

from collections.abc import Iterable
from itertools import pairwise

from haystack import Document
from haystack.components.preprocessors import RecursiveDocumentSplitter

SEPARATORS = ["\n\n", "\n", ". ", "\t", " "]

Span = tuple[int, int]


def split(text: str, *, size: int, overlap: int, edges: Iterable[int] = ()) -> list[Span]:
    """Spans `[start, end)` of at most `size` characters, in order, covering every word of `text`.

    Each begins up to `overlap` characters before the end of the one before, at a word. Spans are
    trimmed of white space and never empty. `overlap` is at most half of `size`. No span crosses one of
    `edges`, not even by its overlap: what is said on one side must not be found on the other.
    """
    # The splitter's own overlap would cut words in two and leave crumbs of nothing but overlap.
    splitter = RecursiveDocumentSplitter(
        split_length=size - overlap, split_overlap=0, split_unit="char", separators=SEPARATORS
    )
    inside = {at for at in edges if 0 < at < len(text)}
    return [
        (begin + start, begin + end)
        for begin, upto in pairwise(sorted({0, *inside, len(text)}))
        for start, end in _stretch(splitter, text[begin:upto], overlap)
    ]


def _stretch(splitter: RecursiveDocumentSplitter, text: str, overlap: int) -> list[Span]:
    """The spans of a text that has no edge in it."""
    spans: list[Span] = []
    for piece in splitter.run([Document(content=text)])["documents"]:
        start = piece.meta["split_idx_start"]
        end = start + len(piece.content or "")
        if text[start:end].strip():
            earliest = max(start - overlap, spans[-1][0] + 1) if spans else start
            spans.append(_trimmed(text, _first_word(text, earliest, start), end))
    return spans


def _first_word(text: str, earliest: int, latest: int) -> int:
    """Where the first word begins at or after `earliest`; `latest` when none begins before that."""
    return next((at for at in range(earliest, latest) if text[at - 1].isspace()), latest)


def _trimmed(text: str, start: int, end: int) -> Span:
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())
