"""The official client of OpenAI, which knows nothing of this product but a base URL and a key."""

from collections.abc import AsyncIterator
from typing import Any

import openai
import pytest

from tests.provider.process import ProviderProcess
from tests.provider.steps import Step
from tests.stack import Company, Stack

SAID: list[Any] = [{"role": "user", "content": "Where is my parcel?"}]


@pytest.fixture
async def provider(stack: Stack) -> ProviderProcess:
    running = await stack.provider()
    await running.forget()
    return running


def client_of(stack: Stack, key: str | None, *, max_retries: int = 0) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(
        base_url=f"{stack.url}/v1/openai", api_key=key or "none", max_retries=max_retries
    )


@pytest.fixture
async def client(stack: Stack, company: Company) -> AsyncIterator[openai.AsyncOpenAI]:
    async with client_of(stack, company.admin.key) as opened:
        yield opened


@pytest.fixture
async def chat(company: Company, provider: ProviderProcess) -> str:
    return await company.model(await company.answering(), capability="chat")


@pytest.fixture
async def embeddings(company: Company, provider: ProviderProcess) -> str:
    return await company.model(await company.answering(), capability="embeddings", dimensions=[8])


async def test_embeddings_as_the_client_asks_by_itself_and_as_numbers(
    client: openai.AsyncOpenAI, embeddings: str
) -> None:
    packed = await client.embeddings.create(model=embeddings, input=["a parcel", "a letter"])
    plain = await client.embeddings.create(
        model=embeddings, input=["a parcel", "a letter"], encoding_format="float", user="somebody"
    )
    assert [len(item.embedding) for item in packed.data] == [8, 8]
    assert [item.embedding for item in packed.data] == pytest.approx(
        [pytest.approx(item.embedding) for item in plain.data]
    )
    assert (packed.model, packed.usage.total_tokens) == (embeddings, 8)


async def test_a_whole_answer(client: openai.AsyncOpenAI, chat: str, provider: ProviderProcess) -> None:
    answer = await client.chat.completions.create(
        model=chat,
        messages=[{"role": "user", "content": [{"type": "text", "text": "Where is my parcel?"}]}],
        max_completion_tokens=2,
        temperature=0,
        extra_body={"classification": "confidential", "labels": {"project": "post"}},
    )
    assert answer.choices[0].message.content == "word0 word1"
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage is not None
    assert answer.usage.completion_tokens == 2
    (request,) = await provider.requests()
    assert request.json["messages"] == SAID


async def test_a_streamed_answer(client: openai.AsyncOpenAI, chat: str) -> None:
    bare = await client.chat.completions.create(model=chat, messages=SAID, stream=True)
    pieces = [piece async for piece in bare]
    assert (
        "".join(piece.choices[0].delta.content or "" for piece in pieces) == "word0 word1 word2 word3 word4"
    )
    assert pieces[-1].choices[0].finish_reason == "stop"
    counted = await client.chat.completions.create(
        model=chat, messages=SAID, stream=True, stream_options={"include_usage": True}
    )
    *_, last = [piece async for piece in counted]
    assert last.choices == []
    assert last.usage is not None
    assert last.usage.completion_tokens == 5


async def test_models_are_listed_and_shown(client: openai.AsyncOpenAI, company: Company, chat: str) -> None:
    off = await company.model(await company.answering(), capability="chat", enabled=False)
    listed = {model.id: model async for model in client.models.list()}
    assert {chat, "local-hash-256"} <= set(listed)
    assert off not in listed
    assert listed[chat].created > listed["local-hash-256"].created == 0
    shown = await client.models.retrieve(chat)
    assert (shown.id, shown.object) == (chat, "model")


async def test_errors_are_those_that_the_client_knows(
    stack: Stack, company: Company, client: openai.AsyncOpenAI, chat: str, provider: ProviderProcess
) -> None:
    with pytest.raises(openai.NotFoundError) as unknown:
        await client.chat.completions.create(model="no-such-model", messages=SAID)
    assert (unknown.value.code, unknown.value.type) == ("model_not_found", "invalid_request_error")
    assert (unknown.value.request_id or "").startswith("req_")
    with pytest.raises(openai.UnprocessableEntityError) as refused:
        await client.chat.completions.create(model=chat, messages=SAID, extra_body={"api_base": "http://x"})
    assert (refused.value.code, refused.value.param) == ("invalid_input", "api_base")
    assert "api_base: Unknown field; remove it." in refused.value.message
    with pytest.raises(openai.UnprocessableEntityError) as changed:
        await client.chat.completions.create(model=chat, messages=SAID, top_p=0.5)
    assert changed.value.param == "top_p"
    with pytest.raises(openai.UnprocessableEntityError):
        await client.embeddings.create(model="local-hash-256", input=[1, 2, 3])
    async with client_of(stack, "nonsense") as nobody:
        with pytest.raises(openai.AuthenticationError):
            await nobody.models.list()
    member = await company.person("member")
    async with client_of(stack, member.api.key) as unscoped:
        with pytest.raises(openai.PermissionDeniedError) as scope:
            await unscoped.chat.completions.create(model=chat, messages=SAID)
    assert (scope.value.code, scope.value.type) == ("scope_missing", "permission_error")
    assert await provider.received() == (0, 0)


async def test_a_path_that_is_not_served_is_refused_in_the_same_form(client: openai.AsyncOpenAI) -> None:
    with pytest.raises(openai.NotFoundError) as refused:
        await client.moderations.create(input="a")
    assert refused.value.code == "not_found"


async def test_a_stream_that_breaks_off_raises_in_the_client(
    client: openai.AsyncOpenAI, chat: str, provider: ProviderProcess
) -> None:
    await provider.say(Step(change={"cut": True}))
    stream = await client.chat.completions.create(model=chat, messages=SAID, stream=True)
    said: list[str] = []

    async def listen() -> None:
        async for piece in stream:
            said.append(piece.choices[0].delta.content or "")  # noqa: PERF401 - what came before it broke off

    with pytest.raises(openai.APIError) as broken:
        await listen()
    assert "".join(said) == "word0 word1 word2 word3 word4"
    assert broken.value.code == "provider_response_invalid"


async def test_the_client_repeats_only_what_may_succeed(
    stack: Stack, company: Company, chat: str, provider: ProviderProcess
) -> None:
    quota = {"owner": "tenant", "metric": "tokens", "limit": 1}
    assert (await company.admin.put("/v1/finops/quotas", json=quota)).status_code == 200
    async with client_of(stack, company.admin.key, max_retries=5) as eager:
        with pytest.raises(openai.ConflictError) as spent:
            await eager.chat.completions.create(model=chat, messages=SAID)
    assert (spent.value.code, spent.value.type) == ("quota_exceeded", "insufficient_quota")
    denied = (await company.admin.got("/v1/audit/events", action="model.invoke"))["data"]
    assert [event["facts"]["code"] for event in denied] == ["quota_exceeded"]
    assert await provider.received() == (0, 0)
