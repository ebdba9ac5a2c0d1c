from hypothesis import given
from hypothesis import strategies as st

from eai.ingestion.splitting import split

WORDS = st.lists(
    st.tuples(st.text("abcdé", min_size=1, max_size=12), st.sampled_from([" ", "\t", ". ", "\n", "\n\n"])),
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


def test_a_row_of_cells_is_cut_between_them() -> None:
    text = "Alpha beta\tgamma delta\tepsilon zeta\teta"
    passages = [text[start:end] for start, end in split(text, size=30, overlap=5)]
    assert passages == ["Alpha beta\tgamma delta", "epsilon zeta\teta"]


def test_no_passage_crosses_an_edge_and_no_overlap_either() -> None:
    text = "Alpha beta gamma delta epsilon. Zeta eta theta iota kappa lambda."
    cut = split(text, size=40, overlap=20, edges=[32, 45, 45, 0, len(text), 900])
    assert [text[start:end] for start, end in cut] == [
        "Alpha beta gamma",
        "beta gamma delta epsilon.",
        "Zeta eta thet",
        "a iota kappa lambda.",
    ]


def test_between_edges_with_nothing_to_read_there_is_no_passage() -> None:
    assert split("one     two", size=40, overlap=10, edges=[3, 5, 8]) == [(0, 3), (8, 11)]


@given(WORDS, st.integers(20, 120), st.integers(0, 10), st.lists(st.integers(-5, 900), max_size=8))
def test_every_word_is_in_some_passage_and_no_passage_is_too_long(
    words: list[tuple[str, str]], size: int, overlap: int, edges: list[int]
) -> None:
    text = "".join(word + pause for word, pause in words)
    spans = split(text, size=size, overlap=overlap, edges=edges)
    covered = {at for start, end in spans for at in range(start, end)}
    assert all(at in covered for at, character in enumerate(text) if not character.isspace())
    assert all(0 < end - start <= size for start, end in spans)
    assert [start for start, _ in spans] == sorted({start for start, _ in spans})
    assert not [at for at in edges for start, end in spans if start < at < end]
