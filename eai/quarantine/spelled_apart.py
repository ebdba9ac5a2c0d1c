"""Words whose letters stand apart, and words that stand together: both read as usual again."""

import html
import re
from collections.abc import Iterator, Sequence
from functools import cache

from eai.quarantine.grammar.lexicon import lexicon

STEMS = (
    "ignor", "instruc", "prompt", "system", "disregard", "forget", "oubli", "consigne", "pretend", "reveal",
    "regle", "restrict",
)  # fmt: skip
"""Beginnings of words of which instructions to a model need at least one."""

_SIGN = r"[^\W_]"
_BETWEEN = r"[ .\-_*|/·]"
_SHORTEST_GLUED_WORD = 2

_LONE = rf"(?<!{_SIGN}){_SIGN}"
APART = re.compile(
    # Nothing starts behind another letter that stands alone, so each row is read once.
    rf"{_SIGN}(?={_BETWEEN})(?<!{_SIGN}.)(?<!{_LONE}{_BETWEEN}.)(?<!{_LONE}{_BETWEEN}{{2}}.)(?<!{_LONE}{_BETWEEN}{{3}}.)"
    rf"{_BETWEEN}{{1,3}}(?!{_SIGN}{{2}})(?:{_SIGN}{_BETWEEN}{{1,3}}(?!{_SIGN}{{2}})){{4,}}+{_SIGN}?"
)
GLUED = re.compile(r"(?<![A-Za-z])[A-Za-z]{18,}+")
_PARTED = re.compile(rf"{_BETWEEN}++")

_WORDS = rf"{_SIGN}{{1,24}}+(?: {_SIGN}{{1,24}}+)?+"
_STOP = r"(?:[^\S\n]{0,8}\n(?:[^\S\n]{0,8}\n){1,4}[^\S\n]{0,8}|[^\S\n]{0,2}[.;:!?…]{1,3}\s{1,4})"
ONE_BY_ONE = re.compile(rf"(?<!{_SIGN}){_WORDS}(?:{_STOP}{_WORDS}){{2,}}+")
"""A word or two at a time, as paragraphs or as sentences: no pattern reads across the end of one."""
_EMPHASIS = rf"(?<={_SIGN})(?:\*{{1,3}}|~~)(?={_SIGN})"
_ENTITY = r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,24});"
DIVIDED = rf"{_EMPHASIS}|(?<={_SIGN}){_ENTITY}(?={_SIGN})"
_MARKS = re.compile(r"\*{1,3}|~~")
_EACH_WORD = re.compile(rf"{_SIGN}++")
_DIVIDED = re.compile(DIVIDED)


def put_in_row(part: str) -> str:
    """The words of `part` as one sentence."""
    return " ".join(_EACH_WORD.findall(part))


def undivided(part: str) -> str | None:
    """`part` without signs of emphasis, and with what entities stand for; None where they divide no word."""
    return html.unescape(_MARKS.sub("", part)) if _DIVIDED.search(part) else None


def put_together(part: str) -> str | None:
    """The words of letters that stand apart: a wider gap parts words, or else the known words do."""
    gaps = _PARTED.findall(part)
    narrow = min(map(len, gaps))
    if all(len(gap) == narrow for gap in gaps):
        return take_apart(_PARTED.sub("", part))
    return _PARTED.sub(lambda gap: " " if len(gap[0]) > narrow else "", part)


def take_apart(part: str) -> str | None:
    """`part` with spaces around the longest known words; None where it holds none that instructions need."""
    glued = part.lower()
    return " ".join(_words(glued)) if any(stem in glued for stem in STEMS) else None


def _words(glued: str) -> Iterator[str]:
    known, lengths = _known()
    start = unknown = 0
    while start < len(glued):
        length = next((size for size in lengths if glued[start : start + size] in known), 0)
        if length == 0:
            start += 1
            continue
        if unknown < start:
            yield glued[unknown:start]
        yield glued[start : start + length]
        start = unknown = start + length
    if unknown < len(glued):
        yield glued[unknown:]


@cache
def _known() -> tuple[frozenset[str], Sequence[int]]:
    words = frozenset(filter(str.isalpha, lexicon().codes))
    return words, range(max(map(len, words)), _SHORTEST_GLUED_WORD - 1, -1)
