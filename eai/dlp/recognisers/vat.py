"""Value added tax numbers of European countries, each with its own check."""

import re
from collections.abc import Callable, Iterator, Mapping

from eai.dlp.passage import Passage
from eai.dlp.recognisers.checks import passes_luhn, weighted
from eai.dlp.recognisers.numerals import Span
from eai.tenants.dlp_rules import DlpEntity

_LETTERS = "0123456789ABCDEFGHJKLMNPQRSTUVWXYZ"
"""What a French key is made of: neither I nor O."""


def _france(number: str) -> bool:
    key, siren = number[:2], number[2:]
    if not passes_luhn(siren.encode()):
        return False
    if key.isdigit():
        return (12 + 3 * (int(siren) % 97)) % 97 == int(key)
    first, second = map(_LETTERS.find, key)
    if first < 0 or second < 0:
        return False
    check = first * 24 + second - 10 if key[0].isdigit() else first * 34 + second - 100
    return (int(siren) + 1 + check // 11) % 11 == check % 11


def _germany(number: str) -> bool:
    rest = 10
    for digit in number[:-1]:
        rest = 2 * ((int(digit) + rest - 1) % 10 + 1) % 11
    return (11 - rest) % 10 == int(number[-1])


def _belgium(number: str) -> bool:
    return 97 - int(number[:8]) % 97 == int(number[8:])


def _italy(number: str) -> bool:
    return passes_luhn(number.encode())


def _luxembourg(number: str) -> bool:
    return int(number[:6]) % 89 == int(number[6:])


def _austria(number: str) -> bool:
    doubled = (int(digit) * 2 for digit in number[2:-1:2])
    total = sum(map(int, number[1:-1:2])) + sum(each // 10 + each % 10 for each in doubled)
    return (96 - total) % 10 == int(number[-1])


def _netherlands(number: str) -> bool:
    by_country = int("".join(str(int(sign, 36)) for sign in f"NL{number}"))
    return by_country % 97 == 1 or weighted(number[:8], range(9, 1, -1)) % 11 == int(number[8])


def _portugal(number: str) -> bool:
    return (11 - weighted(number[:8], range(9, 1, -1)) % 11) % 11 % 10 == int(number[-1])


def _poland(number: str) -> bool:
    return weighted(number[:9], (6, 5, 7, 2, 3, 4, 5, 6, 7)) % 11 == int(number[-1])


def _britain(number: str) -> bool:
    total = weighted(number[:7], range(8, 1, -1)) + int(number[7:])
    return total % 97 == 0 or (total + 55) % 97 == 0


def _denmark(number: str) -> bool:
    return weighted(number, (2, 7, 6, 5, 4, 3, 2, 1)) % 11 == 0


def _finland(number: str) -> bool:
    return (11 - weighted(number[:7], (7, 9, 10, 5, 8, 4, 2)) % 11) % 11 == int(number[-1])


def _sweden(number: str) -> bool:
    return passes_luhn(number[:10].encode())


_GAP = r"[\x20.\-]?"
_DIGIT = rf"{_GAP}[0-9]"
_FORMS: Mapping[str, tuple[str, Callable[[str], bool]]] = {
    "FR": (rf"[0-9A-HJ-NP-Z]{{2}}(?:{_DIGIT}){{9}}", _france),
    "DE": (rf"[0-9](?:{_DIGIT}){{8}}", _germany),
    "BE": (rf"[01](?:{_DIGIT}){{9}}", _belgium),
    "IT": (rf"[0-9](?:{_DIGIT}){{10}}", _italy),
    "LU": (rf"[0-9](?:{_DIGIT}){{7}}", _luxembourg),
    "AT": (rf"U(?:{_DIGIT}){{8}}", _austria),
    "NL": (rf"[0-9](?:{_DIGIT}){{8}}{_GAP}B{_GAP}[0-9]{{2}}", _netherlands),
    "PT": (rf"[1-9](?:{_DIGIT}){{8}}", _portugal),
    "PL": (rf"[0-9](?:{_DIGIT}){{9}}", _poland),
    "GB": (rf"[0-9](?:{_DIGIT}){{8}}", _britain),
    "DK": (rf"[1-9](?:{_DIGIT}){{7}}", _denmark),
    "FI": (rf"[0-9](?:{_DIGIT}){{7}}", _finland),
    "SE": (rf"[0-9](?:{_DIGIT}){{9}}{_GAP}01", _sweden),
}
_PREFIX = re.compile(rf"(?<![A-Za-z0-9])({'|'.join(_FORMS)}){_GAP}(?=[0-9A-Z])")
_COMPILED = {country: re.compile(rf"{form}(?![A-Za-z]|{_DIGIT})") for country, (form, _) in _FORMS.items()}
_SIGNS = re.compile(r"[^0-9A-Z]")


class VatNumbers:
    """Finds numbers that begin with their country, in capitals, and pass its check."""

    entity = DlpEntity.VAT
    reach = 64

    def may_hold(self, passage: Passage) -> bool:
        return _PREFIX.search(passage.text) is not None

    def find(self, passage: Passage) -> Iterator[Span]:
        """The numbers, in one piece or in any groups."""
        text = passage.text
        for prefix in _PREFIX.finditer(text):
            country = prefix[1]
            number = _COMPILED[country].match(text, prefix.end())
            if number and _FORMS[country][1](_SIGNS.sub("", number[0])):
                yield prefix.start(), number.end()
