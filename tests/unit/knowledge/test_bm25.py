from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eai.knowledge.lexical import TYPICAL_LENGTH, document_weights, query_weights, term_number
from eai.knowledge.ports import SparseVector


def by_number(vector: SparseVector) -> dict[int, float]:
    return dict(zip(vector.indices.tolist(), vector.values.tolist(), strict=True))


def dot(first: SparseVector, second: SparseVector) -> float:
    mine, theirs = by_number(first), by_number(second)
    return sum(mine[number] * theirs[number] for number in mine.keys() & theirs.keys())


def test_term_numbers_never_change() -> None:
    assert term_number("fr:rembours") == 526141796
    assert term_number("en:reimburs") == 1351041817


def test_document_weights_by_hand() -> None:
    # Length 4 where 8 is average: 1.9 tf / (tf + 0.9 (0.6 + 0.4 * 4/8)) = 1.9 tf / (tf + 0.72).
    weights = document_weights({"en:cat": 1, "en:dog": 3}, average_length=8)
    assert by_number(weights) == pytest.approx(
        {term_number("en:cat"): 1.9 / 1.72, term_number("en:dog"): 5.7 / 3.72}
    )


def test_a_score_by_hand() -> None:
    # Three chunks of average length; "cat" in two of them, "dog" in one; the first holds both once.
    # At average length and one occurrence a weight is 1.9 / 1.9, so the score is the sum of IDFs.
    chunk = document_weights({"en:cat": 1, "en:dog": 1, "en:the": 2}, average_length=4)
    question = query_weights({"en:cat": 1, "en:dog": 1}, {"en:cat": 2, "en:dog": 1, "en:the": 3}, {"en": 3})
    cat, dog = log(1 + 1.5 / 2.5), log(1 + 2.5 / 1.5)
    assert dot(chunk, question.vector) == pytest.approx(cat + dog)
    assert question.attainable == pytest.approx(cat + dog)


def test_a_term_asked_twice_counts_twice() -> None:
    once = query_weights({"en:cat": 1}, {"en:cat": 1}, {"en": 9}).vector.values[0]
    assert query_weights({"en:cat": 2}, {"en:cat": 1}, {"en": 9}).vector.values[0] == pytest.approx(2 * once)


def test_without_statistics_every_word_weighs_one() -> None:
    asked = query_weights({"en:cat": 1, "fr:chat": 2}, {}, {})
    assert by_number(asked.vector) == {term_number("en:cat"): 1.0, term_number("fr:chat"): 2.0}
    assert asked.attainable == 2.0


def test_a_word_outside_the_statistics_is_as_rare_as_can_be() -> None:
    asked = by_number(query_weights({"en:secret": 1, "en:cat": 1}, {"en:cat": 1}, {"en": 200}).vector)
    assert asked[term_number("en:secret")] == pytest.approx(log(1 + 200.5 / 0.5))
    assert asked[term_number("en:secret")] > asked[term_number("en:cat")]


def test_the_rarity_of_a_word_is_counted_within_its_language() -> None:
    asked = query_weights({"fr:cat": 1}, {"fr:cat": 150}, {"en": 10_000, "fr": 300})
    assert asked.vector.values[0] == pytest.approx(log(1 + 150.5 / 150.5))


def test_a_language_with_few_counted_chunks_weighs_like_its_neighbours() -> None:
    none = query_weights({"fr:chat": 1}, {}, {"en": 10_000}).vector.values[0]
    one = query_weights({"fr:chat": 1}, {}, {"en": 10_000, "fr": 1}).vector.values[0]
    assert none == one == pytest.approx(log(1 + 100.5 / 0.5))


def test_attainable_follows_the_language_that_is_known() -> None:
    # The words exist in French; read as English they are unknown and would seem rare.
    terms = {"en:le": 1, "en:rembours": 1, "fr:le": 1, "fr:rembours": 1}
    asked = query_weights(terms, {"fr:le": 90, "fr:rembours": 10}, {"en": 5_000, "fr": 200})
    assert asked.attainable == pytest.approx(log(1 + 110.5 / 90.5) + log(1 + 190.5 / 10.5))


def test_counts_read_a_moment_apart_do_no_harm() -> None:
    asked = query_weights({"en:cat": 1}, {"en:cat": 12}, {"en": 11})
    assert 0 < asked.vector.values[0] < 0.1


def test_nothing_asked_is_an_empty_vector() -> None:
    asked = query_weights({}, {}, {"en": 3})
    assert (asked.vector.indices.size, asked.vector.values.size, asked.attainable) == (0, 0, 0.0)
    assert document_weights({}, TYPICAL_LENGTH).indices.size == 0


def test_terms_that_share_a_number_are_added() -> None:
    # Found by search: CRC-32 gives both the same number.
    first, second = "en:plumless", "en:buckeroo"
    assert term_number(first) == term_number(second)
    weights = document_weights({first: 1, second: 1}, average_length=2)
    assert by_number(weights) == {term_number(first): pytest.approx(2.0)}


TERMS = st.dictionaries(st.text(min_size=1, max_size=6).map("en:{}".format), st.integers(1, 50), max_size=30)


@given(TERMS, st.floats(1, 1_000))
def test_weights_are_positive_bounded_and_distinct(terms: dict[str, int], average: float) -> None:
    weights = document_weights(terms, average)
    assert (weights.indices.dtype, weights.values.dtype) == (np.uint32, np.float32)
    assert len(set(weights.indices.tolist())) == len(weights.indices)
    assert all(value > 0 for value in weights.values)
    if len(weights.indices) == len(terms):
        assert all(value <= 1.9 for value in weights.values)


@given(TERMS, st.integers(0, 10_000))
def test_idf_is_always_positive(terms: dict[str, int], chunks: int) -> None:
    asked = query_weights(terms, terms, {"en": chunks})
    assert all(value > 0 for value in asked.vector.values)
    assert asked.attainable >= 0
