"""What the library is kept from: the environment, other hosts, tries of its own, telling anybody."""

import json
import logging
import os
from dataclasses import replace

import pytest

from eai.gateway.errors import EgressDenied, ModelDisabled, ProviderResponseInvalid
from eai.gateway.failures import ProviderFailure
from eai.gateway.ports import ChatMessage, EmbeddingRole, ProviderCompletion, ProviderRanking
from eai.gateway.registry import Capability
from eai.gateway.templates import TEMPLATES
from eai.integrations.litellm import InProcessLiteLLM, LiteLLM, connect
from eai.integrations.openai_compatible import OpenAiCompatible
from eai.platform.outbound import Outbound
from tests.fakes.recorder import Answer, Recorder
from tests.integration.litellm import answers
from tests.integration.litellm.conftest import KEY, Aim
from tests.integration.litellm.test_requests import (
    CASES,
    Case,
    pytestmark,  # noqa: F401
)
from tests.provider.process import running_provider
from tests.provider.steps import Step

DOCUMENT = EmbeddingRole.DOCUMENT
CANARY = "canary-of-the-environment"
VARIABLES = [
    "OPENAI_API_KEY", "OPENAI_ORGANIZATION", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "AZURE_API_KEY",
    "AZURE_AD_TOKEN", "AZURE_OPENAI_API_KEY", "MISTRAL_API_KEY", "COHERE_API_KEY", "CO_API_KEY",
    "GEMINI_API_KEY", "GOOGLE_API_KEY", "OLLAMA_API_KEY", "AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "LITELLM_USER_AGENT",
]  # fmt: skip
ADDRESSES = [
    "OPENAI_API_BASE", "OPENAI_BASE_URL", "AZURE_API_BASE", "MISTRAL_API_BASE", "MISTRAL_AZURE_API_BASE",
    "COHERE_API_BASE", "GEMINI_API_BASE", "OLLAMA_API_BASE", "AWS_BEDROCK_RUNTIME_ENDPOINT",
    "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy",
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.provider)
async def test_nothing_of_the_environment_reaches_a_provider(
    case: Case, aim: Aim, recorder: Recorder, litellm: InProcessLiteLLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in VARIABLES:
        monkeypatch.setenv(name, CANARY)
    for name in ADDRESSES:
        monkeypatch.setenv(name, f"http://127.0.0.1:9/{CANARY}")
    recorder.answer = lambda _: Answer(case.answer)
    template = TEMPLATES[case.provider]
    target = aim(template.provider_model, path=case.path, key=KEY if template.needs_key else None)
    found = await litellm.embed(target, ["first", "second"], DOCUMENT, None)
    assert len(found.items) == 2
    sent = repr([(each.target, each.headers, each.body) for each in recorder.requests])
    assert CANARY not in sent
    assert "litellm" not in sent
    assert os.environ["OPENAI_API_KEY"] == CANARY


@pytest.mark.parametrize(
    "model",
    ["openai/m", "azure/m", "mistral/m", "cohere/m", "gemini/m", "bedrock/amazon.titan-embed-text-v2:0"],
)
async def test_a_provider_without_a_registered_key_is_not_called_with_somebody_elses(
    model: str, aim: Aim, recorder: Recorder, litellm: InProcessLiteLLM, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in VARIABLES:
        monkeypatch.setenv(name, CANARY)
    with pytest.raises(ModelDisabled):
        await litellm.embed(aim(model, key=None), ["first"], DOCUMENT, None)
    assert recorder.connections == 0


@pytest.mark.parametrize(
    "model", ["voyage/voyage-3", "huggingface/x", "bedrock/cohere.embed-english-v3", "plain"]
)
async def test_a_provider_that_was_not_looked_at_is_not_called(
    model: str, aim: Aim, recorder: Recorder, litellm: InProcessLiteLLM
) -> None:
    with pytest.raises(ModelDisabled):
        await litellm.embed(aim(model), ["first"], DOCUMENT, None)
    assert recorder.connections == 0


@pytest.mark.parametrize("template", [None, "openai", "gemini"])
async def test_the_key_of_an_endpoint_goes_to_the_provider_it_was_approved_as_only(
    template: str | None, aim: Aim, recorder: Recorder, litellm: InProcessLiteLLM
) -> None:
    target = aim("cohere/embed-english-v3.0")
    elsewhere = replace(target.endpoint, template=template)
    with pytest.raises(ModelDisabled):
        await litellm.embed(replace(target, endpoint=elsewhere), ["a"], DOCUMENT, None)
    assert recorder.connections == 0


async def test_an_endpoint_is_a_proxy_and_one_from_a_template_the_librarys(
    aim: Aim, recorder: Recorder, outbound: Outbound
) -> None:
    recorder.answer = lambda _: Answer(answers.openai_form("bge-m3"))
    target = aim("bge-m3", path="/v1")
    found = await connect(outbound, OpenAiCompatible(outbound)).embed(target, ["a", "b"], DOCUMENT, None)
    assert (recorder.requests[0].json["model"], found.model) == ("bge-m3", "bge-m3")
    not_installed = LiteLLM(OpenAiCompatible(outbound), None)
    for template in ("cohere", "a-provider-of-another-version"):
        known = replace(target, endpoint=replace(target.endpoint, template=template))
        with pytest.raises(ModelDisabled):
            await not_installed.embed(known, ["a"], DOCUMENT, None)
    assert len(recorder.requests) == 1


async def test_where_no_address_may_be_reached_nothing_leaves(aim: Aim, recorder: Recorder) -> None:
    closed = Outbound([])
    with pytest.raises(EgressDenied):
        await InProcessLiteLLM(closed).embed(aim("openai/m", path="/v1"), ["first"], DOCUMENT, None)
    await closed.close()
    assert recorder.connections == 0


@pytest.mark.parametrize("model", ["openai/m", "cohere/m", "gemini/m", "ollama/m"])
@pytest.mark.parametrize("status", [307, 400, 401, 429, 500, 503])
async def test_every_failure_is_one_attempt_and_keeps_its_status(
    status: int, model: str, aim: Aim, recorder: Recorder, litellm: InProcessLiteLLM
) -> None:
    headers = {"retry-after": "7", "location": f"{recorder.url}/elsewhere"}
    recorder.answer = lambda _: Answer({"error": {"message": "no"}}, status=status, headers=headers)
    with pytest.raises(ProviderFailure) as caught:
        await litellm.embed(aim(model, path="/v1"), ["a secret text"], DOCUMENT, None)
    failure = caught.value
    assert (failure.status, failure.retry_after_s) == (status, 7.0)
    assert failure.is_retryable is (status in {429, 503})
    assert len(recorder.requests) == 1


async def test_of_several_requests_one_that_was_answered_may_have_been_charged(
    aim: Aim, recorder: Recorder, litellm: InProcessLiteLLM
) -> None:
    def answer(_: object) -> Answer:
        is_first = len(recorder.requests) == 1
        return (
            Answer({"embedding": answers.VECTORS[0], "inputTextTokenCount": 4})
            if is_first
            else Answer({}, 503)
        )

    recorder.answer = answer
    with pytest.raises(ProviderFailure) as caught:
        await litellm.embed(aim("bedrock/amazon.titan-embed-text-v2:0"), ["first", "second"], DOCUMENT, None)
    assert (caught.value.status, caught.value.was_sent) == (503, True)


async def test_a_connection_that_fails_is_not_tried_again_behind_our_back(
    aim: Aim, outbound: Outbound
) -> None:
    target = aim("cohere/m")
    gone = replace(target, endpoint=replace(target.endpoint, url="http://127.0.0.1:9"))
    with pytest.raises(ProviderFailure) as caught:
        await InProcessLiteLLM(outbound).embed(gone, ["a"], DOCUMENT, None)
    assert (caught.value.is_retryable, caught.value.was_sent, caught.value.status) == (True, False, None)


@pytest.mark.parametrize("model", ["openai/m", "cohere/m", "gemini/m", "ollama/m", "mistral/m"])
@pytest.mark.parametrize("body", [b"<html>gateway</html>", b"", b'{"data": 1}', b"[]"])
async def test_what_cannot_be_read_is_an_invalid_answer(
    body: bytes, model: str, aim: Aim, recorder: Recorder, litellm: InProcessLiteLLM
) -> None:
    recorder.answer = lambda _: Answer(body)
    with pytest.raises(ProviderResponseInvalid):
        await litellm.embed(aim(model, path="/v1"), ["first"], DOCUMENT, None)


async def test_errors_and_logs_hold_neither_key_nor_text(
    aim: Aim, recorder: Recorder, litellm: InProcessLiteLLM, caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    caplog.set_level(logging.DEBUG)
    secret = "words that nobody else may read"
    recorder.answer = lambda request: Answer({"error": {"message": request.body.decode() + KEY}}, status=400)
    for model in ("openai/m", "cohere/m", "gemini/m", "ollama/m"):
        with pytest.raises(ProviderFailure) as caught:
            await litellm.embed(aim(model, path="/v1"), [secret], DOCUMENT, None)
        error = caught.value
        assert (error.__cause__, error.__context__) == (None, None)
        assert secret not in repr(error)
    written = caplog.text + "".join(capfd.readouterr())
    assert KEY not in written
    assert secret not in written


async def test_a_rerank_model_is_asked_in_its_providers_form(
    aim: Aim, recorder: Recorder, litellm: InProcessLiteLLM
) -> None:
    ranked = [{"index": 1, "relevance_score": 0.75}, {"index": 0, "relevance_score": 0.25}]
    recorder.answer = lambda _: Answer(
        {"id": "1", "results": ranked, "meta": {"billed_units": {"search_units": 1}}}
    )
    target = aim("cohere/rerank-v3.5", capability=Capability.RERANK)
    found = await litellm.rerank(target, "which?", ["one", "two"])
    assert found == ProviderRanking([(1, 0.75), (0, 0.25)], None, None)
    (request,) = recorder.requests
    assert (request.target, request.headers["authorization"]) == ("/v2/rerank", f"Bearer {KEY}")
    assert request.json == {
        "model": "rerank-v3.5", "query": "which?", "top_n": 2, "documents": ["one", "two"],
        "return_documents": False,
    }  # fmt: skip


CHAT = {
    "id": "1", "object": "chat.completion", "created": 1, "model": "gpt-4.1-mini",
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "Three months."}, "finish_reason": "stop"}
    ],
    "usage": {"prompt_tokens": 8, "completion_tokens": 3, "total_tokens": 11},
}  # fmt: skip
ASKED = [ChatMessage("user", "How long?")]


@pytest.mark.parametrize("model", ["openai/gpt-4.1-mini", "mistral/gpt-4.1-mini"])
async def test_a_chat_model_answers_as_its_provider_did(
    model: str, aim: Aim, recorder: Recorder, litellm: InProcessLiteLLM
) -> None:
    recorder.answer = lambda _: Answer(CHAT)
    target = aim(model, capability=Capability.CHAT, path="/v1")
    found = await litellm.chat(target, ASKED, {"max_tokens": 20, "temperature": 0.5})
    assert found == ProviderCompletion("Three months.", "stop", "gpt-4.1-mini", 8, 3)
    (request,) = recorder.requests
    assert request.target == "/v1/chat/completions"
    assert request.json == {
        "model": "gpt-4.1-mini",
        "messages": [{"role": "user", "content": "How long?"}],
        "max_tokens": 20,
        "temperature": 0.5,
    }


def piece(content: str, **changes: object) -> bytes:
    choice = {"index": 0, "delta": {"content": content}, "finish_reason": None}
    chunk = {
        "id": "1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "gpt-4.1-mini",
        "choices": [choice],
    }
    return b"data: " + json.dumps({**chunk, **changes}).encode() + b"\n\n"


async def test_a_streamed_answer_arrives_in_its_pieces(
    aim: Aim, recorder: Recorder, litellm: InProcessLiteLLM
) -> None:
    ending = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    counted = {"choices": [], "usage": CHAT["usage"]}
    pieces = (
        piece("Three "),
        piece("months."),
        piece("", **ending),
        piece("", **counted),
        b"data: [DONE]\n\n",
    )
    recorder.answer = lambda _: Answer(pieces=pieces, headers={"content-type": "text/event-stream"})
    target = aim("openai/gpt-4.1-mini", capability=Capability.CHAT, path="/v1")
    found = [delta async for delta in litellm.stream_chat(target, ASKED, {"max_tokens": 20})]
    assert "".join(delta.content for delta in found) == "Three months."
    assert [delta.finish_reason for delta in found if delta.finish_reason] == ["stop"]
    assert [(d.read_tokens, d.written_tokens) for d in found if d.read_tokens is not None] == [(8, 3)]
    assert recorder.requests[0].json["stream_options"] == {"include_usage": True}


async def test_whoever_leaves_a_stream_closes_the_connection(aim: Aim, litellm: InProcessLiteLLM) -> None:
    async with running_provider() as provider:
        await provider.say(Step(pace_s=0.1))
        target = aim("openai/chatting", capability=Capability.CHAT)
        there = replace(target, endpoint=replace(target.endpoint, url=provider.url))
        pieces = litellm.stream_chat(there, ASKED, {"max_tokens": 200})
        first = await anext(pieces)
        await pieces.aclose()
        ended, sent = await provider.ending(within_s=1.0)
    assert first.content or first.finish_reason is None
    assert (ended, sent < 20) == ("client_left", True)
