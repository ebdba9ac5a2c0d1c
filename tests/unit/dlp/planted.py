"""Entities as people and evaders write them, and texts to plant them in."""

import string
from collections.abc import Callable
from itertools import pairwise

from hypothesis import assume
from hypothesis import strategies as st

SCHEMES = (
    ("4", 16), ("4", 19), ("51", 16), ("2221", 16), ("2720", 16), ("34", 15), ("37", 15), ("6011", 16),
    ("649", 16), ("65", 19), ("3528", 16), ("3589", 19), ("62", 16), ("62", 18), ("6304", 14), ("2200", 16),
)  # fmt: skip
ACCOUNTS = {
    "FR": "nnnnnnnnnncccccccccccnn", "DE": "n" * 18, "GB": "aaaa" + "n" * 14, "NL": "aaaa" + "n" * 10,
    "BE": "n" * 12, "CH": "nnnnn" + "c" * 12, "IT": "a" + "n" * 10 + "c" * 12, "ES": "n" * 20,
    "MT": "aaaannnnn" + "c" * 18, "LU": "nnn" + "c" * 13, "MA": "n" * 24, "SN": "aa" + "n" * 22,
    "NO": "n" * 11,
}  # fmt: skip
SIGNS = {
    "n": string.digits, "a": string.ascii_uppercase, "c": string.ascii_uppercase + string.digits,
}  # fmt: skip

UNSEEN = ("\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u202e", "\ufe0f", "\u20e3", "\U000e0041")
SPACES = (
    " ", "  ", "\t", "\n", "\r\n", "\u2028", "\u00a0", "\u202f", "\u2009", "\u3000", "-", "\u2011", "\u2013",
)  # fmt: skip
POINTS = (".", "\u00b7", "\u2022", "\u2027")
STROKES = ("/", "_", "+", "//", "\u2044", "\u2215", "\uff0f", "\uff3f")
ROWS_OF_DIGITS = (0x30, 0xFF10, 0x0660, 0x0966, 0x1D7CE, 0x1D7F6)

words = st.text(st.characters(codec="utf-8"), max_size=30)
printable_words = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=30)
quiet_words = st.text("abcdéèàç ,;:!?()\n", max_size=40)


def luhn(body: str) -> str:
    """The check digit, by the book: from the right, every second digit doubled, its digits added."""
    total = 0
    for place, digit in enumerate(reversed(body)):
        total += sum(map(int, str(int(digit) * (2 if place % 2 == 0 else 1))))
    return str(-total % 10)


def iban(country: str, account: str) -> str:
    """With the check digits that make it 1 modulo 97."""
    number = "".join(str(int(sign, 36)) for sign in f"{account}{country}00")
    return f"{country}{98 - int(number) % 97:02}{account}"


@st.composite
def cards(draw: Callable[..., str]) -> str:
    prefix, length = draw(st.sampled_from(SCHEMES))
    rest = length - len(prefix) - 1
    body = prefix + draw(st.text(string.digits, min_size=rest, max_size=rest))
    number = body + luhn(body)
    # Of fourteen digits, the first nine alone must not pass: it might be a French establishment's number.
    assume(length != 14 or number[8] != luhn(number[:8]))
    return number


@st.composite
def ibans(draw: Callable[..., str]) -> str:
    country = draw(st.sampled_from(sorted(ACCOUNTS)))
    return iban(country, "".join(draw(st.sampled_from(SIGNS[kind])) for kind in ACCOUNTS[country]))


@st.composite
def disguised(draw: Callable[..., str], number: str, spaces: tuple[str, ...] = (*SPACES, *UNSEEN)) -> str:
    """The number with anything between its signs, and with digits of any kind."""
    signs = [draw(_written(sign)) for sign in number]
    between = st.lists(st.sampled_from(spaces), max_size=2).map("".join) | st.just("")
    return signs[0] + "".join(draw(between) + sign for sign in signs[1:])


@st.composite
def usual(draw: Callable[..., str], card: str) -> str:
    """A card number in one piece, or as it stands on the card, with one and the same sign in its gaps."""
    sign = draw(st.sampled_from(("", *SPACES, *POINTS)))
    return sign.join(_groups(card))


@st.composite
def stroked(draw: Callable[..., str], number: str) -> str:
    """A card's or an account's number as it stands on paper, or a card's digit by digit, across strokes."""
    groups = [number[at : at + 4] for at in range(0, len(number), 4)] if number[0].isalpha() else []
    ways = [groups] if groups else [way for way in (_groups(number), list(number)) if len(way) > 1]
    return draw(st.sampled_from(STROKES)).join(draw(st.sampled_from(ways)))


def _groups(card: str) -> list[str]:
    """As it stands on the card, where that is known for its length."""
    ends = {14: (4, 10), 15: (4, 10), 16: (4, 8, 12), 19: (4, 8, 12, 16)}.get(len(card), ())
    return [card[start:end] for start, end in pairwise([0, *ends, len(card)])]


@st.composite
def spelt(draw: Callable[..., str], text: str) -> str:
    """The text sign by sign as numbers: in hexadecimal with or without gaps, or as escapes of any kind."""
    pairs = [f"{sign:02x}" for sign in text.encode()]
    mark = draw(st.sampled_from(("%", "\\x", "\\u00")))
    gap = draw(st.sampled_from(("", " ", ":", "-", ", ", ",")))
    numbered = "".join(draw(st.sampled_from([f"&#{sign};", f"&#x{sign:x};"])) for sign in text.encode())
    spelling = draw(st.sampled_from(["".join(mark + pair for pair in pairs), gap.join(pairs), numbered]))
    return draw(st.sampled_from([spelling, spelling.upper() if mark == "%" else spelling]))


def _written(sign: str) -> st.SearchStrategy[str]:
    if sign.isdigit():
        return st.sampled_from(ROWS_OF_DIGITS).map(lambda zero: chr(zero + int(sign)))
    return st.sampled_from([sign, chr(ord(sign) + 0xFEE0)])
