from hypothesis import given
from hypothesis import strategies as st

from eai.knowledge.statistics.tally import Tally

chunks = st.lists(
    st.tuples(
        st.sampled_from(["en", "fr"]),
        st.integers(1, 3),
        st.dictionaries(st.sampled_from(["a", "b", "c"]), st.integers(1, 5)),
    )
)


def test_terms_count_chunks_and_tokens_count_occurrences() -> None:
    tally = Tally()
    tally.add("en", 1, {"refund": 3, "policy": 1})
    tally.add("en", 1, {"refund": 1})
    tally.remove("fr", 2, {"voyage": 2})
    assert tally.terms == {1: {"refund": 2, "policy": 1}, 2: {"voyage": -1}}
    assert tally.chunks == {(1, "en"): 2, (2, "fr"): -1}
    assert tally.tokens == {(1, "en"): 5, (2, "fr"): -2}


@given(chunks)
def test_what_comes_and_goes_leaves_nothing(given_: list[tuple[str, int, dict[str, int]]]) -> None:
    tally = Tally()
    for chunk in given_:
        tally.add(*chunk)
    for chunk in reversed(given_):
        tally.remove(*chunk)
    for counter in (*tally.terms.values(), tally.chunks, tally.tokens):
        assert not any(counter.values())
