"""French social security numbers (NIR): sex, birth, place, order, and a key modulo 97."""

import re
from collections.abc import Iterator

from eai.dlp.passage import Passage
from eai.dlp.recognisers.numerals import (
    ENDS,
    SIGN,
    STARTS,
    STROKE,
    Span,
    compact,
    lines,
    may_hold_row,
    rows,
    stroked_rows,
)
from eai.tenants.dlp_rules import DlpEntity

_LENGTH = 15
_SHAPE = b"d" * _LENGTH
_CORSICAN = b"d" * 6 + b"a" + b"d" * 8

_PLACE = "(?:0[1-9]|[1-9][0-9]|2[ABab])"
# In one piece, with the key apart, and 1-2-2-2-3-3-2; overseas the department has three digits.
_STANDING = re.compile(
    rf"{STARTS}(?=(?P<whole>(?:[1-478][0-9]{{4}}{_PLACE}[0-9]{{6}}(?:[\x00-\x20.\-]++)?+[0-9]{{2}}"
    rf"|[1-478]{SIGN}[0-9]{{2}}(?P=sign)[0-9]{{2}}(?P=sign)"
    rf"(?:{_PLACE}(?P=sign)[0-9]{{3}}|[0-9]{{3}}(?P=sign)[0-9]{{2}})(?P=sign)[0-9]{{3}}(?P=sign)[0-9]{{2}})"
    rf"{ENDS}))"
)
_STROKED = re.compile(_STANDING.pattern.replace(SIGN, f"(?P<sign>{STROKE})"))
_BORN = rb"[1-478][0-9]{2}(?:0[1-9]|1[0-2]%b)(?:0[1-9]|[1-9][0-9]|2[ABab])[0-9]{8}"
_IN_ONE_PIECE = re.compile(_BORN % b"")
# Months above 12 stand for a birth whose month nobody knew. In one piece, most such numbers are something
# else: of the addresses in a computer's memory, for one, every hundredth would be somebody's.
_IN_GROUPS = re.compile(_BORN % b"|[23][0-9]|4[0-2]|[5-9][0-9]")
_CORSICA = {b"2A": b"19", b"2B": b"18"}


class SocialSecurityNumbers:
    """Finds French social security numbers with their key."""

    entity = DlpEntity.NIR
    reach = 128

    def may_hold(self, passage: Passage) -> bool:
        return may_hold_row(passage, _SHAPE) or may_hold_row(passage, _CORSICAN)

    def find(self, passage: Passage) -> Iterator[Span]:
        """The numbers, however they are spaced; those of Corsica, and across strokes, in the usual groups."""
        yield from self._in_rows(passage)
        for row in rows(passage.shape, _CORSICAN):
            yield from _standing(_STANDING, passage.text, passage.place(*row))
        for shape in (_SHAPE, _CORSICAN):
            for place in stroked_rows(passage, shape):
                yield from _standing(_STROKED, passage.text, place)

    def _in_rows(self, passage: Passage) -> Iterator[Span]:
        for first, last in rows(passage.shape, _SHAPE):
            start, end = passage.place(first, last)
            if last - first == _LENGTH:
                if _is_nir(passage.signs[first:last], in_groups=end - start > _LENGTH):
                    yield start, end
            elif end - start > last - first:
                for low, high in _within(passage.text[start:end]):
                    yield start + low, start + high


def _within(row: str) -> Iterator[Span]:
    """The numbers that stand among other digits."""
    yield from _standing(_STANDING, row, (0, len(row)))
    for start, end in lines(row, _LENGTH):
        if _is_written(row[start:end]):
            yield start, end


def _standing(form: re.Pattern[str], text: str, place: Span) -> Iterator[Span]:
    for match in form.finditer(text, *place):
        if _is_written(match["whole"]):
            yield match.span("whole")


def _is_written(text: str) -> bool:
    return _is_nir(compact(text), in_groups=len(text) > _LENGTH)


def _is_nir(number: bytes, *, in_groups: bool) -> bool:
    if not (_IN_GROUPS if in_groups else _IN_ONE_PIECE).fullmatch(number):
        return False
    place = number[5:7].upper()
    body = number[:5] + _CORSICA.get(place, place) + number[7:13]
    return 97 - int(body) % 97 == int(number[13:])
