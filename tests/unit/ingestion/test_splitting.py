from hypothesis import given
from hypothesis import strategies as st

from eai.ingestion.splitting import split

WORDS = st.lists(
    st.tuples(st.text("abcdé", min_size=1, max_size=12), st.sampled_from([" ", ". ", "\n", "\n\n"])),
    min_size=1,
    max_size=200,
)


def test_a_short_text_is_one_passage() -> None:
    assert split("Two words.", size=800, overlap=100) == [(0, 10)]


def test_a_text_without_any_pause_is_cut_at_the_size() -> None:
    assert split("x" * 2000, size=800, overlap=100) == [(0, 700), (700, 1400), (1400, 2000)]


def test_an_overlap_begins_at_a_word_and_cuts_none() -> None:
    text = "Alpha beta gamma delta epsilon.\n\nZeta eta theta iota kappa lambda.\n\nMu nu."
    passages = [text[start:end] for start, end in split(text, size=40, overlap=10)]
    assert passages == [
        "Alpha beta gamma delta",
        "delta epsilon.",
        "epsilon.\n\nZeta eta theta iota kappa",
        "kappa lambda.",
        "lambda.\n\nMu nu.",
    ]


@given(WORDS, st.integers(20, 120), st.integers(0, 10))
def test_every_word_is_in_some_passage_and_no_passage_is_too_long(
    words: list[tuple[str, str]], size: int, overlap: int
) -> None:
    text = "".join(word + pause for word, pause in words)
    spans = split(text, size=size, overlap=overlap)
    covered = {at for start, end in spans for at in range(start, end)}
    assert all(at in covered for at, character in enumerate(text) if not character.isspace())
    assert all(0 < end - start <= size for start, end in spans)
    assert [start for start, _ in spans] == sorted({start for start, _ in spans})
