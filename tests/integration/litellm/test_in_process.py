"""The library inside the process, as the product is wired to it: providers that are known by name."""

from collections.abc import Callable
from typing import Any

import pytest

from eai.integrations.litellm import InProcessLiteLLM
from tests.fakes.recorder import Answer, Recorded, Recorder
from tests.integration.litellm.conftest import KEY
from tests.stack import Company, Json, Stack

pytestmark = [
    pytest.mark.filterwarnings("ignore:Items? .* using the `ReadOnly` qualifier:UserWarning"),
    pytest.mark.filterwarnings("ignore:Accessing the 'model_:DeprecationWarning"),
    pytest.mark.skipif(not InProcessLiteLLM.is_available(), reason="the extra `litellm` is not installed"),
]

NOTE = "The notice period is three months."
ASKED = "How long is the notice period?"


def cohere(request: Recorded) -> Answer:
    vectors = [[0.5] * 1024 for _ in request.json["texts"]]
    return Answer(
        {"id": "1", "embeddings": {"float": vectors}, "meta": {"billed_units": {"input_tokens": 7}}}
    )


def gemini(request: Recorded) -> Answer:
    asked = request.json["requests"]
    return Answer({"embeddings": [{"values": [0.5] * each.get("outputDimensionality", 8)} for each in asked]})


def proxy(request: Recorded) -> Answer:
    data = [{"index": n, "embedding": [0.5] * 768} for n, _ in enumerate(request.json["input"])]
    usage = {"prompt_tokens": 9, "total_tokens": 9}
    return Answer({"object": "list", "model": request.json["model"], "data": data, "usage": usage})


async def known(company: Company, template: str, url: str, **fields: Any) -> Json:
    """An endpoint of the provider of this name, at another address than its own."""
    return await company.endpoint(kind=None, template=template, url=url, api_key=KEY, **fields)


async def said(
    company: Company, recorder: Recorder, answer: Callable[[Recorded], Answer], template: str, **fields: Any
) -> tuple[Json, Json]:
    """The bodies in which a passage and a question reached the provider."""
    recorder.answer = answer
    endpoint = await known(company, template, recorder.url)
    model = await company.model(endpoint["name"], capability="embeddings", **fields)
    base = await company.base(embedding_model=model)
    await company.document(base, NOTE)
    found = await company.admin.made(f"/v1/knowledge-bases/{base}/query", {"query": ASKED}, status=200)
    assert [result["content"] for result in found["results"]] == [NOTE]
    passage, question = recorder.requests
    return passage.json, question.json


async def test_cohere_is_told_the_two_sides_of_a_search(company: Company, recorder: Recorder) -> None:
    passage, question = await said(company, recorder, cohere, "cohere")
    assert passage == {
        "model": "embed-english-v3.0",
        "texts": [NOTE],
        "input_type": "search_document",
        "truncate": "NONE",
    }
    assert question == {
        "model": "embed-english-v3.0",
        "texts": [ASKED],
        "input_type": "search_query",
        "truncate": "NONE",
    }
    sent = recorder.requests[0]
    assert (sent.target, sent.headers["authorization"]) == ("/v2/embed", f"Bearer {KEY}")


async def test_gemini_is_told_them_in_the_text(company: Company, recorder: Recorder) -> None:
    passage, question = await said(company, recorder, gemini, "gemini", dimensions=[768, 128])
    assert [
        each["content"]["parts"][0]["text"] for each in (*passage["requests"], *question["requests"])
    ] == [
        f"title: none | text: {NOTE}",
        f"task: search result | query: {ASKED}",
    ]
    assert {each["outputDimensionality"] for each in passage["requests"]} == {768}


async def test_another_model_of_the_provider_is_told_by_its_parameter(
    company: Company, recorder: Recorder
) -> None:
    fields = {"provider_model": "gemini/gemini-embedding-001", "dimensions": [8]}
    passage, question = await said(company, recorder, gemini, "gemini", **fields)
    assert [each["taskType"] for each in (*passage["requests"], *question["requests"])] == [
        "RETRIEVAL_DOCUMENT",
        "RETRIEVAL_QUERY",
    ]


async def test_a_pinned_task_that_is_not_retrieval_stands_on_both_sides(
    company: Company, recorder: Recorder
) -> None:
    fields = {
        "provider_model": "gemini/gemini-embedding-001",
        "dimensions": [8],
        "roles": {"document": {"task_type": "CLUSTERING"}},
    }
    passage, question = await said(company, recorder, gemini, "gemini", **fields)
    assert [each["taskType"] for each in (*passage["requests"], *question["requests"])] == ["CLUSTERING"] * 2


async def test_vertex_is_told_them_through_a_proxy(company: Company, recorder: Recorder) -> None:
    passage, question = await said(company, recorder, proxy, "vertex", dimensions=[768])
    told = {"model": "vertex_ai/text-embedding-005", "encoding_format": "base64"}
    assert passage == {**told, "input": [NOTE], "task_type": "RETRIEVAL_DOCUMENT"}
    assert question == {**told, "input": [ASKED], "task_type": "RETRIEVAL_QUERY"}
    assert recorder.requests[0].target == "/v1/embeddings"


async def test_a_provider_without_a_parameter_for_it_is_told_nothing(
    company: Company, recorder: Recorder
) -> None:
    def answer(request: Recorded) -> Answer:
        vectors = [[0.5] * 768 for _ in request.json["input"]]
        return Answer({"model": "nomic-embed-text", "embeddings": vectors, "prompt_eval_count": 5})

    roles = {
        "document": {"input_type": "search_document"},
        "query": {"task_type": "RETRIEVAL_QUERY"},
    }
    passage, question = await said(company, recorder, answer, "ollama", roles=roles)
    assert (passage, question) == (
        {"model": "nomic-embed-text", "input": [NOTE], "truncate": False},
        {"model": "nomic-embed-text", "input": [ASKED], "truncate": False},
    )


async def test_a_key_is_not_handed_to_a_provider_that_a_tenant_chose(
    stack: Stack, company: Company, recorder: Recorder
) -> None:
    endpoint = await known(company, "cohere", recorder.url)
    model = await company.model(endpoint["name"], capability="embeddings")
    fields = {"endpoint": endpoint["name"], "capability": "embeddings", "dimensions": [8]}
    other = {"name": "another", "provider_model": "gemini/gemini-embedding-2", **fields}
    answers = [
        await company.admin.post("/v1/models", json=other),
        await company.admin.patch(
            f"/v1/models/{model}", json={"provider_model": "gemini/gemini-embedding-2"}
        ),
        await stack.operator.patch("/v1/models/rerank-v3.5", json={"endpoint": endpoint["name"]}),
    ]
    for answer in answers:
        assert answer.status_code == 422, answer.text
        (fault,) = answer.json()["error"]["details"]["fields"]
        assert (fault["path"], fault["code"]) == ("provider_model", "other_provider")
        assert fault["message"] == "Is not the endpoint's provider's: must begin with cohere/."
    assert recorder.connections == 0
