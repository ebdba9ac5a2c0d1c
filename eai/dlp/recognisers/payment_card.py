"""Numbers of payment cards: a known scheme, its length, and Luhn's check digit."""

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

_FEWEST, _MOST = 14, 19
_SHAPE = b"d" * _FEWEST

_SCHEMES = re.compile(
    rb"4[0-9]{15}(?:[0-9]{3})?"  # Visa, and Carte Bancaire under it
    rb"|(?:5[1-5][0-9]{2}|222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)[0-9]{12}"  # Mastercard
    rb"|3[47][0-9]{13}"  # American Express
    rb"|(?:30[0-5]|3[689][0-9])[0-9]{11}"  # Diners Club
    rb"|(?:6011|64[4-9][0-9]|65[0-9]{2})[0-9]{12}(?:[0-9]{3})?"  # Discover
    rb"|35(?:2[89]|[3-8][0-9])[0-9]{12}(?:[0-9]{3})?"  # JCB
    rb"|62[0-9]{14,17}"  # UnionPay
    rb"|(?:5018|5020|5038|6304|6759|676[1-3])[0-9]{10,15}"  # Maestro
    rb"|220[0-4][0-9]{12,15}"  # Mir
)

# 4-6-5 and 4-6-4, 4-4-4-4 and what may follow it: 3 more.
_STANDING = re.compile(
    rf"{STARTS}(?=(?P<whole>(?<![0-9]\.)[0-9]{{{_FEWEST},{_MOST}}}{ENDS}"
    rf"|[0-9]{{4}}{SIGN}(?:[0-9]{{6}}(?P=sign)[0-9]{{4,5}}|[0-9]{{4}}(?:(?P=sign)[0-9]{{4}}){{2}}){ENDS})"
    rf"(?P<more>(?P=sign)[0-9]{{3}}{ENDS})?)"
)
# Across strokes only as it stands on the card, or digit by digit up to the last of them: an address of the
# web is full of numbers.
_STROKED = re.compile(
    rf"{STARTS}(?=(?P<whole>[0-9]{{4}}(?P<sign>{STROKE})"
    rf"(?:[0-9]{{6}}(?P=sign)[0-9]{{4,5}}|[0-9]{{4}}(?:(?P=sign)[0-9]{{4}}){{2}}){ENDS}"
    rf"|[0-9](?P<one>{STROKE})[0-9](?:(?P=one)[0-9]){{12,17}}{ENDS}(?!(?P=one)[0-9]{ENDS}))(?P<more>(?P=sign)[0-9]{{3}}{ENDS})?)"
)
_DINERS = re.compile(rf"[0-9]{{4}}{SIGN}[0-9]{{6}}(?P=sign)[0-9]{{4}}")

_DECIMALS = re.compile(r"[0-9]++\.[0-9]++(?:[\x00-\x20]++-?[0-9]++\.[0-9]++)*+")

# Nine groups of four in a row are taken for those of a table, where one place in forty would fit by chance.
# Three numbers that follow each other there are cards: by chance one place in 57,000 would be taken for them.
_FEWEST_IN_TABLE = 36
_FEWEST_NEIGHBOURS = 3
_GROUP, _GROUPS = 4, 4
_TABLE = re.compile(rf"{STARTS}[0-9]{{4}}{SIGN}[0-9]{{4}}{ENDS}(?:(?P=sign)[0-9]{{4}}{ENDS}){{7,}}+")

_ZERO = ord("0")
_DOUBLED = bytes.maketrans(b"0123456789", b"0246813579")


class PaymentCards:
    """Finds numbers of payment cards."""

    entity = DlpEntity.PAYMENT_CARD
    reach = 128

    def may_hold(self, passage: Passage) -> bool:
        return may_hold_row(passage, _SHAPE)

    def find(self, passage: Passage) -> Iterator[Span]:
        """The numbers, however they are spaced."""
        for first, last in rows(passage.shape, _SHAPE):
            start, end = passage.place(first, last)
            row = passage.text[start:end]
            if last - first <= _MOST and _is_card(passage.signs[first:last], row):
                yield start, end
            elif last - first > _FEWEST and len(row) > last - first:
                for low, high in _within(row, last - first):
                    yield start + low, start + high
        for start, end in stroked_rows(passage, _SHAPE):
            for low, high in _standing(_STROKED, passage.text[start:end]):
                yield start + low, start + high


def _within(row: str, digits: int) -> Iterator[Span]:
    """The numbers that stand among other digits."""
    if digits >= _FEWEST_IN_TABLE:
        for table in _TABLE.finditer(row):
            for start, end in _neighbours(table[0], _GROUP + len(table["sign"])):
                yield table.start() + start, table.start() + end
        row = _TABLE.sub(_blanked, row)
    yield from _standing(_STANDING, row)
    for start, end in lines(row, _FEWEST):
        if _is_card(compact(row[start:end]), row[start:end]):
            yield start, end


def _blanked(table: re.Match[str]) -> str:
    """Nothing but its first and last group, which may belong to numbers that stand before and behind it."""
    written = table[0]
    return f"{written[:_GROUP]}{'|' * (len(written) - 2 * _GROUP)}{written[-_GROUP:]}"


def _neighbours(table: str, step: int) -> Iterator[Span]:
    """The numbers that follow each other in a row of groups of four, one of which begins at every `step`."""
    length = (_GROUPS - 1) * step + _GROUP
    places = range(0, len(table) - length + 1, step)
    fitting = {at for at in places if _is_card(compact(table[at : at + length]), table[at : at + length])}
    for first in fitting:
        neighbours = [first + number * _GROUPS * step for number in range(_FEWEST_NEIGHBOURS)]
        if fitting.issuperset(neighbours):
            yield from ((at, at + length) for at in neighbours)


def _standing(form: re.Pattern[str], row: str) -> Iterator[Span]:
    """The numbers that stand in this form, and those that go on for three digits more."""
    for match in form.finditer(row):
        start, end = match.span("whole")
        for last in (end, match.end("more")):
            if last > 0 and _is_card(compact(row[start:last]), row[start:last]):
                yield start, last


def _is_card(digits: bytes, written: str) -> bool:
    if not _SCHEMES.fullmatch(digits) or not _passes_luhn(digits):
        return False
    if _is_siret(digits):
        return _DINERS.fullmatch(written) is not None
    return _DECIMALS.fullmatch(written) is None


def _is_siret(digits: bytes) -> bool:
    """Whether this may be a French establishment's number, which shares Luhn and length with Diners Club.

    Its first nine digits, the company's, pass the check by themselves.
    """
    return len(digits) == _FEWEST and _passes_luhn(digits[:9])


def _passes_luhn(digits: bytes) -> bool:
    total = sum(digits[-1::-2] + digits[-2::-2].translate(_DOUBLED))
    return (total - _ZERO * len(digits)) % 10 == 0
