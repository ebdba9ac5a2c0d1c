from hypothesis import given
from hypothesis import strategies as st

from eai.access.classification import LEVELS, Classification
from eai.knowledge.chunks.spans import OwnRights, both, rights_between, spans_from_rows, spans_to_rows
from eai.knowledge.documents.drafts import Readers, SpanRights

readers: st.SearchStrategy[Readers] = st.none() | st.frozensets(st.sampled_from(["a", "b", "c"]))
levels = st.none() | st.sampled_from(LEVELS)


@st.composite
def spans(draw: st.DrawFn) -> SpanRights:
    start = draw(st.integers(0, 50))
    return SpanRights(start, start + draw(st.integers(1, 20)), draw(readers), draw(levels))


def test_a_passage_takes_the_strictest_of_the_spans_it_touches() -> None:
    given_ = [
        SpanRights(0, 10, readers=frozenset({"a", "b"})),
        SpanRights(9, 20, readers=frozenset({"b"}), classification=Classification.SECRET),
        SpanRights(12, 20, classification=Classification.INTERNAL),
    ]
    assert rights_between(0, 9, given_) == OwnRights(frozenset({"a", "b"}), None)
    assert rights_between(5, 15, given_) == OwnRights(frozenset({"b"}), Classification.SECRET)
    assert rights_between(20, 30, given_) == OwnRights()


@given(st.lists(spans(), max_size=5), st.integers(0, 60), st.integers(1, 20))
def test_no_character_is_laxer_than_a_span_over_it(given_: list[SpanRights], start: int, length: int) -> None:
    own = rights_between(start, start + length, given_)
    for span in given_:
        if span.start < start + length and start < span.end:
            if span.readers is not None:
                assert own.readers is not None
                assert own.readers <= span.readers
            if span.classification is not None:
                assert own.classification is not None
                assert not span.classification.exceeds(own.classification)


@given(st.lists(spans(), max_size=5), st.integers(0, 60), st.integers(1, 20))
def test_the_order_of_spans_does_not_matter(given_: list[SpanRights], start: int, length: int) -> None:
    assert rights_between(start, start + length, given_) == rights_between(
        start, start + length, given_[::-1]
    )


@given(readers, readers)
def test_both_lists_bind(first: Readers, second: Readers) -> None:
    joined = both(first, second)
    assert joined == both(second, first)
    for listed in (first, second):
        assert listed is None or (joined is not None and joined <= listed)


@given(st.lists(spans(), max_size=5))
def test_spans_are_stored_and_read_back(given_: list[SpanRights]) -> None:
    assert spans_from_rows(spans_to_rows(given_)) == tuple(given_)
