import asyncio
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eai.gateway.ports import EmbeddingRole
from eai.integrations.local_models import E5Embedder, HashEmbedder, SentenceEmbedder
from eai.integrations.local_models.hashing import hash_vector

semantic = pytest.mark.skipif(
    not SentenceEmbedder.is_available(), reason="the extra `semantic` is not installed"
)


def test_a_hash_vector_has_the_same_bits_for_ever() -> None:
    vector = hash_vector("Travel costs")
    assert {place: float(vector[place]) for place in np.flatnonzero(vector)} == {
        17: -0.273861289024353,
        37: -0.273861289024353,
        54: 0.3162277638912201,
        90: -0.273861289024353,
        107: 0.273861289024353,
        115: -0.273861289024353,
        139: -0.273861289024353,
        140: 0.273861289024353,
        170: -0.3872983455657959,
        191: -0.273861289024353,
        218: -0.273861289024353,
        248: 0.273861289024353,
    }


def test_a_longer_text_keeps_its_bits_too() -> None:
    vector = hash_vector("Les frais de déplacement sont remboursés sous 30 jours, hors week-end.")
    assert (
        sha256(vector.tobytes()).hexdigest()
        == "d6351ffcd72760c71ed9ef982cd16d81353a3cc5522b09ac2d5a679e880c21db"
    )


def test_spelling_variants_are_near_and_other_texts_are_not() -> None:
    text = hash_vector("Remboursement des déplacements")
    assert text @ hash_vector("REMBOURSEMENTS DES DEPLACEMENTS") > 0.8
    assert text @ hash_vector("Annual shareholder meeting") < 0.3


@given(st.text())
def test_every_text_has_a_unit_vector(text: str) -> None:
    vector = hash_vector(text)
    assert (vector.shape, vector.dtype) == ((256,), np.float32)
    assert float(vector @ vector) == pytest.approx(1, abs=1e-5)


def test_a_text_without_letters_or_digits_is_the_first_axis() -> None:
    assert hash_vector("?!") @ hash_vector("") == 1.0


async def test_the_hash_embedder_keeps_the_order_of_its_texts() -> None:
    texts = [f"text number {number}" for number in range(20)]
    embedded = await HashEmbedder().embed(texts, EmbeddingRole.DOCUMENT)
    assert embedded.vectors.shape == (20, 256)
    assert embedded.tokens == 60
    for row, text in enumerate(texts):
        assert (embedded.vectors[row] == hash_vector(text)).all()


async def test_both_sides_of_a_search_are_hashed_alike() -> None:
    asked = await HashEmbedder().embed(["notice period"], EmbeddingRole.QUERY)
    assert (asked.vectors[0] == hash_vector("notice period")).all()


async def test_nothing_to_hash_is_an_empty_matrix() -> None:
    embedded = await HashEmbedder().embed([], EmbeddingRole.DOCUMENT)
    assert (embedded.vectors.shape, embedded.tokens) == ((0, 256), 0)


@pytest.fixture(scope="module")
def sentences() -> SentenceEmbedder:
    return SentenceEmbedder()


@semantic
async def test_calls_at_once_load_the_model_once_and_get_their_own_answers(
    sentences: SentenceEmbedder,
) -> None:
    texts = [f"Document {number} is about budgets" for number in range(12)]
    answers = await asyncio.gather(*(sentences.embed([text], EmbeddingRole.QUERY) for text in texts))
    together = (await sentences.embed(texts, EmbeddingRole.DOCUMENT)).vectors
    for row, answer in enumerate(answers):
        assert answer.vectors[0] == pytest.approx(together[row], abs=1e-5)


@semantic
async def test_a_translation_is_nearer_than_another_subject(sentences: SentenceEmbedder) -> None:
    texts = [
        "How long is the notice period?",
        "Quelle est la durée du préavis ?",
        "The canteen serves fish on Fridays.",
    ]
    question, translation, other = (await sentences.embed(texts, EmbeddingRole.DOCUMENT)).vectors
    assert question @ translation > question @ other + 0.4


@semantic
async def test_sentence_vectors_are_of_unit_length(sentences: SentenceEmbedder) -> None:
    embedded = await sentences.embed(["", "?!", "one two three"], EmbeddingRole.QUERY)
    assert (embedded.vectors.shape, embedded.vectors.dtype) == ((3, 512), np.float32)
    assert np.linalg.norm(embedded.vectors, axis=1) == pytest.approx(1, abs=1e-3)
    assert embedded.tokens == 4


@semantic
async def test_no_sentences_load_nothing() -> None:
    embedded = await SentenceEmbedder().embed([], EmbeddingRole.DOCUMENT)
    assert embedded.vectors.shape == (0, 512)


translating = pytest.mark.skipif(
    not E5Embedder.is_available(), reason="the extra `semantic` is not installed, or the processor too old"
)


@pytest.fixture(scope="module")
def e5() -> E5Embedder:
    return E5Embedder()


@translating
async def test_e5_finds_an_answer_in_another_language(e5: E5Embedder) -> None:
    passages = ["Le préavis est de trois mois.", "La cantine sert du poisson le vendredi."]
    (question,) = (await e5.embed(["How long is the notice period?"], EmbeddingRole.QUERY)).vectors
    answer, other = (await e5.embed(passages, EmbeddingRole.DOCUMENT)).vectors
    assert question @ answer > question @ other


@translating
async def test_e5_tells_a_question_from_a_passage(e5: E5Embedder) -> None:
    (asked,) = (await e5.embed(["notice period"], EmbeddingRole.QUERY)).vectors
    (stored,) = (await e5.embed(["notice period"], EmbeddingRole.DOCUMENT)).vectors
    assert asked @ stored < 0.99


@translating
async def test_e5_reads_whole_texts_in_order_and_counts_its_own_tokens(e5: E5Embedder) -> None:
    texts = ["", "?!", "one two three", "one\0two three", "one", "six " * 520]
    embedded = await e5.embed(texts, EmbeddingRole.DOCUMENT)
    assert (embedded.vectors.shape, embedded.vectors.dtype) == ((6, 384), np.float32)
    assert np.linalg.norm(embedded.vectors, axis=1) == pytest.approx(1, abs=1e-3)
    assert embedded.vectors[2] == pytest.approx(embedded.vectors[3], abs=1e-6)
    for row, text in enumerate(texts[:-1]):
        alone = await e5.embed([text], EmbeddingRole.DOCUMENT)
        assert embedded.vectors[row] == pytest.approx(alone.vectors[0], abs=1e-6)
    assert (await e5.embed(["one two three"], EmbeddingRole.QUERY)).tokens == 8


@translating
async def test_a_question_waits_for_a_few_passages_and_not_for_all(e5: E5Embedder) -> None:
    passages = ["The notice period of an employee is three months."] * 40
    ingestion = asyncio.create_task(e5.embed(passages, EmbeddingRole.DOCUMENT))
    await asyncio.sleep(0)
    await e5.embed(["How long is the notice period?"], EmbeddingRole.QUERY)
    assert not ingestion.done()
    ingestion.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ingestion


@translating
async def test_no_texts_load_no_e5() -> None:
    embedded = await E5Embedder().embed([], EmbeddingRole.DOCUMENT)
    assert (embedded.vectors.shape, embedded.tokens) == ((0, 384), 0)
