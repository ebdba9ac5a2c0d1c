"""How much of a text is new under the name of one that people know."""

import random

import pytest

from eai.quarantine.detectors.drift import DRIFT
from eai.quarantine.examination import examine
from eai.quarantine.ports import Finding, Former, Severity
from eai.quarantine.specimen import Specimen
from tests.unit.quarantine.test_signature import OTHER, WORDS

TEXT = " ".join(WORDS)


def drift(text: str, former: str, *, is_approved: bool = True, instead: str | None = None) -> list[Finding]:
    specimen = Specimen(text, text, former=Former(former, instead or text, is_approved))
    return [each for each in examine(specimen) if each.detector == "drift"]


def told(text: str, former: str, *, is_approved: bool = True) -> list[tuple[str, str]]:
    found = drift(text, former, is_approved=is_approved)
    return [(each.reason.value, each.severity.value) for each in found]


def edited(words: list[str], changed: int) -> str:
    """With so many words in the place of others, the same ones every time."""
    places = random.Random(7).sample(range(len(words)), changed)
    return " ".join("elsewhere" if place in places else word for place, word in enumerate(words))


def test_another_text_in_the_place_of_one_that_was_let_pass_is_grave() -> None:
    assert told(OTHER, TEXT) == [("replaces_approved", "high")]


def test_another_text_in_the_place_of_one_that_merely_answers_is_noted() -> None:
    assert told(OTHER, TEXT, is_approved=False) == [("replaces_served", "low")]
    assert told(f"{TEXT} {OTHER} {OTHER.replace('a', 'o')}", TEXT, is_approved=False) == []


def test_a_text_in_the_place_of_nothing_has_not_drifted() -> None:
    assert list(DRIFT.marks(Specimen.plain(OTHER))) == []


@pytest.mark.parametrize("changed", [1, 5, 10, 20])
def test_a_text_that_is_edited_has_not_drifted(changed: int) -> None:
    assert drift(edited(WORDS, changed), TEXT) == []


def test_what_is_taken_away_or_put_elsewhere_is_nothing_new() -> None:
    half = len(WORDS) // 2
    assert drift(" ".join(WORDS[half:]), TEXT) == []
    assert drift(" ".join([*WORDS[half:], *WORDS[:half]]), TEXT) == []


def test_other_numbers_are_no_other_text() -> None:
    prices = (
        "Apples 1.20, pears 2.30, quinces 4.10, plums 3.00, cherries 5.90, grapes 2.80, figs 6.10, kiwis 1.10"
    )
    table = f"{prices}, melons 3.40, dates 7.20"
    assert drift(table.translate(str.maketrans("1234567", "7654321")), table) == []


def test_spelling_that_only_looks_different_is_nothing_new() -> None:
    disguised = TEXT.replace("a", "а").replace("parcel", "par\u200bcel").upper()  # noqa: RUF001
    assert drift(disguised, TEXT) == []


def test_a_text_of_which_most_is_new_is_in_between() -> None:
    assert told(f"{' '.join(WORDS[:60])} {OTHER} {OTHER.upper()}", TEXT) == []
    assert told(f"{' '.join(WORDS[:20])} {OTHER}", TEXT) == [("departs_from_approved", "medium")]


def test_a_heading_that_is_kept_does_not_hide_that_the_rest_is_gone() -> None:
    assert told(f"{' '.join(WORDS[:9])} {OTHER}", TEXT) == [("replaces_approved", "high")]
    assert told(f"{' '.join(WORDS[:9])} {OTHER}", TEXT, is_approved=False) == []


def test_where_words_are_not_apart_each_sign_counts() -> None:
    clauses = [chr(0x4E00 + 10 * number) * 2 + chr(0x7000 + number) * 3 for number in range(12)]
    former = "，".join(clauses)  # noqa: RUF001 - a comma of that script
    assert told("，".join(reversed(clauses)), former) == []  # noqa: RUF001
    assert drift(former.replace(clauses[0], "昨日今日明"), former) == []
    other = "，".join(chr(0x6000 + 11 * number) * 4 for number in range(9))  # noqa: RUF001
    assert told(other, former) == [("replaces_approved", "high")]


@pytest.mark.parametrize("between", ["\u02cd", "\u0640", "\u02cd\u02cd"])
def test_modifiers_in_place_of_spaces_do_not_make_one_word_of_a_text(between: str) -> None:
    assert told(OTHER.replace(" ", between), TEXT) == [("replaces_approved", "high")]
    assert drift(TEXT.replace(" ", between), TEXT) == []


def test_the_same_text_instead_of_another_is_another_finding() -> None:
    [once], [again] = drift(OTHER, TEXT), drift(OTHER, TEXT.upper())
    assert (once.excerpt, once.reason) == (again.excerpt, again.reason)
    assert once.fingerprint != again.fingerprint
    assert once.fingerprint == drift(OTHER, TEXT)[0].fingerprint


def test_repeating_what_is_known_does_not_hide_what_is_new() -> None:
    assert told(f"{' '.join(WORDS[:20])} {OTHER}" + f" {' '.join(WORDS[:20])}" * 50, TEXT) == [
        ("departs_from_approved", "medium")
    ]


def test_a_word_a_version_is_found_once_it_has_become_another_text() -> None:
    """Attack line 85: each version is as good as the one before, and the last is another text."""
    words, found = list(WORDS), []
    for place in random.Random(7).sample(range(len(WORDS)), len(WORDS)):
        words[place] = f"other{chr(ord('a') + place % 26)}{chr(ord('a') + place // 26)}"
        found.append(told(" ".join(words), TEXT))
    assert found[0] == found[10] == []
    assert found[-1] == [("replaces_approved", "high")]
    gravest = [Severity(each[0][1]).rank if each else -1 for each in found]
    assert gravest == sorted(gravest)


def test_the_longest_part_that_is_new_is_shown_exactly() -> None:
    text = f"{' '.join(WORDS[:9])}. {OTHER} {' '.join(WORDS[-9:])}"
    [found] = drift(text, TEXT)
    # The first and last rows that are new begin and end among the words that are known.
    assert text[found.start : found.end] == f"{' '.join(WORDS[7:9])}. {OTHER} {' '.join(WORDS[-9:-7])}"
    assert found.excerpt.startswith("hands the parcel") or found.excerpt.startswith(" ".join(WORDS[7:9]))


def test_places_count_in_the_text_as_it_was_given() -> None:
    text = f"\u200b\u200bﬁne: {OTHER}"
    [found] = drift(text, TEXT)
    assert text[found.start : found.end] == text[2:-1]


def test_what_is_taken_out_of_both_texts_says_nothing() -> None:
    former = " ".join(f"{name} ████████████" for name in WORDS[:40])
    text = " ".join(f"{name} {name}@a.example" for name in WORDS[:40])
    instead = " ".join(f"{name} {'█' * len(f'{name}@a.example')}" for name in WORDS[:40])
    assert drift(text, former, instead=instead) == []
    assert [each.severity for each in drift(text, former)] == [Severity.HIGH]


@pytest.mark.parametrize(
    "text", ["", "Parcels, letters and cards leave the depot at noon.", "1 2 3 4 5 6 7 8 9"]
)
def test_a_text_of_a_few_words_is_not_compared(text: str) -> None:
    assert drift(text, TEXT) == []
    assert told(OTHER, text) == [("replaces_approved", "high")]
