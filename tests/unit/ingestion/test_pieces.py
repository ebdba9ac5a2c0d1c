from hypothesis import given
from hypothesis import strategies as st

from eai.ingestion.pieces import uncovered

spans = st.lists(
    st.tuples(st.integers(0, 60), st.integers(1, 20)).map(lambda each: (each[0], sum(each))), max_size=8
)


def test_an_overlap_that_both_passages_had_comes_out_once() -> None:
    assert uncovered([], [(0, 80), (80, 100), (80, 100), (100, 200)]) == [(0, 80), (80, 100), (100, 200)]


def test_what_a_passage_that_stays_says_anyway_comes_out_not_at_all() -> None:
    assert uncovered([(90, 200)], [(0, 50), (50, 95), (90, 120), (100, 110)]) == [(0, 50), (50, 95)]


@given(spans, spans)
def test_no_character_is_lost_and_no_piece_lies_in_another_span(
    kept: list[tuple[int, int]], cut: list[tuple[int, int]]
) -> None:
    found = uncovered(kept, cut)
    assert set(found) <= set(cut)
    covered = {at for start, end in [*kept, *found] for at in range(start, end)}
    assert covered == {at for start, end in [*kept, *cut] for at in range(start, end)}
    for place, (start, end) in enumerate(found):
        others = [*kept, *found[:place], *found[place + 1 :]]
        assert not [other for other in others if other[0] <= start and end <= other[1]]
