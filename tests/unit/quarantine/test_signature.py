"""Texts that are nearly alike have signatures that are; others have not."""

from hypothesis import given
from hypothesis import strategies as st

from eai.quarantine.signature import NEAR, distance, signature

WORDS = (
    "Whoever sends a parcel abroad fills in the customs form, keeps a copy of it, and hands the parcel in at "
    "a counter, where it is weighed and measured before it is paid for. Parcels that are heavier than thirty "
    "kilograms are collected by a driver, who brings the form along and takes the parcel away the same day. "
    "A parcel that comes back is kept at the counter for two weeks; after that two people open it, who "
    "write down what is in it, and it is sent to the address inside, if there is one, at no further cost. "
    "What nobody asks for within a year is given away."
).split()
OTHER = (
    "Holidays are asked for a month ahead, in writing, and are granted by whoever plans the shifts of the "
    "depot. Days that were not taken by the end of March are lost, unless an illness or the depot itself was "
    "the reason for it, in which case they are kept until the summer."
)


def signed(text: str) -> int:
    found = signature(text)
    assert found is not None
    return found


def test_a_signature_is_kept_for_ever() -> None:
    assert signed(" ".join(WORDS)) == signed(" ".join(WORDS))
    assert signed("one two three four five six seven eight nine ten") == 5818694782335058241


def test_one_word_more_or_less_leaves_a_text_near() -> None:
    text = signed(" ".join(WORDS))
    for place in range(0, len(WORDS), 9):
        without = " ".join(WORDS[:place] + WORDS[place + 1 :])
        changed = " ".join([*WORDS[:place], "elsewhere", *WORDS[place + 1 :]])
        assert distance(text, signed(without)) <= NEAR
        assert distance(text, signed(changed)) <= NEAR


def test_spelling_that_only_looks_different_makes_no_difference() -> None:
    text = " ".join(WORDS)
    disguised = text.replace("a", "а").replace("parcel", "par\u200bcel").upper()  # noqa: RUF001
    assert distance(signed(text), signed(disguised)) == 0


def test_another_text_is_far() -> None:
    assert distance(signed(" ".join(WORDS)), signed(OTHER)) > 2 * NEAR


def test_a_text_of_a_few_words_has_none() -> None:
    assert signature("") is None
    assert signature("one two three four five six seven eight nine") is None


@given(st.text(min_size=40))
def test_it_fits_into_a_bigint(text: str) -> None:
    found = signature(text)
    assert found is None or -(2**63) <= found < 2**63


@given(st.integers(-(2**63), 2**63 - 1), st.integers(-(2**63), 2**63 - 1))
def test_a_distance_counts_bits(one: int, other: int) -> None:
    assert distance(one, one) == 0
    assert distance(one, other) == distance(other, one) <= 64
    assert distance(one, ~one) == 64
