"""International bank account numbers: the account's form in its country, and the check modulo 97."""

import re
from collections.abc import Iterator
from functools import cache

from eai.dlp.passage import Passage
from eai.dlp.recognisers.numerals import STROKE, Span, may_hold_row
from eai.tenants.dlp_rules import DlpEntity

# As the registry writes them: so many digits (n), letters (a) or either (c). The last lines are of
# countries that use such numbers without being in the registry.
_FORMS = dict(
    pair.split(b":")
    for pair in b"""
    AD:8n12c AE:19n AL:8n16c AT:16n AZ:4a20c BA:16n BE:12n BG:4a6n8c BH:4a14c BI:23n BR:23n1a1c BY:4c4n16c
    CH:5n12c CR:18n CY:8n16c CZ:20n DE:18n DJ:23n DK:14n DO:4c20n EE:16n EG:25n ES:20n FI:14n FK:2a12n FO:14n
    FR:10n11c2n GB:4a14n GE:2a16n GI:4a15c GL:14n GR:7n16c GT:4c20c HN:4a20n HR:17n HU:24n IE:4a14n IL:19n
    IQ:4a15n IS:22n IT:1a10n12c JO:4a4n18c KW:4a22c KZ:3n13c LB:4n20c LC:4a24c LI:5n12c LT:16n LU:3n13c
    LV:4a13c LY:21n MC:10n11c2n MD:2c18c ME:18n MK:3n10c2n MN:16n MR:23n MT:4a5n18c MU:4a19n3a NI:4a20n
    NL:4a10n NO:11n OM:3n16c PK:4a16c PL:24n PS:4a21c PT:21n QA:4a21c RO:4a16c RS:18n RU:14n15c SA:2n18c
    SC:4a20n3a SD:14n SE:20n SI:15n SK:20n SM:1a10n12c SO:19n ST:21n SV:4a20n TL:19n TN:20n TR:6n16c UA:6n19c
    VA:18n VG:4a16n XK:16n YE:4a4n18c
    AO:21n BF:2a22n BJ:2a22n CF:23n CG:23n CI:2a22n CM:23n CV:21n DZ:22n GA:23n GQ:23n GW:2c19n IR:22n KM:23n
    MA:24n MG:23n ML:2a22n MZ:21n NE:2a22n SN:2a22n TD:23n TG:2a22n
    """.split()
)

_START = b"aadd"
# As it stands on paper: what is parted by strokes anyhow is a path or base64.
_STROKED = re.compile(
    rf"[A-Za-z]{{2}}[0-9]{{2}}(?P<sign>{STROKE})[0-9A-Za-z]{{4}}"
    rf"(?:(?P=sign)[0-9A-Za-z]{{4}})*+(?:(?P=sign)[0-9A-Za-z]{{1,3}})?+"
)
_KINDS = {b"n": b"[0-9]", b"a": b"[A-Za-z]", b"c": b"[0-9A-Za-z]"}
_VALUES = {ord(letter): str(value) for value, letter in enumerate("ABCDEFGHIJKLMNOPQRSTUVWXYZ", 10)}


class Ibans:
    """Finds account numbers of every country that has them."""

    entity = DlpEntity.IBAN
    reach = 128

    def may_hold(self, passage: Passage) -> bool:
        return may_hold_row(passage, _START)

    def find(self, passage: Passage) -> Iterator[Span]:
        """The numbers, however they are spaced, also inside longer words; or in fours across strokes."""
        yield from self._spaced(passage)
        if passage.wide is not None:
            for start, end in self._spaced(passage.wide):
                if _STROKED.fullmatch(passage.text, start, end):
                    yield start, end

    def _spaced(self, passage: Passage) -> Iterator[Span]:
        signs, shape = passage.signs, passage.shape
        start = shape.find(_START)
        while start >= 0:
            country = signs[start : start + 2].upper()
            if country in _FORMS:
                account = _form(country).match(signs, start + len(_START))
                if account and _is_valid(signs[start : account.end()]):
                    span = passage.place(start, account.end())
                    if _may_begin(passage.text[span[0] : span[0] + 4]):
                        yield span
            start = shape.find(_START, start + 1)


@cache
def _form(country: bytes) -> re.Pattern[bytes]:
    parts = re.findall(rb"([0-9]+)([nac])", _FORMS[country])
    return re.compile(b"".join(b"%b{%b}" % (_KINDS[kind], count) for count, kind in parts))


def _is_valid(signs: bytes) -> bool:
    number = signs.decode().upper()
    return int((number[4:] + number[:4]).translate(_VALUES)) % 97 == 1


def _may_begin(written: str) -> bool:
    """Small letters only where nothing parts them from the check digits: "no 12" begins many an address."""
    return written.isalnum() or written.isupper()
