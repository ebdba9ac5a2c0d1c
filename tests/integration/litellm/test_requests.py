"""The bytes that reach each provider, and what is read from its answer."""

import json
from dataclasses import dataclass
from typing import Any

import pytest

from eai.gateway.errors import ModelDisabled
from eai.gateway.ports import EmbeddingRole, ProviderEmbeddings
from eai.gateway.templates import ROLE_PARAMETERS, TEMPLATES, ProviderTemplate
from eai.integrations.litellm import InProcessLiteLLM
from eai.integrations.litellm.routes import ROUTES
from tests.fakes.recorder import Answer, Recorder
from tests.integration.litellm import answers
from tests.integration.litellm.conftest import KEY, VECTORS, Aim

pytestmark = [
    # What pydantic says of the library's own types, which would be an error here and nowhere else.
    pytest.mark.filterwarnings("ignore:Items? .* using the `ReadOnly` qualifier:UserWarning"),
    pytest.mark.filterwarnings("ignore:Accessing the 'model_:DeprecationWarning"),
    pytest.mark.skipif(not InProcessLiteLLM.is_available(), reason="the extra `litellm` is not installed"),
]

DOCUMENT, QUERY = EmbeddingRole.DOCUMENT, EmbeddingRole.QUERY
BEARER = {"authorization": f"Bearer {KEY}"}


@dataclass(frozen=True, slots=True)
class Case:
    """A provider that is asked for two texts as documents, at 256 dimensions where it offers a choice."""

    provider: str
    path: str
    target: str
    headers: dict[str, str]
    body: str
    answer: Any
    model: str | None
    tokens: int | None


CASES = [
    Case(
        "openai", "/v1", "/v1/embeddings", BEARER,
        '{"model":"text-embedding-3-small","input":["first","second"],"dimensions":256,"encoding_format":"float"}',
        answers.openai_form("text-embedding-3-small"), "text-embedding-3-small", 9,
    ),
    Case(
        "azure-openai", "", "/openai/v1/embeddings", BEARER,
        '{"model":"text-embedding-3-small","input":["first","second"],"dimensions":256,"encoding_format":"float"}',
        answers.openai_form("text-embedding-3-small"), None, 9,
    ),
    Case(
        "mistral", "/v1", "/v1/embeddings", BEARER,
        '{"model":"mistral-embed","input":["first","second"],"encoding_format":"float"}',
        answers.openai_form("mistral-embed"), "mistral-embed", 9,
    ),
    Case(
        "ollama", "", "/api/embed", {},
        '{"model":"nomic-embed-text","input":["first","second"],"truncate":false}',
        answers.OLLAMA, None, 5,
    ),
    Case(
        "cohere", "", "/v2/embed", BEARER,
        '{"model":"embed-english-v3.0","texts":["first","second"],"input_type":"search_document","truncate":"NONE"}',
        answers.COHERE, None, 7,
    ),
    Case(
        "gemini", "", "/v1beta/models/gemini-embedding-2:batchEmbedContents", {"x-goog-api-key": KEY},
        '{"requests": [{"model": "models/gemini-embedding-2", "content": {"parts": '
        '[{"text": "title: none | text: first"}]}, "outputDimensionality": 256}, '
        '{"model": "models/gemini-embedding-2", "content": {"parts": '
        '[{"text": "title: none | text: second"}]}, "outputDimensionality": 256}]}',
        answers.GEMINI, None, None,
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.provider)
async def test_each_provider_is_sent_these_bytes_and_no_others(
    case: Case, aim: Aim, recorder: Recorder, litellm: InProcessLiteLLM
) -> None:
    recorder.answer = lambda _: Answer(case.answer)
    template = TEMPLATES[case.provider]
    key = KEY if template.needs_key else None
    target = aim(template.provider_model, dimensions=template.dimensions, path=case.path, key=key)
    found = await litellm.embed(target, ["first", "second"], DOCUMENT, 256)
    assert found == ProviderEmbeddings([(0, VECTORS[0]), (1, VECTORS[1])], case.model, case.tokens)
    (request,) = recorder.requests
    assert (request.method, request.target, request.body.decode()) == ("POST", case.target, case.body)
    told = {"content-type", "accept", "host", "content-length", "accept-encoding"}
    assert {name: text for name, text in request.headers.items() if name not in told} == case.headers


async def test_bedrock_is_asked_once_for_each_text(
    aim: Aim, recorder: Recorder, litellm: InProcessLiteLLM
) -> None:
    by_text = {"first": VECTORS[0], "second": VECTORS[1]}
    recorder.answer = lambda request: Answer(
        {"embedding": by_text[request.json["inputText"]], "inputTextTokenCount": 4}
    )
    template = TEMPLATES["bedrock"]
    target = aim(template.provider_model, dimensions=template.dimensions)
    found = await litellm.embed(target, ["first", "second"], DOCUMENT, 256)
    assert found == ProviderEmbeddings([(0, VECTORS[0]), (1, VECTORS[1])], None, 8)
    assert {request.target for request in recorder.requests} == {
        "/model/amazon.titan-embed-text-v2%3A0/invoke"
    }
    assert sorted(request.body.decode() for request in recorder.requests) == [
        '{"inputText": "first", "dimensions": 256}',
        '{"inputText": "second", "dimensions": 256}',
    ]
    assert {request.headers["authorization"] for request in recorder.requests} == {f"Bearer {KEY}"}


async def test_vertex_is_refused_before_anything_leaves(
    aim: Aim, recorder: Recorder, litellm: InProcessLiteLLM
) -> None:
    with pytest.raises(ModelDisabled):
        await litellm.embed(aim("vertex_ai/text-embedding-005"), ["first"], DOCUMENT, None)
    assert recorder.connections == 0


async def test_a_question_is_embedded_as_one_where_the_provider_can_be_told(
    aim: Aim, recorder: Recorder, litellm: InProcessLiteLLM
) -> None:
    recorder.answer = lambda _: Answer(answers.COHERE)
    await litellm.embed(aim("cohere/embed-english-v3.0"), ["first", "second"], QUERY, None)
    recorder.answer = lambda _: Answer(answers.GEMINI)
    await litellm.embed(aim("gemini/gemini-embedding-2"), ["first", "second"], QUERY, None)
    await litellm.embed(aim("gemini/gemini-embedding-001"), ["first", "second"], QUERY, None)
    cohere, told_in_text, told_by_task = (request.json for request in recorder.requests)
    assert cohere["input_type"] == "search_query"
    assert told_in_text["requests"][0] == {
        "model": "models/gemini-embedding-2",
        "content": {"parts": [{"text": "task: search result | query: first"}]},
    }
    assert told_by_task["requests"][1] == {
        "model": "models/gemini-embedding-001",
        "content": {"parts": [{"text": "second"}]},
        "taskType": "RETRIEVAL_QUERY",
    }


@pytest.mark.parametrize("role", EmbeddingRole)
async def test_a_pinned_task_that_is_not_retrieval_goes_with_both_sides(
    role: EmbeddingRole, aim: Aim, recorder: Recorder, litellm: InProcessLiteLLM
) -> None:
    recorder.answer = lambda _: Answer(answers.GEMINI)
    target = aim("gemini/gemini-embedding-001", roles={DOCUMENT: {"task_type": "CLUSTERING"}})
    await litellm.embed(target, ["first", "second"], role, None)
    assert [each["taskType"] for each in recorder.requests[0].json["requests"]] == ["CLUSTERING"] * 2


async def test_a_registration_cannot_slip_in_an_address_a_key_or_a_header(
    aim: Aim, recorder: Recorder, litellm: InProcessLiteLLM
) -> None:
    recorder.answer = lambda _: Answer(answers.openai_form("text-embedding-3-small"))
    slipped = {
        "api_base": "http://127.0.0.1:9/v1", "base_url": "http://127.0.0.1:9/v1", "api_key": "another",
        "extra_headers": "x: y", "headers": "x: y", "model": "other", "user": "somebody", "input": "other",
    }  # fmt: skip
    target = aim("openai/text-embedding-3-small", path="/v1", roles={DOCUMENT: slipped})
    await litellm.embed(target, ["first", "second"], DOCUMENT, None)
    (request,) = recorder.requests
    assert json.loads(request.body) == {
        "model": "text-embedding-3-small",
        "input": ["first", "second"],
        "encoding_format": "float",
    }


@pytest.mark.parametrize("text", ["files/abc", "gs://bucket/x.pdf", "data:image/png;base64,aGVsbG8="])
@pytest.mark.parametrize("model", ["gemini/gemini-embedding-001", "cohere/embed-english-v3.0"])
async def test_a_text_is_never_taken_for_the_address_of_a_file(
    model: str, text: str, aim: Aim, recorder: Recorder, litellm: InProcessLiteLLM
) -> None:
    recorder.answer = lambda _: Answer(answers.GEMINI if "gemini" in model else answers.COHERE)
    await litellm.embed(aim(model), ["first", text], DOCUMENT, None)
    (request,) = recorder.requests
    sent = request.json
    texts = sent["texts"] if "texts" in sent else [r["content"]["parts"][0]["text"] for r in sent["requests"]]
    assert texts == ["first", f" {text}"]


@pytest.mark.parametrize("name", ["gemini-embedding-2/../../tunedModels/other", "../files", "./x", ".."])
async def test_a_model_does_not_lead_to_another_path_of_its_provider(
    name: str, aim: Aim, recorder: Recorder, litellm: InProcessLiteLLM
) -> None:
    recorder.answer = lambda _: Answer(answers.GEMINI)
    with pytest.raises(ModelDisabled):
        await litellm.embed(aim(f"gemini/{name}"), ["first", "second"], DOCUMENT, None)
    assert recorder.requests == []


@pytest.mark.parametrize("template", TEMPLATES.values(), ids=lambda template: template.name)
def test_a_template_proposes_what_the_provider_lists(template: ProviderTemplate) -> None:
    route = ROUTES.get(template.route)
    assert template.is_behind_proxy is (route is None)
    if route is not None:
        assert set(ROLE_PARAMETERS) & route.accepted() == {template.told_by} - {None}
