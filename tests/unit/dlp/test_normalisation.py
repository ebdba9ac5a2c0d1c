# ruff: noqa: RUF001 - signs that look like others are what is tested here

import pytest
from hypothesis import given

from eai.dlp.normalisation import fold, normalise
from eai.kernel.respelled import Respelled
from tests.unit.dlp.planted import words


@pytest.mark.parametrize(
    ("given_text", "read"),
    [
        ("plain ASCII - 4111", "plain ASCII - 4111"),
        ("déjà vu", "déjà vu"),
        ("４１１１", "4111"),
        ("٤١١١ ४१११ 𝟒𝟏𝟏𝟏", "4111 4111 4111"),
        ("4\u200b1\u20601\ufeff1", "4111"),
        ("4\ufe0f\u20e31\ufe0f\u20e3", "41"),
        ("4\u00a01\u202f1\u20091", "4 1 1 1"),
        ("4\u20131\u20111\u22121", "4-1-1-1"),
        ("a\u2028b", "a\nb"),
        ("10² m", "10 2  m"),
        ("①②", " 1  2 "),
        ("ﬁn", "fin"),
        ("\ud800", "\ud800"),
        ("", ""),
    ],
)
def test_what_looks_alike_is_read_alike(given_text: str, read: str) -> None:
    assert normalise(given_text).text == read


@given(words)
def test_long_texts_are_read_as_short_ones_are(text: str) -> None:
    short, long = normalise(text), normalise(f"{text}{' ' * 5_000}")
    assert long.text.rstrip(" ") == short.text.rstrip(" ")
    places = range(len(short.text))
    assert [long.origin(at, at + 1) for at in places] == [short.origin(at, at + 1) for at in places]


def test_a_part_of_what_was_read_is_found_again_in_what_was_given() -> None:
    text = "é\u200b①x\u00a0ﬁ４"
    read = normalise(text)
    assert read.text == "é 1 x fi4"
    assert [read.origin(place, place + 1) for place in range(9)] == [
        (0, 1), (2, 3), (2, 3), (2, 3), (3, 4), (4, 5), (5, 6), (5, 6), (6, 7),
    ]  # fmt: skip
    assert read.origin(0, 9) == (0, 7)


@given(words)
def test_every_character_comes_from_the_one_it_was_made_of(text: str) -> None:
    read = normalise(text)
    for place, character in enumerate(read.text):
        start, end = read.origin(place, place + 1)
        assert end == start + 1
        assert character in fold(text[start])
    assert read.text == "".join(map(fold, text))


@given(words)
def test_reading_what_was_read_changes_nothing(text: str) -> None:
    once = normalise(text).text
    assert normalise(once).text == once


def test_a_text_without_anything_unusual_is_not_copied() -> None:
    text = "Une phrase française, déjà."
    assert normalise(text) == Respelled(text)
    assert normalise(text).text is text
