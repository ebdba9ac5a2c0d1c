"""Texts that lie in other texts: in base64, in hexadecimal, or escaped sign by sign.

Base64 is read in either alphabet, in one line or in many of equal length; escapes are those of web addresses,
of string literals and of HTML, which Markdown has as well.
"""

import re
from binascii import a2b_base64
from collections.abc import Iterator, Sequence
from html import unescape
from html.entities import html5

import numpy as np
from numpy.typing import NDArray

from eai.dlp.passage import Passage

_SHORTEST = 19
"""Signs of base64 that fourteen digits take."""
_GROUP = 4
_SIGN = "[A-Za-z0-9+/_-]"
_REST = rf"(?:{_SIGN}{{4}}){{0,5}}(?:{_SIGN}{{4}}|{_SIGN}{{3}}=|{_SIGN}{{2}}==)(?=\s|\Z)"
_LINE = re.compile(
    rf"(?<!{_SIGN})(?P<whole>{_SIGN}{{{_SHORTEST},}}+={{0,2}}+)(?:(?<!=)\r?\n[ \t]*+(?P<rest>{_REST}))?"
)
_FEWEST_BYTES = 14
_PAIRS = re.compile(
    rf"(?<![0-9A-Fa-f])(?:(?:[0-9A-Fa-f]{{2}}){{{_FEWEST_BYTES},}}+"
    rf"|[0-9A-Fa-f]{{2}}(?P<gap>[ :,.\-]|, )"
    rf"[0-9A-Fa-f]{{2}}(?:(?P=gap)[0-9A-Fa-f]{{2}}){{{_FEWEST_BYTES - 2},}}+)"
)
_HEXADECIMAL = re.compile("[^0-9A-Fa-f]")
_ESCAPE = re.compile(
    r"%(?P<address>[0-9A-Fa-f]{2})|\\(?:x|u00)(?P<literal>[0-9A-Fa-f]{2})"
    r"|&(?:#(?:0*+[0-9]{1,7}|[Xx]0*+[0-9A-Fa-f]{1,6});?+|(?P<name>[A-Za-z][A-Za-z0-9]{1,31};))"
    r"|(?P<line_break><[Bb][Rr][ \t\r\n]*+/?>)"
)
_ESCAPING = ("%", "\\", "&", "<")
_STANDARD = str.maketrans("-_", "+/", "= \t\r\n")
_CONTROLS = bytes(sorted({*range(0x20), 0x7F} - {*b"\t\r\n\0"}))
_BEYOND_ASCII = 0x80
_MOST_CONTROLS = 0.05
_MOST_UNREADABLE = 0.2


def encoded_parts(passage: Passage) -> Iterator[tuple[int, int, bytes]]:
    """Start, end and content of whatever may be encoded as a whole."""
    yield from _in_base64(passage)
    yield from _in_hexadecimal(passage)


def unescaped(passage: Passage) -> tuple[str, NDArray[np.intp]] | None:
    """The text with every escaped sign in its place, and where each sign of it came from; None for none.

    In web addresses and literals, signs beyond ASCII take several escapes, and are left as question marks: no
    entity depends on one.
    """
    text = passage.text
    if not any(sign in text for sign in _ESCAPING):
        return None
    # One more than the text has, so that the end of its last sign is known too.
    is_first = np.ones(len(text) + 1, np.bool_)
    pieces, reached = [], 0
    for escape in _ESCAPE.finditer(text):
        if sign := _sign(escape):
            start, end = escape.span()
            is_first[start + 1 : end] = False
            pieces += [text[reached:start], sign]
            reached = end
    return ("".join([*pieces, text[reached:]]), np.flatnonzero(is_first)) if pieces else None


def _sign(escape: re.Match[str]) -> str:
    """The one sign that stands there for a reader; none where there is no such escape."""
    kind, written = escape.lastgroup, escape[0]
    if kind in {"address", "literal"}:
        code = int(escape[kind], 16)
        return chr(code) if code < _BEYOND_ASCII else "?"
    if kind == "line_break":
        return "\n"
    if kind == "name":
        return html5.get(escape[kind], "")[:1]
    # One that no text may hold, as that of a surrogate, is read as another.
    return unescape(written)[:1] or "?"


def _in_hexadecimal(passage: Passage) -> Iterator[tuple[int, int, bytes]]:
    if not passage.has_bytes(_FEWEST_BYTES):
        return
    for row in _PAIRS.finditer(passage.text):
        yield row.start(), row.end(), bytes.fromhex(_HEXADECIMAL.sub("", row[0]))


def _in_base64(passage: Passage) -> Iterator[tuple[int, int, bytes]]:
    """Whatever may be base64, decoded from every place a group may start at."""
    if not passage.has_token(_SHORTEST):
        return
    for lines in _blocks(passage.text):
        start, end = lines[0].start(), lines[-1].end()
        signs = "".join([line[0] for line in lines]).translate(_STANDARD)
        for skipped in range(_GROUP):
            whole = signs[skipped:] if (len(signs) - skipped) % _GROUP != 1 else signs[skipped:-1]
            yield start, end, a2b_base64(whole + "=" * (-len(whole) % _GROUP))


def as_text(content: bytes) -> str | None:
    """What was decoded, if anyone would take it for text."""
    if len(content) - len(content.translate(None, _CONTROLS)) > _MOST_CONTROLS * len(content):
        return None
    text = content.decode("utf-8", "replace").replace("\0", "")
    return text if text.count("\ufffd") <= _MOST_UNREADABLE * len(text) else None


def _blocks(text: str) -> Iterator[Sequence[re.Match[str]]]:
    """Lines that continue each other: nothing but a line break between them, and whole groups before it."""
    block: list[re.Match[str]] = []
    for line in _LINE.finditer(text):
        if block and not _continues(text, block[-1], line):
            yield block
            block = []
        block.append(line)
    if block:
        yield block


def _continues(text: str, line: re.Match[str], following: re.Match[str]) -> bool:
    if line["rest"] or len(line["whole"]) % _GROUP or len(following["whole"]) > len(line["whole"]):
        return False
    between = text[line.end() : following.start()]
    return "\n" in between and not between.strip()
