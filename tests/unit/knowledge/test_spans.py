from time import process_time

from hypothesis import given
from hypothesis import strategies as st

from eai.access.classification import LEVELS, Classification
from eai.knowledge.chunks.spans import OwnRights, Strictest, both, spans_from_rows, spans_to_rows
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
    strictest = Strictest(given_)
    assert strictest.between(0, 9) == OwnRights(frozenset({"a", "b"}), None)
    assert strictest.between(5, 15) == OwnRights(frozenset({"b"}), Classification.SECRET)
    assert strictest.between(20, 30) == OwnRights()
    assert Strictest([]).between(0, 10) == OwnRights()


def test_an_edge_is_where_rights_change() -> None:
    given_ = [
        SpanRights(5, 10, readers=frozenset({"a", "b"})),
        SpanRights(8, 20, readers=frozenset({"b"})),
        SpanRights(20, 30, readers=frozenset({"b"})),
        SpanRights(22, 25),
        SpanRights(40, 50, classification=Classification.PUBLIC),
    ]
    strictest = Strictest(given_)
    assert strictest.edges == [5, 8, 30, 40, 50]
    assert [strictest.divides(*passage) for passage in [(0, 5), (8, 30), (50, 60)]] == [False] * 3
    assert [strictest.divides(*passage) for passage in [(0, 6), (7, 9), (29, 31), (0, 60)]] == [True] * 4
    assert Strictest([]).edges == []


@given(st.lists(spans(), max_size=6))
def test_between_edges_every_character_has_the_same_rights(given_: list[SpanRights]) -> None:
    strictest = Strictest(given_)
    characters = [strictest.between(at, at + 1) for at in range(75)]
    changed = [at for at in range(75) if characters[at] != (characters[at - 1] if at else OwnRights())]
    assert strictest.edges == changed


@given(st.lists(spans(), max_size=8), st.integers(0, 80), st.integers(1, 30))
def test_what_binds_a_passage_is_every_span_that_it_touches(
    given_: list[SpanRights], start: int, length: int
) -> None:
    expected = OwnRights()
    for span in given_:
        if span.start < start + length and start < span.end:
            levels = [level for level in (expected.classification, span.classification) if level is not None]
            strictest = max(levels, key=lambda level: level.rank, default=None)
            expected = OwnRights(both(expected.readers, span.readers), strictest)
    assert Strictest(given_).between(start, start + length) == expected


def test_a_thousand_spans_over_a_long_text_cost_little() -> None:
    everybody = frozenset(f"user:{number}" for number in range(20))
    overlapping = [SpanRights(number, 10_000_000 - number, everybody) for number in range(1_000)]
    side_by_side = [SpanRights(number * 5_000, number * 5_000 + 10, everybody) for number in range(1_000)]
    began = process_time()
    for given_ in (overlapping, side_by_side):
        strictest = Strictest(given_)
        for start in range(0, 5_000_000, 100):
            strictest.between(start, start + 100)
    assert process_time() - began < 5


@given(st.lists(spans(), max_size=5), st.integers(0, 60), st.integers(1, 20))
def test_no_character_is_laxer_than_a_span_over_it(given_: list[SpanRights], start: int, length: int) -> None:
    own = Strictest(given_).between(start, start + length)
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
    forwards, backwards = Strictest(given_), Strictest(given_[::-1])
    assert forwards.between(start, start + length) == backwards.between(start, start + length)


@given(readers, readers)
def test_both_lists_bind(first: Readers, second: Readers) -> None:
    joined = both(first, second)
    assert joined == both(second, first)
    for listed in (first, second):
        assert listed is None or (joined is not None and joined <= listed)


@given(st.lists(spans(), max_size=5))
def test_spans_are_stored_and_read_back(given_: list[SpanRights]) -> None:
    assert spans_from_rows(spans_to_rows(given_)) == tuple(given_)
