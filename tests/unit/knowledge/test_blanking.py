from time import process_time

from hypothesis import given
from hypothesis import strategies as st

from eai.knowledge.documents.reading import _blank


@given(st.text("ab ", max_size=30), st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=6))
def test_what_is_hidden_is_blank_and_all_else_in_its_place(text: str, hidden: list[tuple[int, int]]) -> None:
    places = {place for start, end in hidden for place in range(start, end)}
    expected = "".join(" " if place in places else letter for place, letter in enumerate(text))
    assert _blank(text, hidden) == expected


def test_hiding_every_passage_of_a_long_text_costs_little() -> None:
    began = process_time()
    blank = _blank("a" * 5_000_000, [(start, start + 100) for start in range(0, 5_000_000, 100)])
    assert blank.isspace()
    assert process_time() - began < 2
