"""A person is found however it is spelt, and the recall that answers state is the real one."""

from collections import defaultdict
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eai.dlp.normalisation import normalise
from eai.dlp.recognition import RECOGNISERS, recognise
from eai.privacy.identifiers import Identifiers, entity_of, is_too_short
from eai.privacy.recall import MEASURED, Measured, interval, recall_of
from tests.unit.privacy.spellings import NUMBERS, occurrences, spellings

ENTITIES = (
    "payment_card", "iban", "nir", "email", "phone", "siren", "siret", "vat", "passport", "identity_card", "",
)  # fmt: skip


def measure(entity: str) -> tuple[Measured, set[str]]:
    """What is found of everything made up for an entity, and the ways of which something is missed."""
    tried = found = detected = 0
    missed: dict[str, int] = defaultdict(int)
    for value, way, text in occurrences(entity):
        tried += 1
        is_found = bool(Identifiers.of([value]).places(text))
        found += is_found
        missed[way] += not is_found
        detected += any(each.entity == entity for each in recognise([normalise(text).text], RECOGNISERS))
    return Measured(tried, found, detected), {way for way, count in missed.items() if count}


MISSED = {
    "payment_card": {"with words between", "with a letter for a digit"},
    "iban": {"with words between", "with a letter for a digit"},
    "nir": {"with words between", "with a letter for a digit"},
    "email": {"spelt out", "across two lines"},
    "phone": {"as from abroad", "in hexadecimal", "with words between", "with a letter for a digit"},
    "siren": {"in hexadecimal", "with words between", "with a letter for a digit"},
    "siret": {"with words between", "with a letter for a digit"},
    "vat": {"with words between", "with a letter for a digit"},
    # Of so few digits, it is no number that is written in groups of any kind.
    "passport": {
        *(way for way in NUMBERS if way.startswith("in groups")),
        "in hexadecimal",
        "with words between",
        "with a letter for a digit",
    },
    "identity_card": {"with words between", "with a letter for a digit"},
    # Escapes of more than one byte are not put together, and few bytes in hexadecimal are not looked at.
    "": {"last name first", "by its initial", "escaped", "in hexadecimal"},
}


@pytest.mark.parametrize("entity", ENTITIES)
def test_the_recall_that_is_stated_is_what_is_measured(entity: str) -> None:
    measured, missed = measure(entity)
    assert measured == MEASURED[entity]
    assert missed == MISSED[entity]
    assert missed <= set(spellings(entity))


def test_what_was_never_measured_is_not_stated() -> None:
    assert recall_of("api_key").tried is None
    assert recall_of(None).entity is None
    assert recall_of(None).tried == MEASURED[""].tried


def test_the_interval_is_the_one_of_the_books() -> None:
    # Newcombe (1998), table I: 81 of 263, and 15 of 148.
    assert [round(bound, 4) for bound in interval(81, 263)] == [0.2553, 0.3662]
    assert [round(bound, 4) for bound in interval(15, 148)] == [0.0624, 0.1605]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("jeanne@example.org", "jeanne@example.org.uk"),
        ("jeanne@example.org", "marie-jeanne@example.org"),
        ("jeanne@example.org", "x.jeanne@example.org"),
        ("Tom Roy", "Tom Royal"),
        ("Tom Roy", "Atom Roy"),
        ("269054958815780", "2690549588157801"),
        ("269054958815780", "1269054958815780"),
        ("a.b.c.d", "abcde"),
    ],
)
def test_what_only_looks_alike_is_not_found(value: str, text: str) -> None:
    assert Identifiers.of([value]).places(f"See {text} there.") == []


def test_a_place_is_told_in_the_text_as_it_was_given() -> None:
    text = "À noter\u200b : ２６９０５４９５８８１５７８０ et jeanne@example.org."  # noqa: RUF001
    places = Identifiers.of(["269054958815780", "JEANNE@example.org"]).places(text)
    assert [(text[each.start : each.end], each.entity) for each in places] == [
        ("２６９０５４９５８８１５７８０", "nir"),  # noqa: RUF001
        ("jeanne@example.org", "email"),
    ]


def test_the_entity_of_an_identifier_is_what_dlp_takes_it_for() -> None:
    assert entity_of("2 69 05 49 588 157 80") == "nir"
    assert entity_of("jeanne@example.org") == "email"
    assert entity_of("Jeanne Morel") is None


@given(st.text(max_size=6))
def test_an_identifier_of_few_signs_means_nobody(value: str) -> None:
    if not is_too_short(value):
        return
    with pytest.raises(ValueError, match="means nobody"):
        Identifiers.of([value])


@given(
    st.text(st.characters(codec="utf-8"), max_size=40),
    st.text(st.characters(codec="utf-8"), max_size=40),
)
def test_whatever_stands_around_it_a_place_lies_in_the_text(before: str, after: str) -> None:
    text = f"{before} jeanne@example.org {after}"
    places = Identifiers.of(["jeanne@example.org"]).places(text)
    assert places
    assert all(0 <= each.start < each.end <= len(text) for each in places)


def test_a_long_text_takes_no_longer_than_its_length_asks_for() -> None:
    # Separators without end, and a number that never ends well: what backtracking would drown in.
    text = ("2 6 9 0 5 4 9 5 8 8 1 5 7 8 - " * 20_000) + "a" * 100_000
    assert Identifiers.of(["269054958815780", "jeanne@example.org", "Jeanne Morel"]).places(text) == []


def test_four_times_as_many_places_take_about_four_times_as_long() -> None:
    search = Identifiers.of(["jeanne@example.org"])

    def once(count: int) -> float:
        text, before = "jeanne@example.org " * count, process_time()
        assert len(search.places(text)) == count
        return process_time() - before

    def taken(count: int) -> float:
        # Others who want the processor make it slow, and nobody makes it fast.
        return min(once(count) for _ in range(3))

    assert taken(24_000) < 9 * taken(6_000)
