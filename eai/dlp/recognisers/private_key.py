"""Private keys: in PEM and its kin, whole or cut short, and their bare bytes."""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise

from eai.dlp.passage import Passage
from eai.dlp.recognisers.numerals import Span
from eai.tenants.dlp_rules import DlpEntity

_MARKS = ("PRIVATE KEY", "AGE-SECRET-KEY-1", "PuTTY-User-Key-File-")

_SIGN = "[A-Za-z0-9+/=]"
# What mail, comments, literals and tables have before and behind a line. A dash that begins a border is none.
_GAP = rf"(?:[^A-Za-z0-9+/=\\-]|\\++[nrt]?+|[+/-]{{1,3}}+(?=\s(?!END))|-(?={_SIGN}))"
_LINE = f"{_SIGN}{{24,}}+"
_DASHES = "(?<!-)-{2,}+"
_NAME = r"(?:[A-Z0-9]{1,12}\x20){0,4}PRIVATE\x20KEY(?:\x20BLOCK)?"
_END = rf"(?:{_SIGN}{{1,76}}+{_GAP}*+){{0,3}}+{_DASHES}\s?END\x20{_NAME}\s?-{{2,}}+"

_ARMOURED = re.compile(
    rf"{_DASHES}\s?BEGIN\x20{_NAME}\s?-{{2,}}+"
    rf"(?:{_GAP}*+[A-Za-z-]{{3,20}}:[^\n\\]{{0,200}}(?=\n|\\))*+"
    rf"(?P<lines>(?:{_GAP}*+{_LINE})*+)(?:{_GAP}*+{_END})?+"
)
# From where a row of signs begins: one tried from each of its signs is read as often as it is long.
_LINES = re.compile(rf"(?<!{_SIGN})(?:{_LINE}{_GAP}++)++(?P<end>{_END})?+")
_BORDER = re.compile(rf"{_DASHES}\s?(?:(?P<begin>BEGIN)|END)\x20{_NAME}\s?-{{2,}}+")
_ROW = re.compile(f"{_SIGN}{{24}}")
_LONGEST = 32_768
"""Signs from border to border, with all that may stand before each line."""
_OTHER = re.compile(
    r"AGE-SECRET-KEY-1[0-9A-Z]{58}"
    rf"|PuTTY-User-Key-File-(?:{_GAP}*+(?:[A-Za-z0-9-]{{1,32}}:[^\n\\]{{0,200}}+(?=[\n\\]|\Z)"
    rf"|{_SIGN}{{1,76}}+(?=[^A-Za-z0-9\n\\]{{0,4}}(?:[\n\\]|\Z))))++"
)
_FOLLOWING = re.compile(
    rf"(?:{_GAP}++{_LINE})*+"
    rf"(?:(?=[^A-Za-z0-9\n\\]{{0,8}}(?:\n|\\+[nr\n])){_GAP}++(?:{_SIGN}{{4}}){{1,5}}+(?!{_SIGN}))?+"
)
"""The lines behind the first one of bare bytes, where not all of them may have been read as one."""

# PKCS#8 and PKCS#1 (version 0), SEC 1 (version 1) and PKCS#12 (version 3) all start so.
_BARE = re.compile(
    rb"\x30(?:[\x20-\x7f]|\x81.|\x82..)"
    rb"(?:\x02\x01\x00(?:\x30[\x05-\x7f]\x06|\x02[\x20-\x7f\x81\x82])|\x02\x01\x01\x04[\x14-\x48]"
    rb"|\x02\x01\x03\x30)"
    rb"|openssh-key-v1\x00",
    re.DOTALL,
)
_BARE_STARTS = (b"\x30", b"openssh")


class PrivateKeys:
    """Finds private keys; one that is only mentioned, with no line of it, is none."""

    entity = DlpEntity.PRIVATE_KEY
    reach = 8_192

    def may_hold(self, passage: Passage) -> bool:
        return any(mark in passage.text for mark in _MARKS)

    def find(self, passage: Passage) -> Iterator[Span]:
        """The keys, also those whose first or last lines are missing."""
        text = passage.text
        for match in _ARMOURED.finditer(text):
            if match["lines"]:
                yield match.span()
        for match in _LINES.finditer(text):
            if match["end"]:
                yield match.span()
        for match in _OTHER.finditer(text):
            yield match.span()
        yield from _between_borders(text)


def _between_borders(text: str) -> Iterator[Span]:
    """From border to border, whatever stands before each line in between, such as a number or a time."""
    for first, last in pairwise(_BORDER.finditer(text)):
        is_pair = first["begin"] and not last["begin"] and last.end() - first.start() <= _LONGEST
        if is_pair and _ROW.search(text, first.end(), last.start()):
            yield first.start(), last.end()


def with_following_lines(text: str, starts: Iterable[Span]) -> Iterator[Span]:
    """Where bare bytes of keys start, and reach to; none that starts within another is read again."""
    reached = 0
    for start, end in sorted(starts):
        if end > reached:
            following = _FOLLOWING.match(text, end)
            reached = following.end() if following else end
            yield start, reached


def holds_bare_key(content: bytes) -> bool:
    """Whether these bytes start as those of a private key do."""
    return content.startswith(_BARE_STARTS) and _BARE.match(content) is not None
