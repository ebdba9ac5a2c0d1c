"""What leaves for a provider in OpenAI's form: what is registered and asked for, and not one field more."""

from collections.abc import Mapping

import numpy as np
import pytest

from eai.gateway.ports import ChatMessage, EmbeddingRole
from eai.gateway.registry import Capability
from eai.gateway.templates import TEXT_PREFIX
from eai.integrations.openai_compatible import OpenAiCompatible
from tests.integration.providers.conftest import KEY, target_of
from tests.provider.answering import vector
from tests.provider.process import ProviderProcess, Request
from tests.provider.steps import Step

DOCUMENT, QUERY = EmbeddingRole.DOCUMENT, EmbeddingRole.QUERY
ALWAYS = {"model": "bge-m3", "encoding_format": "base64"}
MESSAGES = [ChatMessage("system", "Be brief."), ChatMessage("user", "Où est l'été ?")]


async def only(provider: ProviderProcess) -> Request:
    requests = await provider.requests()
    assert len(requests) == 1
    return requests[0]


async def test_an_embedding_request_is_this_and_nothing_else(
    provider: ProviderProcess, openai: OpenAiCompatible
) -> None:
    answer = await openai.embed(target_of(provider.url)(5), ["un été", "deux"], DOCUMENT, None)
    request = await only(provider)
    assert (request.method, request.target) == ("POST", "/v1/embeddings")
    assert request.body == (
        '{"model":"bge-m3","input":["un été","deux"],"encoding_format":"base64"}'.encode()
    )
    marker = request.headers["x-request-id"]
    assert marker.startswith("eai-")
    assert request.headers == {
        "host": f"127.0.0.1:{provider.port}",
        "accept": "application/json, text/event-stream",
        "accept-encoding": "identity",
        "authorization": f"Bearer {KEY}",
        "content-length": str(len(request.body)),
        "content-type": "application/json",
        "user-agent": "eai",
        "x-request-id": marker,
        "x-client-request-id": marker,
        "x-litellm-call-id": marker,
    }
    assert answer.model == "bge-m3"
    assert answer.tokens == 7
    assert np.allclose(answer.items[1][1], vector("deux", 8))


async def test_each_exchange_has_a_name_of_its_own_and_no_key_means_no_header(
    provider: ProviderProcess, openai: OpenAiCompatible
) -> None:
    for _ in range(2):
        await openai.embed(target_of(provider.url, key=None)(5), ["un"], DOCUMENT, None)
    first, second = await provider.requests()
    assert first.headers["x-request-id"] != second.headers["x-request-id"]
    assert "authorization" not in first.headers


@pytest.mark.parametrize(
    ("accepted", "asked", "sent"),
    [((8, 4), 4, 4), ((8, 4), 8, 8), ((8, 4), None, None), ((8,), 8, None)],
)
async def test_dimensions_are_asked_for_only_where_there_is_a_choice(
    provider: ProviderProcess,
    openai: OpenAiCompatible,
    accepted: tuple[int, ...],
    asked: int | None,
    sent: int | None,
) -> None:
    await openai.embed(target_of(provider.url, dimensions=accepted)(5), ["un"], DOCUMENT, asked)
    assert (await only(provider)).json.get("dimensions") == sent


async def test_each_side_of_a_search_is_told_as_it_was_registered(
    provider: ProviderProcess, openai: OpenAiCompatible
) -> None:
    roles = {
        DOCUMENT: {"input_type": "search_document"},
        QUERY: {"input_type": "search_query", TEXT_PREFIX: "query: "},
    }
    for role in (DOCUMENT, QUERY):
        await openai.embed(target_of(provider.url, roles=roles)(5), ["un"], role, None)
    first, second = await provider.requests()
    assert first.json == {**ALWAYS, "input": ["un"], "input_type": "search_document"}
    assert second.json == {**ALWAYS, "input": ["query: un"], "input_type": "search_query"}


async def test_no_row_can_change_where_a_request_goes_or_what_it_is(
    provider: ProviderProcess, openai: OpenAiCompatible
) -> None:
    slipped: Mapping[str, str] = {
        "api_base": "http://evil", "base_url": "http://evil", "api_key": "other", "model": "other",
        "input": "other", "extra_headers": "x", "extra_body": "x", "user": "x", "metadata": "x",
        "fallbacks": "other", "encoding_format": "float", "dimensions": "4", "stream": "true",
        "input_type": "query",
    }  # fmt: skip
    await openai.embed(target_of(provider.url, roles={QUERY: slipped})(5), ["un"], QUERY, None)
    assert (await only(provider)).json == {**ALWAYS, "input": ["un"], "input_type": "query"}


async def test_a_rerank_request_and_its_answer(provider: ProviderProcess, openai: OpenAiCompatible) -> None:
    documents = ["the sea is blue", "a green tree", "blue"]
    answer = await openai.rerank(target_of(provider.url, Capability.RERANK)(5), "blue sea", documents)
    request = await only(provider)
    assert request.target == "/v1/rerank"
    assert request.json == {"model": "bge-m3", "query": "blue sea", "documents": documents, "top_n": 3}
    assert list(answer.items) == [(0, 1.0), (2, 0.5), (1, 0.0)]
    assert answer.tokens == 14


async def test_a_chat_request_and_its_answer(provider: ProviderProcess, openai: OpenAiCompatible) -> None:
    target = target_of(provider.url, Capability.CHAT)(5)
    answer = await openai.chat(target, MESSAGES, {"max_tokens": 3, "temperature": 0.5})
    request = await only(provider)
    assert request.target == "/v1/chat/completions"
    assert request.json == {
        "model": "bge-m3",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Où est l'été ?"},
        ],
        "max_tokens": 3,
        "temperature": 0.5,
    }
    assert (answer.content, answer.finish_reason) == ("word0 word1 word2", "stop")
    assert (answer.read_tokens, answer.written_tokens) == (14, 3)


async def test_a_streamed_chat_and_its_pieces(provider: ProviderProcess, openai: OpenAiCompatible) -> None:
    target = target_of(provider.url, Capability.CHAT)(5)
    pieces = [piece async for piece in openai.stream_chat(target, MESSAGES, {"max_tokens": 2})]
    request = await only(provider)
    assert request.json["stream"] is True
    assert request.json["stream_options"] == {"include_usage": True}
    assert request.json["max_tokens"] == 2
    assert "temperature" not in request.json
    assert [piece.content for piece in pieces] == ["word0", " word1", "", ""]
    assert pieces[2].finish_reason == "stop"
    assert (pieces[3].read_tokens, pieces[3].written_tokens) == (14, 2)
    assert {piece.model for piece in pieces} == {"bge-m3"}


async def test_an_address_without_a_path_means_v1(
    provider: ProviderProcess, openai: OpenAiCompatible
) -> None:
    for url in (f"http://127.0.0.1:{provider.port}", f"http://127.0.0.1:{provider.port}/deep/v9/"):
        await openai.embed(target_of(url)(5), ["un"], DOCUMENT, None)
    assert [request.target for request in await provider.requests()] == [
        "/v1/embeddings",
        "/deep/v9/embeddings",
    ]


async def test_vectors_may_come_packed(provider: ProviderProcess, openai: OpenAiCompatible) -> None:
    await provider.say(Step(change={"packed": True}))
    answer = await openai.embed(target_of(provider.url)(5), ["un"], DOCUMENT, None)
    assert np.allclose(answer.items[0][1], vector("un", 8))
