"""LiteLLM's own proxy, spoken to over HTTP as any server of OpenAI's form."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from benchmarks.litellm_proxy import MASTER_KEY, MISSING, Proxy, running_proxy
from eai.access.classification import Classification
from eai.gateway.failures import ProviderFailure
from eai.gateway.ports import ChatMessage, EmbeddingRole, Target
from eai.gateway.registry import Capability, Endpoint, EndpointKind, Model, Retention
from eai.integrations import litellm
from eai.integrations.openai_compatible import OpenAiCompatible
from eai.platform.outbound import Outbound
from tests.provider.process import ProviderProcess, Request, running_provider
from tests.provider.steps import Step
from tests.stack import Company

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]

DOCUMENT = EmbeddingRole.DOCUMENT
UPSTREAM_KEY = "sk-key-that-only-the-proxy-has"


@pytest.fixture(scope="module")
async def upstream() -> AsyncIterator[ProviderProcess]:
    async with running_provider(dimensions=8) as running:
        yield running


@pytest.fixture(scope="module")
async def proxy(upstream: ProviderProcess, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Proxy]:
    home: Path = tmp_path_factory.mktemp("proxy")
    async with running_proxy(home, settings(upstream)) as running:
        yield running


def settings(upstream: ProviderProcess) -> dict[str, Any]:
    """One model of each kind, asked once."""
    way = {"api_base": upstream.url, "api_key": UPSTREAM_KEY}
    models = {"bge-m3": "openai/bge-m3", "chatting": "openai/chatting", "reranking": "hosted_vllm/reranking"}
    return {
        "model_list": [
            {"model_name": name, "litellm_params": {"model": model, **way}} for name, model in models.items()
        ],
        "litellm_settings": {"num_retries": 0},
        "router_settings": {"num_retries": 0, "disable_cooldowns": True},
    }


@pytest.fixture
async def provider(upstream: ProviderProcess) -> AsyncIterator[litellm.LiteLLM]:
    await upstream.forget()
    outbound = Outbound(["127.0.0.1"])
    yield litellm.connect(outbound, OpenAiCompatible(outbound))
    await outbound.close()


async def posts(upstream: ProviderProcess) -> list[Request]:
    """What was asked of the provider; the proxy also looks around once, when it has started."""
    return [request for request in await upstream.requests() if request.method == "POST"]


def at(proxy: Proxy, name: str, capability: Capability, key: str = MASTER_KEY) -> Target:
    endpoint = Endpoint(
        uuid4(), "proxy", EndpointKind.LITELLM, proxy.url, "eu", Retention(0), Classification.SECRET
    )
    model = Model(
        name=name,
        capability=capability,
        provider="proxy",
        provider_model=name,
        classification_ceiling=Classification.SECRET,
        region="eu",
        retention=Retention(0),
        endpoint=endpoint,
        dimensions=(8,) if capability is Capability.EMBEDDINGS else (),
    )
    return Target(model, endpoint, key, 30.0)


async def test_texts_are_embedded_through_the_proxy(
    proxy: Proxy, upstream: ProviderProcess, provider: litellm.LiteLLM
) -> None:
    target = at(proxy, "bge-m3", Capability.EMBEDDINGS)
    found = await provider.embed(target, ["first", "second"], DOCUMENT, None)
    assert sorted(index for index, _ in found.items) == [0, 1]
    assert {len(vector) for _, vector in found.items} == {8}
    assert found.model in {"bge-m3", "openai/bge-m3"}
    assert found.tokens is not None
    (request,) = await posts(upstream)
    assert (request.target, request.json["input"]) == ("/v1/embeddings", ["first", "second"])
    assert request.headers["authorization"] == f"Bearer {UPSTREAM_KEY}"
    assert MASTER_KEY.encode() not in request.raw


async def test_a_conversation_is_continued_through_the_proxy(
    proxy: Proxy, upstream: ProviderProcess, provider: litellm.LiteLLM
) -> None:
    target = at(proxy, "chatting", Capability.CHAT)
    asked = [ChatMessage("user", "How long is the notice period?")]
    whole = await provider.chat(target, asked, {"max_tokens": 20})
    assert whole.content
    assert whole.written_tokens is not None
    pieces = [piece async for piece in provider.stream_chat(target, asked, {"max_tokens": 20})]
    assert "".join(piece.content for piece in pieces) == whole.content
    assert [request.json["max_tokens"] for request in await posts(upstream)] == [20, 20]


async def test_documents_are_ranked_through_the_proxy(proxy: Proxy, provider: litellm.LiteLLM) -> None:
    target = at(proxy, "reranking", Capability.RERANK)
    found = await provider.rerank(target, "notice period", ["canteen", "notice period"])
    assert {index for index, _ in found.items} == {0, 1}


@pytest.mark.parametrize("status", [429, 503])
async def test_a_status_of_the_provider_comes_through_the_proxy_after_one_attempt(
    status: int, proxy: Proxy, upstream: ProviderProcess, provider: litellm.LiteLLM
) -> None:
    await upstream.usually(Step(status=status))
    with pytest.raises(ProviderFailure) as caught:
        await provider.embed(at(proxy, "bge-m3", Capability.EMBEDDINGS), ["first"], DOCUMENT, None)
    assert (caught.value.status, caught.value.is_retryable) == (status, True)
    assert len(await posts(upstream)) == 1


async def test_a_wrong_key_ends_at_the_proxy(
    proxy: Proxy, upstream: ProviderProcess, provider: litellm.LiteLLM
) -> None:
    target = at(proxy, "bge-m3", Capability.EMBEDDINGS, key="sk-wrong")
    # The proxy says 400, which the first time may have been about the form in which vectors are asked for.
    for is_retryable in (True, False):
        with pytest.raises(ProviderFailure) as caught:
            await provider.embed(target, ["first"], DOCUMENT, None)
        assert caught.value.is_retryable is is_retryable
    assert await posts(upstream) == []


async def test_a_base_is_filled_and_asked_through_the_product_the_proxy_and_the_provider(
    proxy: Proxy, upstream: ProviderProcess, company: Company
) -> None:
    await upstream.forget()
    endpoint = await company.endpoint(kind="litellm", url=proxy.url, api_key=MASTER_KEY)
    fields = {"provider_model": "bge-m3", "capability": "embeddings", "dimensions": [8]}
    model = await company.model(endpoint["name"], **fields)
    base = await company.base(embedding_model=model)
    await company.document(base, "The notice period is three months.")
    asked = {"query": "How long is the notice period?"}
    answer = await company.admin.made(f"/v1/knowledge-bases/{base}/query", asked, status=200)
    assert [result["content"] for result in answer["results"]] == ["The notice period is three months."]
    stored, question = (request.json["input"] for request in await posts(upstream))
    assert (stored, question) == (["The notice period is three months."], [asked["query"]])
    kept = await company.admin.got("/v1/audit/events", action="model.result", limit=200)
    assert [event["facts"]["tokens"] > 0 for event in kept["data"]] == [True, True]


async def test_a_client_of_the_product_speaks_to_a_chat_model_behind_the_proxy(
    proxy: Proxy, upstream: ProviderProcess, company: Company
) -> None:
    await upstream.forget()
    endpoint = await company.endpoint(kind="litellm", url=proxy.url, api_key=MASTER_KEY)
    model = await company.model(endpoint["name"], provider_model="chatting", capability="chat")
    body = {"model": model, "messages": [{"role": "user", "content": "Where is it?"}], "max_tokens": 3}
    answer = await company.admin.made("/v1/gateway/chat/completions", body, status=200)
    assert answer["choices"][0]["message"]["content"] == "word0 word1 word2"
    (request,) = await posts(upstream)
    assert request.headers["authorization"] == f"Bearer {UPSTREAM_KEY}"
