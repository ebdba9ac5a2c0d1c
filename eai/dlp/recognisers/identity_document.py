"""Passports and identity cards: their machine-readable lines, and numbers beside the words for them."""

import re
from collections.abc import Iterator

from eai.dlp.passage import Passage
from eai.dlp.recognisers.checks import passes_travel_check
from eai.dlp.recognisers.numerals import Span
from eai.tenants.dlp_rules import DlpEntity

_FILLER = "<"
_BREAK = r"[\r\n\t\x20]{1,4}"

# ICAO 9303: the second line of a passport, and the two that begin a card of credit card size.
_PASSPORT_LINES = re.compile(
    rf"(?:P[A-Z<][A-Z<]{{42}}{_BREAK})?(?P<number>[A-Z0-9<]{{9}})(?P<of_number>[0-9])[A-Z<]{{3}}"
    r"(?P<birth>[0-9<]{6})(?P<of_birth>[0-9<])[MFX<](?P<expiry>[0-9]{6})(?P<of_expiry>[0-9])"
    r"[A-Z0-9<]{14}[0-9<][0-9](?![A-Z0-9<])"
)
_CARD_LINES = re.compile(
    rf"[IAC][A-Z<][A-Z<]{{3}}(?P<number>[A-Z0-9<]{{9}})(?P<of_number>[0-9<])[A-Z0-9<]{{15}}{_BREAK}"
    r"(?P<birth>[0-9<]{6})(?P<of_birth>[0-9<])[MFX<](?P<expiry>[0-9]{6})(?P<of_expiry>[0-9])"
    r"[A-Z<]{3}[A-Z0-9<]{11}[0-9](?![A-Z0-9<])"
)
# The second line of French cards until 2021: twelve digits with their check, names, birth.
_OLD_CARD_LINE = re.compile(
    rf"(?:IDFRA[A-Z<]{{25}}[A-Z0-9<]{{6}}{_BREAK})?(?<![A-Z0-9])(?P<number>[0-9A-Z]{{12}})(?P<of_number>[0-9])"
    r"[A-Z<]{14}(?P<birth>[0-9]{6})(?P<of_birth>[0-9])[MF][0-9](?![A-Z0-9<])"
)
_NAMED_PASSPORT = re.compile(
    r"(?i:\bpass(?:e)?ports?\b)[^0-9\n]{0,40}?"
    r"(?<![A-Za-z0-9])(?P<number>[0-9]{2}\x20?[A-Z]{2}\x20?[0-9]{5}|[A-Z]{1,2}[0-9]{7,8}|[0-9]{9})"
    r"(?![A-Za-z0-9])"
)
_NAMED_CARD = re.compile(
    r"(?i:\bcarte\x20(?:nationale\x20)?d['\u2019]\x20?identit[eé]|\bcnie?\b|\bid(?:entity)?\x20card\b)"
    r"[^0-9\n]{0,40}?(?<![A-Za-z0-9])(?P<number>[0-9]{12}|[A-Z0-9]{2}[0-9A-Z]{6}[0-9])(?![A-Za-z0-9])"
)
_FEWEST_DIGITS = 2


class Passports:
    """Finds passports by their second line, and their numbers where the word stands before them."""

    entity = DlpEntity.PASSPORT
    reach = 128

    def may_hold(self, passage: Passage) -> bool:
        return _FILLER in passage.text or "port" in passage.text.lower()

    def find(self, passage: Passage) -> Iterator[Span]:
        """The lines and numbers."""
        yield from _lines(_PASSPORT_LINES, passage)
        for match in _NAMED_PASSPORT.finditer(passage.text):
            yield match.span("number")


class IdentityCards:
    """Finds identity cards by their lines, and their numbers where the words stand before them."""

    entity = DlpEntity.IDENTITY_CARD
    reach = 128

    def may_hold(self, passage: Passage) -> bool:
        text = passage.text.lower()
        return _FILLER in text or "identi" in text or "cni" in text or "card" in text

    def find(self, passage: Passage) -> Iterator[Span]:
        """The lines and numbers."""
        yield from _lines(_CARD_LINES, passage)
        yield from _lines(_OLD_CARD_LINE, passage)
        for match in _NAMED_CARD.finditer(passage.text):
            if sum(map(str.isdigit, match["number"])) >= _FEWEST_DIGITS:
                yield match.span("number")


def _lines(form: re.Pattern[str], passage: Passage) -> Iterator[Span]:
    if _FILLER not in passage.text:
        return
    for match in form.finditer(passage.text):
        names = [name for name in ("number", "birth", "expiry") if name in form.groupindex]
        if all(passes_travel_check(match[name], match[f"of_{name}"]) for name in names):
            yield match.span()
