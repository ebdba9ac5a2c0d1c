"""Providers that are known by name, over HTTP: what is listed, and what a registration takes from it."""

from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tests.stack import Company, Json, Stack

DEFAULTS = {
    "openai": ("openai/text-embedding-3-small", [1536, 256, 512, 1024]),
    "azure-openai": ("azure/text-embedding-3-small", [1536, 256, 512, 1024]),
    "ollama": ("ollama/nomic-embed-text", [768]),
    "mistral": ("mistral/mistral-embed", [1024]),
    "bedrock": ("bedrock/amazon.titan-embed-text-v2:0", [1024, 256, 512]),
    "cohere": ("cohere/embed-english-v3.0", [1024]),
    "gemini": ("gemini/gemini-embedding-2", [3072, 128, 256, 512, 768, 1536]),
    "vertex": ("vertex_ai/text-embedding-005", [768, 128, 256, 512]),
}
NOTHING = {"task_type": None, "input_type": None, "text_prefix": None}


def body(**fields: Any) -> Json:
    return {
        "name": f"e-{uuid4().hex[:12]}", "region": "eu", "retention": "none",
        "classification_ceiling": "restricted", "api_key": "sk-1", **fields,
    }  # fmt: skip


def faults(answer: httpx2.Response) -> list[tuple[str, str]]:
    assert answer.status_code == 422, answer.text
    return [(fault["path"], fault["code"]) for fault in answer.json()["error"]["details"]["fields"]]


async def test_every_provider_is_listed_with_its_usual_model(stack: Stack, company: Company) -> None:
    listed = await company.admin.got("/v1/provider-templates")
    found = {each["name"]: (each["default_model"], each["dimensions"]) for each in listed["data"]}
    assert found == DEFAULTS
    (cohere,) = [each for each in listed["data"] if each["name"] == "cohere"]
    assert cohere == {
        "name": "cohere",
        "url": "https://api.cohere.com",
        "needs_api_key": True,
        "is_behind_proxy": False,
        "default_model": "cohere/embed-english-v3.0",
        "dimensions": [1024],
        "context_tokens": 512,
        "roles": {
            "document": {**NOTHING, "input_type": "search_document"},
            "query": {**NOTHING, "input_type": "search_query"},
        },
    }
    first = await stack.operator.got("/v1/provider-templates", limit=5)
    rest = await stack.operator.got("/v1/provider-templates", limit=5, cursor=first["next_cursor"])
    assert [each["name"] for each in (*first["data"], *rest["data"])] == sorted(DEFAULTS)
    member = await company.person("member")
    refused = await member.api.get("/v1/provider-templates")
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "scope_missing")


async def test_an_endpoint_from_a_template_is_where_its_provider_is(stack: Stack) -> None:
    made = await stack.operator.made("/v1/provider-endpoints", body(template="mistral"))
    assert (made["template"], made["kind"], made["url"]) == (
        "mistral",
        "litellm",
        "https://api.mistral.ai/v1",
    )
    path = f"/v1/provider-endpoints/{made['id']}"
    assert faults(await stack.operator.patch(path, json={"api_key": None})) == [("api_key", "missing")]
    elsewhere = {"url": "https://mistral.example/v1", "api_key": "sk-2"}
    assert (await stack.operator.patch(path, json=elsewhere)).json()["url"] == "https://mistral.example/v1"
    back = await stack.operator.patch(path, json={"url": None, "api_key": "sk-1"})
    assert back.json()["url"] == "https://api.mistral.ai/v1"
    (told,) = [
        event["facts"]
        for event in (
            await stack.operator.got("/v1/audit/events", limit=200, action="provider_endpoint.create")
        )["data"]
        if event["facts"]["name"] == made["name"]
    ]
    assert (told["template"], told["kind"]) == ("mistral", "litellm")


@pytest.mark.parametrize(
    ("fields", "found"),
    [
        ({"template": "voyage"}, [("template", "template_unknown")]),
        ({"template": "A b"}, [("template", "string_pattern_mismatch")]),
        ({"template": "cohere", "kind": "litellm"}, [("kind", "kind_of_template")]),
        ({}, [("kind", "missing")]),
        ({"template": "cohere", "api_key": None}, [("api_key", "missing")]),
        ({"template": "azure-openai"}, [("url", "missing")]),
        ({"template": "vertex"}, [("url", "missing")]),
        ({"template": "ollama", "api_key": None}, [("url", "url_plain")]),
        ({"kind": "litellm"}, [("url", "missing")]),
    ],
    ids=str,
)
async def test_what_no_endpoint_can_be_made_of(
    stack: Stack, fields: Json, found: list[tuple[str, str]]
) -> None:
    assert faults(await stack.operator.post("/v1/provider-endpoints", json=body(**fields))) == found


@pytest.mark.parametrize("template", DEFAULTS)
async def test_a_model_has_from_the_template_what_its_registration_leaves_open(
    company: Company, template: str
) -> None:
    endpoint = await company.endpoint(kind=None, template=template, api_key="sk-1")
    name = await company.model(endpoint["name"], capability="embeddings")
    model = await company.admin.got(f"/v1/models/{name}")
    assert (model["provider_model"], model["dimensions"]) == DEFAULTS[template]
    listed = await company.admin.got("/v1/provider-templates")
    (proposed,) = [each for each in listed["data"] if each["name"] == template]
    assert (model["context_tokens"], model["roles"]) == (proposed["context_tokens"], proposed["roles"])


async def test_what_a_registration_says_wins(company: Company) -> None:
    endpoint = await company.endpoint(kind=None, template="cohere", api_key="sk-1")
    own = {"capability": "embeddings", "dimensions": [512], "context_tokens": 100}
    name = await company.model(endpoint["name"], **own)
    model = await company.admin.got(f"/v1/models/{name}")
    assert (model["dimensions"], model["context_tokens"]) == ([512], 100)
    unknown = {"name": "x", "endpoint": endpoint["name"], "capability": "embeddings",
               "provider_model": "cohere/embed-multilingual-v3.0"}  # fmt: skip
    assert faults(await company.admin.post("/v1/models", json=unknown)) == [("dimensions", "missing")]
    chat = {"name": "x", "endpoint": endpoint["name"], "capability": "chat"}
    assert faults(await company.admin.post("/v1/models", json=chat)) == [("provider_model", "other_provider")]


async def test_another_model_of_the_provider_is_told_the_sides_in_its_own_way(company: Company) -> None:
    endpoint = await company.endpoint(kind=None, template="gemini", api_key="sk-1")
    path = f"/v1/models/{await company.model(endpoint['name'], capability='embeddings')}"
    assert (await company.admin.got(path))["roles"]["query"] == {
        **NOTHING,
        "text_prefix": "task: search result | query: ",
    }
    changed = await company.admin.patch(path, json={"provider_model": "gemini/gemini-embedding-001"})
    assert changed.json()["roles"] == {
        "document": {**NOTHING, "task_type": "RETRIEVAL_DOCUMENT"},
        "query": {**NOTHING, "task_type": "RETRIEVAL_QUERY"},
    }
    pinned = await company.admin.patch(path, json={"roles": {"query": {"task_type": "SEMANTIC_SIMILARITY"}}})
    assert pinned.json()["roles"] == {
        "document": {**NOTHING, "task_type": "SEMANTIC_SIMILARITY"},
        "query": {**NOTHING, "task_type": "SEMANTIC_SIMILARITY"},
    }
