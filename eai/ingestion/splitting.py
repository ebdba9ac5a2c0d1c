"""Cuts a text into passages that overlap a little, where a reader would pause."""

from collections.abc import Iterator

from haystack import Document
from haystack.components.preprocessors import RecursiveDocumentSplitter

SEPARATORS = ["\n\n", "\n", ". ", " "]

Span = tuple[int, int]


def split(text: str, *, size: int, overlap: int) -> list[Span]:
    """Spans `[start, end)` of at most `size` characters, in order, covering every word of `text`.

    Neighbours share up to `overlap` characters, cut at a word. Spans are trimmed of white space, and a
    span that would add nothing to the one before is left out.
    """
    splitter = RecursiveDocumentSplitter(
        split_length=size, split_overlap=overlap, split_unit="char", separators=SEPARATORS
    )
    documents = splitter.run([Document(content=text)])["documents"]
    starts = ((document.meta["split_idx_start"], len(document.content)) for document in documents)
    return list(_useful(text, ((start, start + length) for start, length in starts)))


def _useful(text: str, spans: Iterator[Span]) -> Iterator[Span]:
    covered = 0
    for start, end in spans:
        if not text[max(covered, start) : end].strip():
            continue
        trimmed = _trimmed(text, _at_word(text, start, covered), end)
        covered = trimmed[1]
        yield trimmed


def _at_word(text: str, start: int, covered: int) -> int:
    """Where the first whole word of a span begins that starts inside what is `covered` already."""
    if start == 0 or start >= covered or text[start - 1].isspace():
        return start
    space = next((at for at in range(start, covered) if text[at].isspace()), None)
    return start if space is None else space


def _trimmed(text: str, start: int, end: int) -> Span:
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), end - len(piece) + len(piece.rstrip())
