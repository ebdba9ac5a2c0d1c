"""What the scanner finds in one text, in a form that reads well in a test."""

from eai.dlp.normalisation import normalise
from eai.dlp.recognition import RECOGNISERS, recognise


def found(text: str) -> list[tuple[str, str]]:
    """Each entity with the part of the text that is it."""
    read = normalise(text)
    spans = [
        (str(one.entity), *read.origin(one.start, one.end)) for one in recognise([read.text], RECOGNISERS)
    ]
    return [(entity, text[start:end]) for entity, start, end in spans]


def entities(text: str) -> set[str]:
    return {entity for entity, _ in found(text)}
