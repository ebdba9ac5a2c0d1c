"""What a request to a model may say, and which level its texts get."""

from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from eai.access.classification import LEVELS, Classification
from eai.access.subject import PrincipalKind
from eai.gateway.calls import Operation
from eai.gateway.openai_schemas import OpenAIChatRequest, OpenAIEmbeddingRequest
from eai.gateway.ports import ChatMessage
from eai.gateway.schemas import (
    MAX_DOCUMENTS,
    MAX_INPUTS,
    MAX_MESSAGES,
    MAX_OUTPUT_TOKENS,
    MAX_TEXT_LENGTH,
    ChatRequest,
    EmbeddingRequest,
    RerankRequest,
)
from eai.identity.errors import ClearanceExceeded
from tests.fakes.platform import subject

EMBED: dict[str, Any] = {"model": "m", "input": ["a"]}
RERANK: dict[str, Any] = {"model": "m", "query": "q", "documents": ["a", "b"]}
CHAT: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hello"}]}
REQUESTS: list[tuple[type[BaseModel], dict[str, Any]]] = [
    (EmbeddingRequest, EMBED),
    (RerankRequest, RERANK),
    (ChatRequest, CHAT),
    (OpenAIEmbeddingRequest, EMBED),
    (OpenAIChatRequest, CHAT),
]
PINNED = (
    "api_base", "base_url", "api_key", "headers", "extra_headers", "extra_body", "extra_query",
    "organization", "timeout", "api_version", "custom_llm_provider", "fallbacks", "metadata", "proxy",
)  # fmt: skip


def faults(request: type[BaseModel], body: dict[str, Any]) -> list[tuple[str, str]]:
    """Path and code of each fault."""
    with pytest.raises(ValidationError) as raised:
        request.model_validate(body)
    return [(".".join(map(str, fault["loc"])), fault["type"]) for fault in raised.value.errors()]


@pytest.mark.parametrize("name", PINNED)
@pytest.mark.parametrize(("request_type", "valid"), REQUESTS)
def test_what_the_registration_pinned_is_refused_by_its_name(
    request_type: type[BaseModel], valid: dict[str, Any], name: str
) -> None:
    assert faults(request_type, {**valid, name: "x"}) == [(name, "extra_forbidden")]


@pytest.mark.parametrize(
    "name", ["top_p", "stop", "tools", "tool_choice", "response_format", "seed", "logit_bias", "modalities"]
)
def test_what_would_change_an_answer_is_refused_rather_than_ignored(name: str) -> None:
    assert faults(OpenAIChatRequest, {**CHAT, name: 1}) == [(name, "extra_forbidden")]


@pytest.mark.parametrize(
    ("request_type", "body", "fault"),
    [
        (EmbeddingRequest, {**EMBED, "input": []}, ("input", "too_short")),
        (EmbeddingRequest, {**EMBED, "input": ["a"] * (MAX_INPUTS + 1)}, ("input", "too_long")),
        (EmbeddingRequest, {**EMBED, "input": "a" * (MAX_TEXT_LENGTH + 1)}, ("input.0", "string_too_long")),
        (EmbeddingRequest, {**EMBED, "input": ["a", " \n"]}, ("input.1", "text_blank")),
        (EmbeddingRequest, {**EMBED, "input": ""}, ("input.0", "string_too_short")),
        (EmbeddingRequest, {**EMBED, "input": [1]}, ("input.0", "string_type")),
        (EmbeddingRequest, {**EMBED, "dimensions": 0}, ("dimensions", "greater_than_equal")),
        (EmbeddingRequest, {**EMBED, "model": "e\u0301"}, ("model", "string_pattern_mismatch")),
        (EmbeddingRequest, {**EMBED, "classification": "top"}, ("classification", "enum")),
        (RerankRequest, {**RERANK, "documents": []}, ("documents", "too_short")),
        (RerankRequest, {**RERANK, "documents": ["a"] * (MAX_DOCUMENTS + 1)}, ("documents", "too_long")),
        (RerankRequest, {**RERANK, "top_n": 10**9}, ("top_n", "less_than_equal")),
        (ChatRequest, {**CHAT, "messages": []}, ("messages", "too_short")),
        (ChatRequest, {**CHAT, "messages": CHAT["messages"] * (MAX_MESSAGES + 1)}, ("messages", "too_long")),
        (ChatRequest, {**CHAT, "max_tokens": MAX_OUTPUT_TOKENS + 1}, ("max_tokens", "less_than_equal")),
        (ChatRequest, {**CHAT, "max_tokens": -1}, ("max_tokens", "greater_than_equal")),
        (ChatRequest, {**CHAT, "temperature": 2.5}, ("temperature", "less_than_equal")),
        (ChatRequest, {**CHAT, "stream": "yes"}, ("stream", "bool_type")),
        (OpenAIChatRequest, {**CHAT, "n": 2}, ("n", "literal_error")),
        (
            OpenAIChatRequest,
            {**CHAT, "max_tokens": 1, "max_completion_tokens": 1},
            ("max_completion_tokens", "bounded_twice"),
        ),
        (OpenAIEmbeddingRequest, {**EMBED, "encoding_format": "x"}, ("encoding_format", "literal_error")),
    ],
)
def test_counts_and_sizes_are_bounded(
    request_type: type[BaseModel], body: dict[str, Any], fault: tuple[str, str]
) -> None:
    assert faults(request_type, body) == [fault]


@given(declared=st.sampled_from(LEVELS), clearance=st.sampled_from(LEVELS))
def test_a_level_is_never_below_what_was_declared_and_never_above_the_clearance_by_declaring(
    declared: Classification, clearance: Classification
) -> None:
    who = replace(subject(), clearance=clearance)
    request = EmbeddingRequest.model_validate({**EMBED, "classification": declared})
    if declared.exceeds(clearance):
        with pytest.raises(ClearanceExceeded):
            request.call(who)
    else:
        level = request.call(who).level
        assert not declared.exceeds(level)
        assert not Classification.INTERNAL.exceeds(level)
        assert level in {declared, Classification.INTERNAL}


def test_a_text_of_which_nobody_says_a_level_is_internal() -> None:
    who = replace(subject(), clearance=Classification.PUBLIC)
    assert EmbeddingRequest.model_validate(EMBED).call(who).level is Classification.INTERNAL


def test_a_call_is_what_was_asked() -> None:
    who = subject()
    labels = {"project": "p", "run": "r-1"}
    body = {**EMBED, "input": "a", "dimensions": 8, "role": "query", "labels": labels}
    call = EmbeddingRequest.model_validate(body).call(who)
    assert (call.inputs, call.role, call.dimensions) == (["a"], "query", 8)
    assert (call.operation, call.labels, call.caller.tenant) == (Operation.CLIENT, labels, who.tenant)
    ranking = RerankRequest.model_validate(RERANK).call(who)
    assert (ranking.query, ranking.documents) == ("q", ["a", "b"])
    chat = ChatRequest.model_validate({**CHAT, "temperature": 0}).call(who)
    assert (chat.messages, chat.max_tokens, chat.temperature) == ([ChatMessage("user", "hello")], 1_024, 0.0)


def test_an_agent_is_labelled_by_its_own_credential() -> None:
    agent = replace(subject(), kind=PrincipalKind.AGENT)
    body = {**EMBED, "labels": {"agent": str(uuid4())}}
    assert EmbeddingRequest.model_validate(body).call(agent).labels == {"agent": str(agent.principal)}


def test_openais_clients_may_bound_an_answer_either_way() -> None:
    for name in ("max_tokens", "max_completion_tokens"):
        assert OpenAIChatRequest.model_validate({**CHAT, name: 7}).call(subject()).max_tokens == 7


@pytest.mark.parametrize(
    "harmless",
    [{"user": "u"}, {"n": 1}, {"store": False}, {"stream_options": {"include_usage": True}}],
)
def test_what_changes_nothing_is_accepted_from_openais_clients(harmless: dict[str, Any]) -> None:
    OpenAIChatRequest.model_validate({**CHAT, **harmless})


def test_a_message_may_come_in_parts_of_text_and_in_nothing_else() -> None:
    def said(content: Any) -> dict[str, Any]:
        return {"model": "m", "messages": [{"role": "user", "content": content}]}

    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    (message,) = OpenAIChatRequest.model_validate(said(parts)).call(subject()).messages
    assert message.content == "one\ntwo"
    image = {"type": "image_url", "image_url": {"url": "http://169.254.169.254/"}}
    for content in ([image], [*parts, image], [], ["one"], [{"type": "text", "text": "a", "cache": 1}]):
        assert faults(OpenAIChatRequest, said(content)) == [("messages.0.content", "string_type")]
