"""Ways to write a text so that it does not look like one, each with what it decodes to."""

import html
import re
from base64 import b32decode
from binascii import Error, a2b_base64, unhexlify
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol
from urllib.parse import unquote

from eai.quarantine.spelled_apart import (
    APART,
    DIVIDED,
    GLUED,
    ONE_BY_ONE,
    STEMS,
    put_in_row,
    put_together,
    take_apart,
    undivided,
)

_STANDARD = str.maketrans("-_", "+/", "= \t\r\n")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_TURNED = _LETTERS[13:] + _LETTERS[:13]
_ROT13 = str.maketrans(_LETTERS + _LETTERS.upper(), _TURNED + _TURNED.upper())
_ALL_LETTERS = _LETTERS + _LETTERS.upper()
_GROUP, _LONG_GROUP = 4, 8
_CONTROLS = bytes(sorted({*range(0x20), 0x7F} - {*b"\t\r\n\0"}))
_MOST_UNREADABLE = 0.1
_LAST_CODE = 0x10FFFF


class Coding(Protocol):
    """One way to encode."""

    def parts(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Start, end and content of whatever may be encoded so."""
        ...


@dataclass(frozen=True, slots=True)
class _Runs:
    """Parts that a pattern finds; `decode` gives None for one that holds no text."""

    pattern: re.Pattern[str]
    decode: Callable[[str], str | None]
    needs: Callable[[str], bool] = bool

    def parts(self, text: str) -> Iterator[tuple[int, int, str]]:
        if not self.needs(text):
            return
        for match in self.pattern.finditer(text):
            if decoded := self.decode(match[0]):
                yield *match.span(), decoded


@dataclass(frozen=True, slots=True)
class _Lines:
    """Lines that hold the encoded beginning of a word that instructions need."""

    stems: Sequence[str]
    decode: Callable[[str], str]

    def parts(self, text: str) -> Iterator[tuple[int, int, str]]:
        lowered = text.lower()
        if not any(stem in lowered for stem in self.stems):
            return
        start = 0
        for line in text.split("\n"):
            if any(stem in line.lower() for stem in self.stems):
                yield start, start + len(line), self.decode(line)
            start += len(line) + 1


@dataclass(frozen=True, slots=True)
class _Paragraphs:
    """Whole paragraphs; `decode` gives None for one that holds nothing to decode."""

    decode: Callable[[str], str | None]
    needs: Callable[[str], bool]

    def parts(self, text: str) -> Iterator[tuple[int, int, str]]:
        if not self.needs(text):
            return
        start = 0
        for paragraph in text.split("\n\n"):
            if decoded := self.decode(paragraph):
                yield start, start + len(paragraph), decoded
            start += len(paragraph) + 2


def _holds(pattern: str) -> Callable[[str], bool]:
    """A look that is faster than the search it may spare."""
    compiled = re.compile(pattern)
    return lambda text: compiled.search(text) is not None


def _has_row(signs: str, length: int) -> Callable[[str], bool]:
    """Whether so many of the signs stand side by side anywhere."""
    kinds = bytes(b"\0t"[sign in signs.encode()] for sign in range(256))
    return lambda text: b"t" * length in text.encode("ascii", "replace").translate(kinds)


def _text(content: bytes) -> str | None:
    """What was decoded, if anyone would take it for text."""
    unreadable = len(content) - len(content.translate(None, _CONTROLS))
    text = content.replace(b"\0", b"").decode("utf-8", "replace")
    unreadable += text.count("\ufffd")
    return text if unreadable <= _MOST_UNREADABLE * len(text) else None


def _base64(part: str) -> str | None:
    signs = part.translate(_STANDARD)
    whole = signs[:-1] if len(signs) % _GROUP == 1 else signs
    return _text(a2b_base64(whole + "=" * (-len(whole) % _GROUP)))


def _base32(part: str) -> str | None:
    signs = "".join(part.split()).replace("=", "")
    try:
        return _text(b32decode(signs + "=" * (-len(signs) % _LONG_GROUP)))
    except Error:
        return None


def _hexadecimal(part: str) -> str | None:
    digits = re.sub(r"0x|\\x|[^0-9a-fA-F]", "", part)
    return _text(unhexlify(digits[: len(digits) & ~1]))


def _percent(part: str) -> str | None:
    return unquote(part.replace("+", " "))


def _escapes(part: str) -> str | None:
    signs = "".join(chr(min(int(code, 16), _LAST_CODE)) for code in re.findall("[0-9a-fA-F]{4,6}", part))
    # Two halves of a sign become one; half of one is none that could be stored.
    return signs.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _decimal(part: str) -> str | None:
    return "".join(chr(int(number)) for number in re.findall(r"\d+", part))


def _binary(part: str) -> str | None:
    return "".join(chr(int(number, 2)) for number in re.findall(r"[01]{7,8}", part))


def _octal(part: str) -> str | None:
    return "".join(chr(int(number, 8)) for number in part.split("\\") if number)


def _morse(part: str) -> str | None:
    words = re.split(r"\s*[/|]\s*|\s{2,}", part.strip())
    return " ".join("".join(_MORSE.get(sign, "") for sign in word.split()) for word in words)


_MORSE_CODE = (
    ".- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- "
    "-. --- .--. --.- .-. ... - ..- ...- .-- -..- -.-- --.."
)
_MORSE = dict(zip(_MORSE_CODE.split(), _LETTERS, strict=True))
_SIGN = "[A-Za-z0-9+/_-]"
_CODE, _NEXT = r"(?:3[2-9]|[4-9]\d|1[01]\d|12[0-6])", r"(?:,\s?|\s|;|(?!\d))"
CODINGS: Sequence[Coding] = (
    _Runs(
        re.compile(rf"(?<!{_SIGN}){_SIGN}{{16,}}+={{0,2}}+(?:\r?\n[ \t]{{0,8}}{_SIGN}{{4,}}+={{0,2}}+)*+"),
        _base64,
        needs=_has_row(f"{_ALL_LETTERS}0123456789+/_-", 16),
    ),
    _Runs(
        re.compile(r"(?<![A-Za-z0-9])(?:[A-Z2-7]{16,}+={0,6}+\s?)++"),
        _base32,
        needs=_has_row(f"{_LETTERS.upper()}234567", 16),
    ),
    _Runs(re.compile(r"(?<![0-9A-Za-z])(?:(?:0x|\\x)?[0-9a-fA-F]{2}[\s:,-]{0,2}){10,}+"), _hexadecimal),
    _Runs(
        re.compile(r"(?<![%\w.+-])(?=[\w.+-]{0,60}%[0-9A-Fa-f]{2})(?:%[0-9A-Fa-f]{2}|[\w.+-])++", re.ASCII),
        _percent,
        needs=_holds(r"%[0-9A-Fa-f]{2}"),
    ),
    _Runs(
        re.compile(r"(?:&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,8});?\s?){6,}+"),
        html.unescape,
        needs=_holds(r"&#?\w{2,8};"),
    ),
    _Runs(re.compile(r"(?:\\u\{?[0-9a-fA-F]{4,6}\}?[ ]?){6,}+"), _escapes, needs=_holds(r"\\u")),
    _Runs(
        re.compile(
            rf"[1-9](?<![\d.,][1-9])(?:(?<=3)[2-9]|(?<=[4-9])\d|(?<=1)(?:[01]\d|2[0-6])){_NEXT}(?:{_CODE}{_NEXT}){{11,}}+"
        ),
        _decimal,
    ),
    _Runs(re.compile(r"[01](?<!\d\d)[01]{6,7}\s?(?:[01]{7,8}\s?){7,}+"), _binary),
    _Runs(re.compile(r"(?:=[0-9A-F]{2}){10,}+"), _hexadecimal),
    _Runs(re.compile(r"(?:\\[01][0-7]{2}){10,}+"), _octal),
    _Runs(
        re.compile(r"[.-](?<![^\s/][.-])[.-]{0,4}[ /|]{1,3}(?:[.-]{1,5}(?:[ /|]{1,3}|(?![.-]))){14,}+"),
        _morse,
    ),
    _Lines([stem.translate(_ROT13) for stem in STEMS], lambda line: line.translate(_ROT13)),
    _Lines([stem[::-1] for stem in STEMS], lambda line: line[::-1]),
    _Runs(APART, put_together),
    _Runs(ONE_BY_ONE, put_in_row),
    _Paragraphs(undivided, needs=_holds(DIVIDED)),
    _Runs(GLUED, take_apart, needs=_has_row(_ALL_LETTERS, 18)),
)
