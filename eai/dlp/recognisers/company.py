"""Numbers of French companies (SIREN) and of their establishments (SIRET), with Luhn's check digit.

Every tenth row of nine digits passes it, so that a SIREN is known by the word beside it alone.
"""

import re
from collections.abc import Iterator

from eai.dlp.passage import Passage
from eai.dlp.recognisers.checks import passes_luhn
from eai.dlp.recognisers.numerals import Span, compact, may_hold_row
from eai.tenants.dlp_rules import DlpEntity

_SIREN, _SIRET = b"d" * 9, b"d" * 14
_GAP = r"[\x20.\-]?"
_THREES = rf"[0-9]{{3}}{_GAP}[0-9]{{3}}{_GAP}[0-9]{{3}}"
_ENDS = r"(?![\x20.\-]?[0-9])"
# "RCS Paris 552 100 554" and "552 100 554 RCS Paris".
_NAMED = re.compile(
    rf"(?i:\b(?:siren|rcs|r\.c\.s)\b)[^0-9\n]{{0,40}}(?P<after>{_THREES}){_ENDS}"
    rf"|(?<![0-9])(?<![0-9][\x20.\-])(?P<before>{_THREES})[\t\x20,]{{1,3}}(?i:r\.?c\.?s\b)"
)
_GROUPED = re.compile(
    r"(?<![0-9])(?<![0-9][\x20.\-])"
    r"(?P<number>[0-9]{3}(?P<sign>[\x20.\-])[0-9]{3}(?P=sign)[0-9]{3}(?P=sign)[0-9]{5}"
    rf"|[0-9]{{9}}[\x20.\-][0-9]{{5}}){_ENDS}"
)
_NAMED_SIRET = re.compile(
    r"(?i:\b(?:siret|[ée]tablissement|establishment)\b)[^0-9\n]{0,40}"
    rf"(?P<number>{_THREES}{_GAP}[0-9]{{5}}){_ENDS}"
)
_POST = b"356000000"


class CompanyNumbers:
    """Finds SIREN numbers beside the words that name them."""

    entity = DlpEntity.SIREN
    reach = 128

    def may_hold(self, passage: Passage) -> bool:
        return may_hold_row(passage, _SIREN)

    def find(self, passage: Passage) -> Iterator[Span]:
        """The numbers."""
        for match in _NAMED.finditer(passage.text):
            name = "after" if match["after"] else "before"
            if passes_luhn(compact(match[name])):
                yield match.span(name)


class EstablishmentNumbers:
    """Finds SIRET numbers in their usual groups, or in any beside the word."""

    entity = DlpEntity.SIRET
    reach = 128

    def may_hold(self, passage: Passage) -> bool:
        return may_hold_row(passage, _SIRET)

    def find(self, passage: Passage) -> Iterator[Span]:
        """The numbers."""
        for form in (_GROUPED, _NAMED_SIRET):
            for match in form.finditer(passage.text):
                if is_siret(compact(match["number"])):
                    yield match.span("number")


def is_siret(digits: bytes) -> bool:
    """Whether the company's part and the whole pass; the post office's may be a multiple of five instead."""
    if not passes_luhn(digits[:9]):
        return False
    return passes_luhn(digits) or (digits[:9] == _POST and sum(map(int, digits.decode())) % 5 == 0)
