"""What a provider's answer must be before anything is done with it."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eai.access.classification import Classification
from eai.gateway.answers import (
    believed,
    check_completion,
    check_model,
    check_ranking,
    embedding_matrix,
)
from eai.gateway.calls import Usage
from eai.gateway.errors import EmbeddingDimensionMismatch, ModelSubstituted, ProviderResponseInvalid
from eai.gateway.ports import ProviderCompletion, ProviderEmbeddings, ProviderRanking
from eai.gateway.registry import Capability, Model, Retention

NAN, INF = math.nan, math.inf


def model(capability: Capability = Capability.EMBEDDINGS, provider_model: str = "bge-m3") -> Model:
    return Model(
        name="bge",
        capability=capability,
        provider="vllm",
        provider_model=provider_model,
        classification_ceiling=Classification.SECRET,
        region="eu",
        retention=Retention(0),
        dimensions=(2,) if capability is Capability.EMBEDDINGS else (),
    )


Items = Sequence[tuple[int, Sequence[float]]]


def embedded(items: Items) -> list[list[float]]:
    vectors = embedding_matrix(model(), 2, 2, ProviderEmbeddings(items, "bge-m3", 4))
    assert vectors.dtype == np.float32
    return vectors.tolist()


def test_vectors_come_in_the_order_of_the_texts() -> None:
    assert embedded([(1, [0.0, 1.0]), (0, [1.0, 0.0])]) == [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    "items",
    [
        [], [(0, [1.0, 0.0])], [(0, [1.0, 0.0]), (0, [0.0, 1.0])], [(0, [1.0, 0.0]), (2, [0.0, 1.0])],
        [(-1, [1.0, 0.0]), (0, [0.0, 1.0])], [(0, [1.0, 0.0]), (1, [0.0, 1.0]), (2, [1.0, 1.0])],
        [(0, [1.0, 0.0]), (1, [0.0, 1.0]), (1, [0.0, 1.0])], [(0, [1.0, 0.0]), (1, [0.0, 0.0])],
        [(0, [1.0, 0.0]), (1, [NAN, 1.0])], [(0, [INF, 0.0]), (1, [0.0, 1.0])],
        [(0, [1e39, 0.0]), (1, [0.0, 1.0])], [(0, [1e-60, 0.0]), (1, [0.0, 1.0])],
        [(0, [1.0, None]), (1, [0.0, 1.0])], [(0, [1.0, "x"]), (1, [0.0, 1.0])],
        [(0, [1.0, [1.0]]), (1, [0.0, 1.0])],
    ],
)  # fmt: skip
def test_an_answer_that_is_no_set_of_vectors_is_refused(items: Items) -> None:
    with pytest.raises(ProviderResponseInvalid) as caught:
        embedded(items)
    assert caught.value.details == {"model": "bge"}


@pytest.mark.parametrize(
    ("items", "received"),
    [
        ([(0, [1.0]), (1, [1.0])], 1),
        ([(0, [1.0, 2.0]), (1, [1.0, 2.0, 3.0])], 3),
        ([(0, []), (1, [])], 0),
    ],
)
def test_vectors_of_another_size_are_told_with_both_sizes(items: Items, received: int) -> None:
    with pytest.raises(EmbeddingDimensionMismatch) as caught:
        embedded(items)
    assert caught.value.details == {"model": "bge", "expected": 2, "received": received}


@pytest.mark.parametrize("row", [["1", "2"], ["nan", 1.0], [None, 1.0], [[1.0], 1.0], [{"a": 1}, 1.0]])
def test_what_is_no_number_is_not_read_as_one(row: list[float]) -> None:
    with pytest.raises(ProviderResponseInvalid):
        embedded([(0, [1.0, 2.0]), (1, row)])


@given(st.permutations(range(6)))
def test_any_order_of_an_answer_is_the_same_answer(order: list[int]) -> None:
    items = [(index, [float(index + 1), 1.0]) for index in order]
    vectors = embedding_matrix(model(), 6, 2, ProviderEmbeddings(items, "bge-m3", 6))
    assert vectors[:, 0].tolist() == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("registered", "answered", "capability"),
    [
        ("bge-m3", "bge-m3", Capability.EMBEDDINGS),
        ("BAAI/bge-m3", "bge-m3", Capability.EMBEDDINGS),
        ("bge-m3", "BAAI/bge-m3", Capability.EMBEDDINGS),
        ("openai/text-embedding-3-small", "text-embedding-3-small", Capability.EMBEDDINGS),
        ("bge-m3", None, Capability.EMBEDDINGS),
        ("gpt-4o", "gpt-4o-2024-08-06", Capability.CHAT),
        ("openai/gpt-4o", "gpt-4o-2024-08-06", Capability.CHAT),
        ("claude-x", "claude-x-20250929", Capability.CHAT),
    ],
)
def test_a_model_may_answer_under_its_own_names(
    registered: str, answered: str | None, capability: Capability
) -> None:
    check_model(model(capability, registered), answered)


@pytest.mark.parametrize(
    ("registered", "answered", "capability"),
    [
        ("bge-m3", "bge-m3-v2", Capability.EMBEDDINGS),
        ("bge-m3", "BGE-M3", Capability.EMBEDDINGS),
        ("BAAI/bge-m3", "evil/bge-m3", Capability.EMBEDDINGS),
        ("bge-m3", "", Capability.EMBEDDINGS),
        ("m3", "bge-m3", Capability.EMBEDDINGS),
        ("text-embedding-x", "text-embedding-x-2024-08-06", Capability.EMBEDDINGS),
        ("gpt-4o", "gpt-4o-mini", Capability.CHAT),
        ("gpt-4o", "gpt-4o-mini-2024-08-06", Capability.CHAT),
        ("gpt-4o", "gpt-4o-2024-08-06-x", Capability.CHAT),
    ],
)
def test_another_model_is_told_without_repeating_its_name(
    registered: str, answered: str, capability: Capability
) -> None:
    with pytest.raises(ModelSubstituted) as caught:
        check_model(model(capability, registered), answered)
    assert caught.value.details == {"model": "bge"}


def ranked(items: Sequence[tuple[int, float]], documents: int = 3) -> tuple[tuple[int, float], ...]:
    answer = ProviderRanking(items, None, None)
    return check_ranking(model(Capability.RERANK), ["text"] * documents, answer)


def test_documents_come_best_first_and_equals_in_their_order() -> None:
    assert ranked([(2, 0.5), (0, 0.9), (1, 0.5)]) == ((0, 0.9), (1, 0.5), (2, 0.5))


def test_what_was_not_sent_is_dropped_and_what_is_missing_stays_unranked() -> None:
    assert ranked([(7, 0.99), (-1, 0.9), (1, 0.2)]) == ((1, 0.2),)


def test_of_a_repeated_document_the_best_counts() -> None:
    assert ranked([(1, 0.2), (0, 0.5), (1, 0.8)]) == ((1, 0.8), (0, 0.5))


def test_log_odds_become_probabilities_in_the_same_order() -> None:
    found = ranked([(0, -3.0), (1, 60.0), (2, 90.0)])
    assert [index for index, _ in found] == [2, 1, 0]
    assert all(0 <= score <= 1 for _, score in found)
    assert found[2][1] == pytest.approx(0.0474, abs=1e-4)


@pytest.mark.parametrize("items", [[], [(9, 0.5)], [(0, NAN)], [(0, 0.5), (1, INF)]])
def test_a_ranking_of_nothing_or_by_nothing_is_refused(items: list[tuple[int, float]]) -> None:
    with pytest.raises(ProviderResponseInvalid):
        ranked(items)


def test_nothing_can_be_ranked_where_nothing_was_sent() -> None:
    assert ranked([], documents=0) == ()


def test_a_completion_is_its_words_its_end_and_its_cost() -> None:
    chat = model(Capability.CHAT)
    assert check_completion(chat, ProviderCompletion("hello", "length", "bge-m3", 3, 1)) == (
        "hello", "length", Usage(3, 1),
    )  # fmt: skip
    assert check_completion(chat, ProviderCompletion("", None, None, 3, None)) == ("", "stop", None)
    with pytest.raises(ModelSubstituted):
        check_completion(chat, ProviderCompletion("hello", "stop", "other", 3, 1))


@pytest.mark.parametrize(
    ("tokens", "found"),
    [(7, 7), (900_000, 900_000), (None, None), (-1, None), (0, None), (10**12, None), (2**70, None)],
)
def test_a_count_is_believed_when_it_can_be_one(tokens: int | None, found: int | None) -> None:
    assert believed(tokens, ["hello", "world"]) == found


def test_nothing_may_cost_nothing() -> None:
    assert believed(0, [""]) == 0
