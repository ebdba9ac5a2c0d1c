"""What was taken out of a text, and where everything else went."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from eai.dlp.redaction import Redacted, Removal

TEXT = "Card 4111, mail a@b.fr."
REDACTED = Redacted.of(TEXT, [Removal(5, 9, "card"), Removal(16, 22, "email")])

spans = st.tuples(st.integers(0, 60), st.integers(1, 20)).map(lambda pair: (pair[0], pair[0] + pair[1]))


def test_parts_are_replaced_by_their_names_and_listed_in_order() -> None:
    assert REDACTED.text == "Card [card], mail [email]."
    assert [tuple(each) for each in REDACTED.replaced] == [(5, 9, 5, 11, "card"), (16, 22, 18, 25, "email")]


def test_what_stands_elsewhere_is_moved_and_what_was_replaced_in_part_is_covered() -> None:
    moved = REDACTED.moved(TEXT.index("mail"), TEXT.index("mail") + 4)
    assert REDACTED.text[slice(*moved)] == "mail"
    assert REDACTED.moved(0, 7) == (0, 11)
    assert REDACTED.moved(7, 15) == (5, 17)
    assert REDACTED.moved(0, len(TEXT)) == (0, len(REDACTED.text))


def test_a_text_of_which_nothing_is_taken_is_itself() -> None:
    assert Redacted.of(TEXT, []) == Redacted(TEXT)
    assert Redacted(TEXT).moved(3, 9) == (3, 9)


@given(st.text("ab ", min_size=80, max_size=80), st.lists(spans, max_size=6), spans)
def test_a_part_that_touches_nothing_replaced_says_the_same(
    text: str, taken: Sequence[tuple[int, int]], part: tuple[int, int]
) -> None:
    redacted = Redacted.of(text, [Removal(*span, "x") for span in taken])
    start, end = redacted.moved(*part)
    assert 0 <= start < end <= len(redacted.text)
    if all(last <= part[0] or part[1] <= first for first, last in taken):
        assert redacted.text[start:end] == text[slice(*part)]
    for each in redacted.replaced:
        assert redacted.text[each.start : each.end] == "[x]"
        if part[0] < each.source_end and each.source_start < part[1]:
            assert start <= each.start < each.end <= end
