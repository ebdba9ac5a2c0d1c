"""Finds a person's identifiers in texts, however they are written there. Pure.

An identifier is looked for as it is given, whatever its case, accents, width and hidden characters, with any
separators between the signs of a number, and in what is encoded in base64, hexadecimal or escapes. Where the
DLP's recognisers see an entity at the same place, the place was found by what they detect.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from eai.dlp.encoded import as_text, encoded_parts, unescaped
from eai.dlp.normalisation import fold, normalise
from eai.dlp.passage import Passage
from eai.dlp.recognition import RECOGNISERS, Found, recognise
from eai.kernel.respelled import Respelled

FEWEST_SIGNS = 4
"""Letters and digits that an identifier has at least: fewer would be found everywhere."""

_MOST_LAYERS = 2
_BETWEEN = r"[\s.,\-/_:+()]{0,3}"
_NUMBER = 8
"""Digits from which on an identifier is a number, and may be written with separators."""


class Place(NamedTuple):
    """Where an identifier stands in a text, and the entity that DLP detects there; None: it detects none."""

    start: int
    end: int
    entity: str | None


@dataclass(frozen=True, slots=True)
class Identifiers:
    """The identifiers of one person, ready to be looked for."""

    pattern: re.Pattern[str]

    @classmethod
    def of(cls, values: Iterable[str]) -> "Identifiers":
        """Raises ValueError where one has fewer than FEWEST_SIGNS letters and digits."""
        return cls(re.compile("|".join(map(_pattern, values))))

    def places(self, text: str) -> list[Place]:
        """Every place in `text` that holds one of them, in order."""
        spans = sorted(set(self._spans(text, 0)))
        if not spans:
            return []
        read = normalise(text)
        detected = [(read.origin(each.start, each.end), each.entity) for each in _detected(read.text)]
        return list(_places(spans, sorted(detected, key=lambda each: each[0][0])))

    def _spans(self, text: str, layer: int) -> Iterator[tuple[int, int]]:
        plain = _plain(text)
        for match in self.pattern.finditer(plain.text):
            if match.start() < match.end():
                yield plain.origin(*match.span())
        if layer < _MOST_LAYERS:
            yield from self._hidden(text, layer)

    def _hidden(self, text: str, layer: int) -> Iterator[tuple[int, int]]:
        """Places of what lies under the next layer: the whole of what is encoded."""
        read = normalise(text)
        passage = Passage(read.text)
        for start, end, content in encoded_parts(passage):
            inner = as_text(content)
            if inner is not None and any(True for _ in self._spans(inner, layer + 1)):
                yield read.origin(start, end)
        escaped = unescaped(passage)
        if escaped is not None:
            inner, origins = escaped
            for start, end in self._spans(inner, layer + 1):
                yield read.origin(origins.item(start), origins.item(end))


def entity_of(value: str) -> str | None:
    """The entity that DLP takes an identifier for."""
    found = _detected(normalise(value).text)
    return max(found, key=lambda each: each.end - each.start).entity if found else None


def is_too_short(value: str) -> bool:
    """Whether an identifier has too few letters and digits to mean anybody."""
    return len(_signs(value)) < FEWEST_SIGNS


def _pattern(value: str) -> str:
    signs = _signs(value)
    if len(signs) < FEWEST_SIGNS:
        raise ValueError("an identifier of so few signs means nobody")
    if "@" in value:
        # What may stand in an address beside it makes it another one.
        return rf"(?<![\w.+-]){re.escape(_plain(value).text)}(?![\w-]|\.\w)"
    if sum(map(str.isdigit, signs)) >= _NUMBER:
        body = _BETWEEN.join(map(re.escape, signs))
    else:
        body = r"\s+".join(map(re.escape, _plain(value).text.split()))
    return rf"(?<!\w){body}(?!\w)"


def _signs(value: str) -> str:
    return "".join(sign for sign in _plain(value).text if sign.isalnum())


def _plain(text: str) -> Respelled:
    """Read without case, accents, width and what is hidden."""
    return Respelled.of(text, {ord(sign): _spelled(sign) for sign in set(text)}) if text else Respelled(text)


@lru_cache(maxsize=1 << 16)
def _spelled(sign: str) -> str:
    parts = unicodedata.normalize("NFD", fold(sign))
    return "".join(part for part in parts if not unicodedata.combining(part)).casefold()


def _detected(text: str) -> Sequence[Found]:
    return recognise([text], RECOGNISERS)


def _places(
    spans: Sequence[tuple[int, int]], detected: Sequence[tuple[tuple[int, int], str]]
) -> Iterator[Place]:
    """Each span with the first entity that lies on it; both are in the order in which they start."""
    at = 0
    for start, end in spans:
        # What ended before this span ends before all that follow.
        while at < len(detected) and detected[at][0][1] <= start:
            at += 1
        is_on_it = at < len(detected) and detected[at][0][0] < end
        yield Place(start, end, detected[at][1] if is_on_it else None)
