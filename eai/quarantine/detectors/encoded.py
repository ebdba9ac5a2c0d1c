"""Instructions written so that a reader does not see them and a model can decode them."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from eai.quarantine.codings import CODINGS
from eai.quarantine.pieces import Pieces
from eai.quarantine.ports import Mark
from eai.quarantine.reasons import Reason
from eai.quarantine.severity import Severity
from eai.quarantine.specimen import Specimen

_MOST_LAYERS = 2
"""A text in a text in a text is not read: whoever encodes more often is not understood by models either."""


class _Part(NamedTuple):
    start: int
    end: int
    text: str


class Encoded:
    """Finds encoded parts that decode to instructions; what else is encoded is nobody's business here."""

    name = "encoded"
    version = 2

    def marks(self, specimen: Specimen) -> Iterator[Mark]:
        """Each encoded part with what it says; the outermost where it is encoded several times."""
        parts = [_Part(*part) for coding in CODINGS for part in coding.parts(specimen.text)]
        for _ in range(_MOST_LAYERS):
            pieces = Pieces.of([part.text for part in parts])
            for number, meaning in pieces.that_speak_to_model():
                start, end, _text = parts[number]
                yield Mark(Reason.ENCODED_INSTRUCTIONS, Severity.HIGH, start, end, meaning=meaning)
            parts = list(_deeper(pieces, parts))


def _deeper(pieces: Pieces, parts: Sequence[_Part]) -> Iterator[_Part]:
    for coding in CODINGS:
        for start, _, text in coding.parts(pieces.text):
            outer = parts[pieces.number(start)]
            yield _Part(outer.start, outer.end, text)


ENCODED = Encoded()
