"""Telephone numbers: French, British and American ones as they are written there, and any with a country."""

import re
from collections.abc import Iterator

from eai.dlp.passage import Passage
from eai.dlp.recognisers.numerals import Span, may_hold_row
from eai.tenants.dlp_rules import DlpEntity

_SHAPE = b"d" * 7
_SIGN = r"[\x20.\-/]"

# Two by two, with one and the same sign or none; the trunk's zero may stand in brackets behind the country.
_FRENCH = (
    rf"(?:(?:\+|00)33{_SIGN}?(?:\(0\){_SIGN}?)?|0)[1-9]"
    rf"(?P<french>{_SIGN}?)[0-9]{{2}}(?:(?P=french)[0-9]{{2}}){{3}}"
)
_BRITISH = (
    r"0(?:20[\x20\-]?[0-9]{4}[\x20\-]?[0-9]{4}|7[0-9]{3}[\x20\-]?[0-9]{3}[\x20\-]?[0-9]{3}"
    r"|1[0-9]1[\x20\-]?[0-9]{3}[\x20\-]?[0-9]{4}|1[0-9]{3}[\x20\-]?[0-9]{6})"
)
_AMERICAN = (
    r"(?:\([2-9][0-9]{2}\)\x20?|[2-9][0-9]{2}(?P<american>[.\-]))"
    r"[2-9][0-9]{2}(?(american)(?P=american)|-)[0-9]{4}"
)
_ABROAD = r"\+[1-9](?:[\x20.\-()]{0,2}[0-9]){7,14}"

_PHONE = re.compile(
    rf"(?<![\w+,/\-])(?<![0-9]\.)(?:{_FRENCH}|{_BRITISH}|{_AMERICAN}|{_ABROAD})(?![\w]|[.,/\-][0-9])"
)


class PhoneNumbers:
    """Finds telephone numbers that are written as such."""

    entity = DlpEntity.PHONE
    reach = 64

    def may_hold(self, passage: Passage) -> bool:
        return may_hold_row(passage, _SHAPE)

    def find(self, passage: Passage) -> Iterator[Span]:
        """The numbers."""
        for match in _PHONE.finditer(passage.text):
            yield match.span()
