import pytest
from hypothesis import given
from hypothesis import strategies as st

from eai.access.classification import Classification
from eai.audit.entries import Actor
from eai.gateway.calls import Caller, ChatCall, EmbeddingCall, Operation, RerankCall
from eai.gateway.context import excess
from eai.gateway.ports import ChatMessage, EmbeddingRole
from eai.kernel.ids import PLATFORM_TENANT

TERMS = {
    "caller": Caller(PLATFORM_TENANT, Actor("system")),
    "model": "m",
    "operation": Operation.CLIENT,
    "level": Classification.PUBLIC,
}


def embedding(*texts: str) -> EmbeddingCall:
    return EmbeddingCall(**TERMS, inputs=texts, role=EmbeddingRole.DOCUMENT)


def chat(*texts: str, max_tokens: int) -> ChatCall:
    return ChatCall(**TERMS, messages=[ChatMessage("user", text) for text in texts], max_tokens=max_tokens)


@pytest.mark.parametrize(("most", "found"), [(3, 4), (4, None)])
def test_an_input_has_no_fewer_tokens_than_words(most: int, found: int | None) -> None:
    assert excess(embedding("one", "a b  c\n\u2003d", "two"), most) == found


def test_inputs_are_read_one_by_one() -> None:
    assert excess(embedding(*["a b c"] * 100), 3) is None


@pytest.mark.parametrize("text", ["x" * 100_000, " " * 100_000, "\u6f22" * 5_000])
def test_what_no_space_divides_may_be_one_token(text: str) -> None:
    assert excess(embedding(text), 1) is None


def test_a_document_is_read_with_its_query() -> None:
    call = RerankCall(**TERMS, query="one two", documents=["a", "a b c", "a"])
    assert (excess(call, 5), excess(call, 4)) == (None, 5)


def test_an_answer_is_written_into_the_context_of_its_conversation() -> None:
    call = chat("be brief", "who is it", max_tokens=10)
    assert (excess(call, 15), excess(call, 14)) == (None, 15)
    assert excess(chat("hello", max_tokens=8), 8) == 9


@given(st.lists(st.text(max_size=20), min_size=1, max_size=5), st.integers(1, 30))
def test_what_is_known_without_looking_never_refuses_nor_lets_through(texts: list[str], most: int) -> None:
    words = [len(text.split()) for text in texts]
    told = next((count for count in words if count > most), None)
    assert excess(embedding(*texts), most) == told
