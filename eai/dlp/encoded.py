"""Texts that lie in other texts as base64, in either alphabet, in one line or in many of equal length."""

import re
from binascii import a2b_base64
from collections.abc import Iterator, Sequence

from eai.dlp.passage import Passage

_SHORTEST = 24
_GROUP = 4
_SIGN = "[A-Za-z0-9+/_-]"
_REST = rf"(?:{_SIGN}{{4}}){{0,5}}(?:{_SIGN}{{4}}|{_SIGN}{{3}}=|{_SIGN}{{2}}==)(?=\s|\Z)"
_LINE = re.compile(
    rf"(?<!{_SIGN})(?P<whole>{_SIGN}{{{_SHORTEST},}}+={{0,2}}+)(?:(?<!=)\r?\n[ \t]*+(?P<rest>{_REST}))?"
)
_STANDARD = str.maketrans("-_", "+/", "= \t\r\n")
_CONTROLS = bytes(sorted({*range(0x20), 0x7F} - {*b"\t\r\n\0"}))
_MOST_CONTROLS = 0.05
_MOST_UNREADABLE = 0.2


def encoded_parts(passage: Passage) -> Iterator[tuple[int, int, bytes]]:
    """Start, end and content of whatever may be base64, decoded from every place a group may start at."""
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
