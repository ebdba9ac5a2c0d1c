"""Contracts over HTTP: what is promised, and exactly where something is not of that form."""

import json
import time
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.stack import Caller, Company, Json, Person, Stack

PROMISED = Path(__file__).parents[2] / "contracts" / "v1"
NAMES = [
    "acl", "context-contract", "document", "knowledge-base", "manifest", "model", "policy", "quota",
    "source-connector",
]  # fmt: skip

BASE = {"name": "Support", "classification": "internal"}
QUOTA = {"owner": "tenant", "metric": "tokens", "limit": 10}


@pytest.fixture
async def anybody(company: Company) -> Person:
    """Has a key that opens nothing."""
    return await company.person(clearance="public")


async def verdict(caller: Caller, name: str, value: Any) -> Json:
    answer = await caller.post(f"/v1/contracts/{name}/validate", json=value)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def faults(caller: Caller, name: str, value: Any) -> list[tuple[str, str]]:
    """Where and why a value is not of a form."""
    told = await verdict(caller, name, value)
    assert told["valid"] is (told["errors"] == [])
    return [(each["path"], each["code"]) for each in told["errors"]]


async def test_any_key_lists_what_is_promised(anybody: Person, stack: Stack) -> None:
    listed = await anybody.api.got("/v1/contracts")
    assert [each["name"] for each in listed["data"]] == NAMES
    assert listed["data"][7] == {
        "name": "quota",
        "id": "urn:eai:contract:v1:quota",
        "title": "Quota",
        "description": "A quota to be set: the body of `PUT /v1/finops/quotas`.",
    }
    page = await anybody.api.got("/v1/contracts", limit=8)
    rest = await anybody.api.got("/v1/contracts", limit=8, cursor=page["next_cursor"])
    assert [each["name"] for each in rest["data"]] == ["source-connector"]
    assert (await stack.operator.got("/v1/contracts")) == listed
    assert (await stack.caller(None).get("/v1/contracts")).status_code == 401


@pytest.mark.parametrize("name", NAMES)
async def test_a_contract_is_shown_as_it_is_promised(anybody: Person, name: str) -> None:
    promised = json.loads((PROMISED / f"{name}.schema.json").read_text("utf-8"))
    assert await anybody.api.got(f"/v1/contracts/{name}") == promised


async def test_a_contract_that_nobody_promised_is_not_there(anybody: Person) -> None:
    for method, path in (("GET", "/v1/contracts/cats"), ("POST", "/v1/contracts/cats/validate")):
        answer = await anybody.api.request(method, path, json={} if method == "POST" else None)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("acl", {"entries": [{"principal": "tenant:*", "permission": "read"}]}),
        ("document", {"title": "A", "content": "B", "readers": None, "metadata": {"year": 2026, "a": "b"}}),
        ("knowledge-base", BASE),
        ("knowledge-base", {**BASE, "description": "", "embedding_model": None, "chunk_size": 800}),
        (
            "model",
            {"name": "m", "endpoint": "e", "capability": "embeddings", "dimensions": [256, 128]},
        ),
        ("policy", {"cedar": "forbid (principal, action, resource);"}),
        ("quota", QUOTA),
        ("source-connector", {"name": "wiki", "kind": "wiki"}),
        (
            "manifest",
            {
                "apiVersion": "eai/v1",
                "kind": "KnowledgeBase",
                "metadata": {"labels": {"a": "b"}},
                "spec": BASE,
            },
        ),
        ("manifest", {"apiVersion": "eai/v1", "kind": "Quota", "spec": QUOTA}),
    ],
)
async def test_what_has_the_form_is_valid(anybody: Person, name: str, value: Json) -> None:
    assert await faults(anybody.api, name, value) == []


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("quota", {}, [("/owner", "missing"), ("/metric", "missing"), ("/limit", "missing")]),
        ("quota", [], [("", "dict_type")]),
        ("quota", 7, [("", "dict_type")]),
        ("quota", {**QUOTA, "a/b~c": 1}, [("/a~1b~0c", "extra_forbidden")]),
        ("quota", {**QUOTA, "limit": -1}, [("/limit", "greater_than_equal")]),
        ("quota", {**QUOTA, "limit": "10"}, [("/limit", "int_type")]),
        ("quota", {**QUOTA, "limit": 10**16}, [("/limit", "less_than_equal")]),
        ("quota", {**QUOTA, "metric": "cats"}, [("/metric", "enum")]),
        ("quota", {**QUOTA, "window": "year"}, [("/window", "enum")]),
        ("quota", {**QUOTA, "owner": "group:x"}, [("/owner", "string_pattern_mismatch")]),
        ("knowledge-base", {"name": ""}, [("/name", "string_too_short")]),
        ("knowledge-base", {"name": "x" * 201}, [("/name", "string_too_long")]),
        ("knowledge-base", {**BASE, "embedding_model": 5}, [("/embedding_model", "string_type")]),
        ("knowledge-base", {**BASE, "chunk_overlap": 1.5}, [("/chunk_overlap", "int_type")]),
        (
            "knowledge-base",
            {**BASE, "acl": [{"principal": "tenant:*", "permission": "rule"}, {"permission": "read"}, "x"]},
            [("/acl/0/permission", "enum"), ("/acl/1/principal", "missing"), ("/acl/2", "dict_type")],
        ),
        (
            "document",
            {"title": "A", "content": "B", "chunk_readers": [{"start": 0, "end": 0, "readers": "me"}]},
            [("/chunk_readers/0/end", "greater_than_equal"), ("/chunk_readers/0/readers", "list_type")],
        ),
        (
            "document",
            {"title": "A", "content": "B", "metadata": {"no good": 1, "list": [1]}},
            [("/metadata/list", "other"), ("/metadata/no good", "string_pattern_mismatch")],
        ),
        ("acl", {"entries": [{}] * 501}, [("/entries", "too_long")]),
        ("manifest", {}, [("/kind", "missing")]),
        ("manifest", "x", [("", "dict_type")]),
        ("manifest", {"kind": "Cat"}, [("/kind", "enum")]),
        ("manifest", {"kind": ["Quota"]}, [("/kind", "enum")]),
        (
            "manifest",
            {"apiVersion": "v2", "kind": "Quota", "spec": {**QUOTA, "limit": None}},
            [("/apiVersion", "literal_error"), ("/spec/limit", "int_type")],
        ),
        (
            "manifest",
            {"apiVersion": "eai/v1", "kind": "Document", "spec": {"title": "A", "content": "B"}},
            [("/spec/knowledge_base", "missing"), ("/spec/external_id", "missing")],
        ),
    ],
)
async def test_what_has_not_the_form_is_told_where_and_why(
    anybody: Person, name: str, value: Any, found: list[tuple[str, str]]
) -> None:
    assert sorted(await faults(anybody.api, name, value)) == sorted(found)


async def test_a_context_is_told_where_its_ids_are_none(anybody: Person) -> None:
    context = {
        "text": "", "segments": [], "classification": "public", "characters": 0, "tokens": 0,
        "budget": {"max_characters": None, "max_tokens": 5},
        "left_out": [{"passage": 0, "reason": "budget"}],
    }  # fmt: skip
    assert await faults(anybody.api, "context-contract", context) == []
    source = {
        "knowledge_base_id": "x", "document_id": str(uuid4()), "chunk_id": str(uuid4()), "title": "A",
        "ordinal": 0, "position": {"start": 0, "end": 1},
    }  # fmt: skip
    broken = {**context, "segments": [{"source": source}]}
    assert sorted(await faults(anybody.api, "context-contract", broken)) == [
        ("/segments/0/classification", "missing"),
        ("/segments/0/content", "missing"),
        ("/segments/0/delimiter", "missing"),
        ("/segments/0/provenance", "missing"),
        ("/segments/0/source/knowledge_base_id", "uuid_parsing"),
        ("/segments/0/tokens", "missing"),
    ]


async def test_each_error_is_said_in_both_languages(anybody: Person) -> None:
    told = await verdict(anybody.api, "quota", {**QUOTA, "limit": -1})
    assert told["errors"] == [
        {
            "path": "/limit",
            "code": "greater_than_equal",
            "message_i18n": {"en": "Must be at least 0.", "fr": "Doit valoir au moins 0."},
        }
    ]


async def test_what_the_product_makes_of_a_valid_form_is_what_it_takes(company: Company) -> None:
    """What the contract lets through, the operation takes, too."""
    body = {**BASE, "embedding_model": "local-hash-256"}
    assert await faults(company.admin, "knowledge-base", body) == []
    await company.admin.made("/v1/knowledge-bases", body)


async def test_a_hundred_errors_are_told_and_that_there_are_more(anybody: Person) -> None:
    many = {**QUOTA, **{f"field {number}": 1 for number in range(100)}}
    told = await verdict(anybody.api, "quota", many)
    assert (len(told["errors"]), told["errors_truncated"]) == (100, False)
    told = await verdict(anybody.api, "quota", {**many, "one more": 1})
    assert (told["valid"], len(told["errors"]), told["errors_truncated"]) == (False, 100, True)


async def test_a_path_that_only_its_writer_can_know_is_cut(anybody: Person) -> None:
    told = await verdict(anybody.api, "quota", {**QUOTA, "x" * 100_000: 1})
    assert [len(each["path"]) for each in told["errors"]] == [1_000]


async def test_what_is_nested_too_deep_is_refused_in_words(anybody: Person) -> None:
    for deep, status in ((62, 200), (65, 400), (100_000, 400)):
        answer = await anybody.api.post(
            "/v1/contracts/document/validate",
            content=f'{{"metadata": {"[" * deep}{"]" * deep}}}',
            headers={"content-type": "application/json"},
        )
        assert answer.status_code == status
    assert answer.json()["error"]["code"] == "malformed_json"


async def test_more_than_a_mebibyte_is_refused_and_costs_nothing(anybody: Person) -> None:
    answer = await anybody.api.post(
        "/v1/contracts/document/validate", json={"title": "A", "content": "x" * 1_048_576}
    )
    assert (answer.status_code, answer.json()["error"]["code"]) == (413, "payload_too_large")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        # Backtracking engines try these for ever.
        ("source-connector", {"name": f"{'a' * 500_000}!", "kind": "wiki"}),
        ("model", {"name": "m", "endpoint": "e", "capability": "rerank", "region": f"{'a-' * 250_000}!"}),
        ("document", {"title": "A", "content": "B", "source_uri": f"https://{'x' * 500_000} "}),
        ("knowledge-base", {**BASE, "acl": [{}] * 20_000}),
        ("document", {"title": "A", "content": "B", "metadata": {f"a {n}": [] for n in range(10_000)}}),
        ("context-contract", {"segments": [{"source": {}}] * 5_000, "left_out": [0] * 5_000}),
    ],
)
async def test_what_is_made_to_cost_much_costs_little(anybody: Person, name: str, value: Json) -> None:
    began = time.process_time()
    assert (await verdict(anybody.api, name, value))["valid"] is False
    assert time.process_time() - began < 3


async def test_a_reference_in_a_value_is_a_value(anybody: Person) -> None:
    value = {"$ref": "http://127.0.0.1:9/none", "$schema": "http://127.0.0.1:9/none", **QUOTA}
    assert sorted(await faults(anybody.api, "quota", value)) == [
        ("/$ref", "extra_forbidden"),
        ("/$schema", "extra_forbidden"),
    ]
