"""Characters that change the direction of text where no right-to-left text is."""

import re
from collections.abc import Iterator

from eai.quarantine.clusters import clusters, extent
from eai.quarantine.ports import Mark
from eai.quarantine.reasons import Reason
from eai.quarantine.scripts import is_right_to_left
from eai.quarantine.severity import Severity
from eai.quarantine.specimen import Specimen

_OVERRIDDEN = re.compile("[\u202d\u202e]([^\u202c\u202d\u202e\n\u2029]*+)\u202c?")
_TURNING = re.compile("[\u202b\u2067][^\u202c\u2069\n\u2029]*+[\u202c\u2069]?")
_ANY = re.compile("[\u202a\u2066\u2068\u202c\u2069\u200e\u200f\u061c]++")
_NEIGHBOURHOOD = 2_000


class Bidi:
    """Finds text that a reader sees in another order than a model."""

    name = "bidi"
    version = 1

    def marks(self, specimen: Specimen) -> Iterator[Mark]:
        """Overrides everywhere, embeddings and marks in lines without right-to-left letters."""
        text = specimen.text
        if not specimen.has_unseen:
            return
        for match in _OVERRIDDEN.finditer(text):
            if any(map(str.isalnum, match[1])):
                yield Mark(Reason.BIDI_OVERRIDE, Severity.HIGH, *match.span(), meaning=match[1][::-1])
        for start, end in _lines(text):
            if not any(map(is_right_to_left, _seen(text[start:end]))):
                yield from _without_need(text, start, end)


def _lines(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    for line in re.split("([\n\u2029])", text):
        if any(sign in line for sign in "\u202b\u2067\u202a\u2066\u2068\u202c\u2069\u200e\u200f\u061c"):
            yield start, start + len(line)
        start += len(line)


def _seen(line: str) -> str:
    return re.sub("[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]+", "", line)


def _without_need(text: str, start: int, end: int) -> Iterator[Mark]:
    for match in _TURNING.finditer(text, start, end):
        yield Mark(Reason.BIDI_WITHOUT_NEED, Severity.HIGH, *match.span())
    spans = (match.span() for match in _ANY.finditer(text, start, end))
    for group in clusters(spans, _NEIGHBOURHOOD):
        yield Mark(Reason.STRAY_INVISIBLE, Severity.LOW, *extent(group))


BIDI = Bidi()
