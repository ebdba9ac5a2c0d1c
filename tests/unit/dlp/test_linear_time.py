"""Attack line 68: what a text takes grows as its length does, however it was made up.

Lengths are compared, and not so many seconds allowed: how fast the machine is, and who else is at work on it,
is another matter.
"""

# ruff: noqa: RUF001 - signs that look like others are what is tested here

import gc
import time
from collections.abc import Callable, Sequence

import pytest

from eai.dlp.normalisation import normalise
from eai.dlp.recognisers import api_key, private_key, vat
from eai.dlp.recognition import RECOGNISERS, recognise

SHORT, LONG = 250_000, 1_000_000
MOST_TIMES = 8
"""The time of a text four times as long: 4 where it grows as the length, 16 where as the square of it."""
TRIES = 3
"""What disturbs a measurement only ever adds to it: the shortest of a few is the nearest to the truth."""
BEGIN, END = "-----BEGIN " + "PRIVATE KEY-----", "-----END " + "PRIVATE KEY-----"


def filled(size: int, unit: str) -> str:
    return (unit * (size // len(unit.encode()) + 1))[: size * len(unit) // len(unit.encode())]


TEXTS: dict[str, Callable[[int], str]] = {
    "letters": lambda n: filled(n, "a"),
    "letters and an at sign": lambda n: filled(n, "a")[1:] + "@",
    "addresses": lambda n: filled(n, "a@b.fr "),
    "domains without end": lambda n: filled(n, "@" + "a" * 61),
    "dots": lambda n: "x@" + filled(n, "a."),
    "at signs": lambda n: filled(n, "@"),
    "digits": lambda n: filled(n, "4"),
    "digits apart": lambda n: filled(n, "4 "),
    "digits far apart": lambda n: filled(n, "4" + " " * 1_000),
    "a gap": lambda n: "4111" + filled(n, " ") + "1111",
    "groups of four": lambda n: filled(n, "4111 "),
    "almost cards": lambda n: filled(n, "4111 1111 1111 1112x"),
    "cards": lambda n: filled(n, "4111 1111 1111 1111, "),
    "cards in a row": lambda n: filled(n, "4111 1111 1111 1111 "),
    "cards in lines": lambda n: filled(n, "4111 1111 1111 1111\n"),
    "almost security numbers": lambda n: filled(n, "1 85 05 78 006 084 92 x"),
    "almost accounts": lambda n: filled(n, "FR76"),
    "accounts that are none": lambda n: filled(n, "LC55AAAA"),
    "accounts": lambda n: filled(n, "FR7630006000011234567890189 "),
    "spaced letters": lambda n: filled(n, "F R 7 6 "),
    "base64": lambda n: filled(n, "QUJD"),
    "lines of base64": lambda n: filled(n, "QUJD" * 16 + "\n"),
    "lines of base64 before a key": lambda n: filled(n, "QUJD" * 16 + "\n") + BEGIN,
    "words of base64": lambda n: filled(n, "QUJD" * 6 + " "),
    "beginnings": lambda n: filled(n, BEGIN),
    "beginnings and lines": lambda n: filled(n, f"{BEGIN}\n{'QUJD' * 16}\n"),
    "ends": lambda n: filled(n, END),
    "headers": lambda n: BEGIN + filled(n, "\nKey: value"),
    "dashes": lambda n: BEGIN + filled(n, "-"),
    "dashes and spaces": lambda n: BEGIN + filled(n, "- "),
    "gaps in a key": lambda n: BEGIN + filled(n, "\n"),
    "escaped gaps in a key": lambda n: BEGIN + filled(n, "\\n"),
    "a quoted key": lambda n: BEGIN + filled(n, "\n> " + "QUJD" * 16),
    "a quoted gap in a key": lambda n: BEGIN + filled(n, "\n> "),
    "quoted lines of base64": lambda n: filled(n, "\n> " + "QUJD" * 16),
    "numbered lines of a key": lambda n: BEGIN + filled(n, "\n12: " + "QUJD" * 16) + END,
    "beginnings and ends": lambda n: filled(n, f"{BEGIN} a {END}"),
    "bare keys": lambda n: filled(n, "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" * 2 + "\n> "),
    "quoted putty": lambda n: "PuTTY-User-Key-File-2: x" + filled(n, "\n> AAAA"),
    "beginnings of putty": lambda n: filled(n, "PuTTY-User-Key-File-2: x\n"),
    "marks of keys": lambda n: filled(n, "sk-ghp_xoxb-AKIA"),
    "long almost keys": lambda n: filled(n, "sk-proj-aaaaaaaaaaaaaaaaaaa."),
    "joined almost keys": lambda n: filled(n, "glpat-xoxb-"),
    "slashes": lambda n: filled(n, "4/"),
    "groups across slashes": lambda n: filled(n, "4111/"),
    "almost cards across slashes": lambda n: filled(n, "4111/1111/1111/1112 "),
    "almost accounts across slashes": lambda n: filled(n, "FR76/3000/"),
    "almost security numbers across slashes": lambda n: filled(n, "1/85/05/78/006/084/92 "),
    "a gap of strokes": lambda n: "4111" + filled(n, "/") + "1111",
    "hexadecimal": lambda n: filled(n, "34"),
    "hexadecimal in pairs": lambda n: filled(n, "34 "),
    "hexadecimal in lines": lambda n: filled(n, "34" * 16 + "\n"),
    "escapes": lambda n: filled(n, "%34"),
    "escapes of escapes": lambda n: filled(n, "%25%32%35"),
    "one escape": lambda n: filled(n, "a")[3:] + "%40",
    "backslashes": lambda n: filled(n, "\\x34"),
    "signs by number": lambda n: filled(n, "&#52;"),
    "signs by name": lambda n: filled(n, "&nbsp;"),
    "no names of signs": lambda n: filled(n, "&nbsp"),
    "numbers without end": lambda n: "&#" + filled(n, "0"),
    "breaks": lambda n: filled(n, "<br>"),
    "a break without end": lambda n: "<br" + filled(n, " "),
    "parentheses": lambda n: filled(n, "("),
    "unseen": lambda n: filled(n, "\u200b"),
    "unseen between digits": lambda n: filled(n, "4\u200b"),
    "full width": lambda n: filled(n, "４"),
    "many characters": lambda n: "".join(
        map(chr, [*range(0x80, 0xD800), *range(0xE000, 0x3FFFF)][:: LONG // n])
    ),
    "ligatures": lambda n: filled(n, "\ufdfa"),
}

MARKS = (
    *private_key._MARKS, *api_key._FORMS, *vat._FORMS, BEGIN, END, "@", "FR76", "+33",
    "siren ", "siret ", "rcs ", "passport ", "cni ", "id card ", "carte d'identité ", "P<FRA",
    "IDFRA", "I<FRA", "%41", "\\x41", "\\u0041", "&", "&#", "&#x", "&nbsp;", "<br",
)  # fmt: skip
"""What makes a recogniser look, or begins one of its patterns."""
ROWS = (
    "A", "a", "4", "=", "+", "/", "-", "_", ".", " ", "\n", "<", "'", "\\n", "é", "Ab0/", "A-", "A_", "a.",
    "4 ", "4/", "AAAA ", "AAA\n", "key: ", "34, ",
)  # fmt: skip
"""Of each class of signs that patterns take any number of."""
SHORT_ROW, LONG_ROW = 25_000, 100_000


def seconds(texts: Sequence[str]) -> float:
    """Of processor time of this thread: others of the process have their own work."""
    # The collector goes through all that the process holds, and not through these texts alone.
    gc.disable()
    try:
        started = time.thread_time()
        recognise([normalise(text).text for text in texts], RECOGNISERS)
        return time.thread_time() - started
    finally:
        gc.enable()


def growth(short: Sequence[str], long: Sequence[str]) -> float:
    """How many times as long the longer takes; no more tries than are needed."""
    least = [seconds(short), seconds(long)]
    for _ in range(TRIES - 1):
        if least[1] < MOST_TIMES * least[0]:
            break
        least = [min(least[0], seconds(short)), min(least[1], seconds(long))]
    return least[1] / least[0]


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_four_times_as_long_takes_about_four_times_as_long(name: str) -> None:
    make = TEXTS[name]
    assert growth([make(SHORT)], [make(LONG)]) < MOST_TIMES


@pytest.mark.parametrize("unit", ["4", "4111 1111 1111 1111", "a@b.fr", "QUJD" * 16, BEGIN])
def test_four_times_as_many_small_texts_take_about_four_times_as_long(unit: str) -> None:
    assert growth([unit] * 1_250, [unit] * 5_000) < MOST_TIMES


@pytest.mark.parametrize("unit", ROWS)
def test_a_row_four_times_as_long_takes_about_four_times_as_long_behind_every_mark(unit: str) -> None:
    short, long = (" ".join(MARKS) + filled(size, unit) + "!" for size in (SHORT_ROW, LONG_ROW))
    assert growth([short], [long]) < MOST_TIMES


@pytest.mark.parametrize("mark", MARKS)
def test_four_times_as_many_marks_take_about_four_times_as_long(mark: str) -> None:
    short, long = (
        "|".join(filled(size, mark + glue) for glue in ("", "-", " ")) for size in (SHORT_ROW, LONG_ROW)
    )
    assert growth([short], [long]) < MOST_TIMES
