"""Endpoints, models and kill switches over HTTP."""

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import httpx2
import pytest

from tests.stack import Caller, Company, Json, Stack

MISSING = "00000000-0000-4000-8000-00000000dead"
CANARY = "sk-canary-9f2c"


def _code(answer: httpx2.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


def _faults(answer: httpx2.Response) -> list[tuple[str, str]]:
    assert answer.status_code == 422, answer.text
    return [(fault["path"], fault["code"]) for fault in answer.json()["error"]["details"]["fields"]]


def _body(**fields: Any) -> Json:
    return {
        "name": f"e-{uuid4().hex[:12]}",
        "kind": "openai",
        "url": "https://models.example/v1",
        "region": "eu-west",
        "retention": "none",
        "classification_ceiling": "restricted",
        **fields,
    }


@asynccontextmanager
async def _engaged(caller: Caller, scope: str) -> AsyncIterator[Json]:
    path = f"/v1/kill-switches/{scope}"
    answer = await caller.put(path, json={"engaged": True, "reason": "A leak."})
    assert answer.status_code == 200, answer.text
    try:
        yield answer.json()
    finally:
        released = await caller.put(path, json={"engaged": False, "reason": "Mended."})
        assert released.status_code == 200, released.text


async def test_the_life_of_an_endpoint(stack: Stack, company: Company) -> None:
    body = _body(tenants=[company.id], api_key=CANARY)
    made = await stack.operator.post("/v1/provider-endpoints", json=body)
    assert made.status_code == 201, made.text
    endpoint = made.json()
    assert set(endpoint) == {
        "id", "name", "kind", "template", "url", "region", "retention", "classification_ceiling", "tenants",
        "has_api_key", "created_at", "updated_at",
    }  # fmt: skip
    assert {name: endpoint[name] for name in body if name != "api_key"} == {
        name: value for name, value in body.items() if name != "api_key"
    }
    path = f"/v1/provider-endpoints/{endpoint['id']}"
    read = await stack.operator.get(path)
    assert (read.json(), read.headers["etag"]) == (endpoint, made.headers["etag"])
    tag = {"if-match": made.headers["etag"]}
    changed = await stack.operator.patch(path, json={"retention": "days:30"}, headers=tag)
    assert (changed.status_code, changed.json()["retention"]) == (200, "days:30")
    assert _code(await stack.operator.delete(path, headers=tag)) == (412, "precondition_failed")
    listed = await stack.operator.got("/v1/provider-endpoints", limit=200)
    assert endpoint["name"] in [found["name"] for found in listed["data"]]
    assert (await stack.operator.delete(path)).status_code == 204
    assert _code(await stack.operator.get(path)) == (404, "not_found")


async def test_an_endpoint_is_reached_by_its_name_too(stack: Stack) -> None:
    endpoint = await stack.operator.made("/v1/provider-endpoints", _body())
    path = f"/v1/provider-endpoints/{endpoint['name']}"
    assert await stack.operator.got(path) == endpoint
    changed = await stack.operator.patch(path, json={"retention": "days:7"})
    assert (changed.status_code, changed.json()["id"]) == (200, endpoint["id"])
    assert (await stack.operator.delete(path)).status_code == 204
    assert _code(await stack.operator.get(path)) == (404, "not_found")


async def test_what_spells_an_id_is_never_taken_for_a_name(stack: Stack) -> None:
    endpoint = await stack.operator.made("/v1/provider-endpoints", _body())
    await stack.operator.made("/v1/provider-endpoints", _body(name=endpoint["id"]))
    path = f"/v1/provider-endpoints/{endpoint['id']}"
    assert (await stack.operator.got(path))["name"] == endpoint["name"]
    assert (await stack.operator.delete(path)).status_code == 204
    # Sent twice, a removal must not reach a namesake.
    assert _code(await stack.operator.delete(path)) == (404, "not_found")


async def test_a_key_is_in_no_answer(stack: Stack) -> None:
    made = await stack.operator.post("/v1/provider-endpoints", json=_body(api_key=CANARY))
    path = f"/v1/provider-endpoints/{made.json()['id']}"
    answers = [
        made,
        await stack.operator.get(path),
        await stack.operator.patch(path, json={"api_key": f"{CANARY}-2"}),
        await stack.operator.post("/v1/provider-endpoints", json=_body(api_key=f"{CANARY} and a space")),
        await stack.operator.patch(path, json={"api_key": CANARY, "no_such_field": CANARY}),
        await stack.operator.get("/v1/provider-endpoints"),
    ]
    assert [answer.status_code for answer in answers] == [201, 200, 200, 422, 422, 200]
    assert [answer for answer in answers if CANARY in answer.text] == []


@pytest.mark.parametrize(
    ("fields", "faults"),
    [
        ({"url": "http://models.example/v1"}, [("url", "url_plain")]),
        ({"url": "https://a:b@models.example"}, [("url", "url_form")]),
        ({"url": "https://models.example/v1?key=x"}, [("url", "url_form")]),
        ({"url": None}, [("url", "missing")]),
        ({"kind": "local"}, [("url", "url_of_local")]),
        ({"kind": "azure"}, [("kind", "enum")]),
        ({"retention": "forever"}, [("retention", "retention_form")]),
        ({"region": "EU"}, [("region", "string_pattern_mismatch")]),
        ({"classification_ceiling": "cosmic"}, [("classification_ceiling", "enum")]),
        ({"tenants": [MISSING]}, [("tenants.0", "tenant_unknown")]),
        ({"name": "a/b"}, [("name", "string_pattern_mismatch")]),
        ({"api_base": "https://evil.example"}, [("api_base", "extra_forbidden")]),
    ],
    ids=lambda value: str(value)[:40],
)
async def test_a_malformed_endpoint_is_refused(
    stack: Stack, fields: Json, faults: list[tuple[str, str]]
) -> None:
    assert _faults(await stack.operator.post("/v1/provider-endpoints", json=_body(**fields))) == faults


async def test_endpoints_are_for_operators(company: Company) -> None:
    for answer in (
        await company.admin.get("/v1/provider-endpoints"),
        await company.admin.post("/v1/provider-endpoints", json=_body()),
        await company.admin.get(f"/v1/provider-endpoints/{MISSING}"),
    ):
        assert _code(answer) == (403, "scope_missing")


async def test_the_life_of_a_model(company: Company) -> None:
    endpoint = await company.endpoint(classification_ceiling="restricted")
    body = {
        "name": "our-embeddings",
        "endpoint": endpoint["name"],
        "capability": "embeddings",
        "provider_model": "BAAI/bge-m3",
        "dimensions": [1024, 512],
        "context_tokens": 8192,
        "classification_ceiling": "internal",
        "price": {"input_micros": 20_000, "output_micros": 0},
        "roles": {"document": {"input_type": "search_document"}, "query": {"input_type": "search_query"}},
        "fusion": {"dense_weight": 0.4, "dense_floor": 0.0},
    }
    made = await company.admin.post("/v1/models", json=body)
    assert made.status_code == 201, made.text
    model = made.json()
    # Null parameters of a role are shown as they are: not sent.
    told = {**body, "roles": model["roles"]}
    assert {name: model[name] for name in body} == told
    assert model["roles"]["query"] == {"task_type": None, "input_type": "search_query", "text_prefix": None}
    assert {name: model[name] for name in ("provider", "region", "retention", "revision", "enabled")} == {
        "provider": endpoint["name"], "region": "eu", "retention": "none", "revision": "1", "enabled": True,
    }  # fmt: skip
    path = f"/v1/models/{model['name']}"
    read = await company.admin.get(path)
    assert (read.json(), read.headers["etag"]) == (model, made.headers["etag"])
    changed = await company.admin.patch(path, json={"enabled": False, "classification_ceiling": None})
    assert (changed.json()["enabled"], changed.json()["classification_ceiling"]) == (False, "restricted")
    stale = {"if-match": made.headers["etag"]}
    assert _code(await company.admin.patch(path, json={}, headers=stale)) == (412, "precondition_failed")
    assert _code(await company.admin.post("/v1/models", json=body)) == (409, "name_taken")
    shipped = await company.admin.post("/v1/models", json={**body, "name": "bge-m3-vllm"})
    assert _code(shipped) == (409, "name_taken")


async def test_a_model_may_only_narrow(company: Company) -> None:
    endpoint = await company.endpoint(classification_ceiling="internal")
    wide = {"name": "wide", "endpoint": endpoint["name"], "capability": "chat",
            "classification_ceiling": "secret", "region": "us"}  # fmt: skip
    assert _faults(await company.admin.post("/v1/models", json=wide)) == [
        ("classification_ceiling", "above_endpoint"),
        ("region", "outside_endpoint"),
    ]


async def test_an_endpoint_with_models_stays(stack: Stack, company: Company) -> None:
    endpoint = await company.endpoint()
    await company.model(endpoint["name"])
    refused = await stack.operator.delete(f"/v1/provider-endpoints/{endpoint['id']}")
    assert _code(refused) == (409, "endpoint_in_use")
    assert endpoint["name"] in refused.json()["error"]["message"]


async def test_every_reader_sees_models_and_only_administrators_change_them(
    stack: Stack, company: Company
) -> None:
    endpoint = await company.endpoint()
    name = await company.model(endpoint["name"])
    member = await company.person("member")
    listed = await member.api.got("/v1/models", limit=200)
    names = [model["name"] for model in listed["data"]]
    assert names == sorted(names)
    assert {name, "local-hash-256", "bge-m3-vllm", "text-embedding-3-small"} <= set(names)
    shipped = await member.api.got("/v1/models/text-embedding-3-small")
    assert (shipped["dimensions"], shipped["classification_ceiling"]) == (
        [1536, 256, 512, 1024],
        "confidential",
    )
    assert (shipped["created_at"], shipped["is_shipped"]) == (None, True)
    assert _code(await member.api.patch(f"/v1/models/{name}", json={})) == (403, "scope_missing")
    refused = await company.admin.patch("/v1/models/bge-m3-vllm", json={"endpoint": endpoint["name"]})
    assert _code(refused) == (403, "scope_missing")
    assert _code(await stack.operator.patch(f"/v1/models/{name}", json={})) == (404, "model_not_found")
    assert _code(await stack.operator.post("/v1/models", json={})) == (403, "tenant_required")


async def test_another_tenants_model_is_told_like_one_that_is_missing(stack: Stack, company: Company) -> None:
    other = await stack.company()
    theirs = await other.model((await other.endpoint())["name"])
    unknown = f"m-{'0' * 12}"
    assert len(theirs) == len(unknown)
    for method, path, body in (
        ("GET", "/v1/models/{}", None),
        ("PATCH", "/v1/models/{}", {"enabled": False}),
        ("PUT", "/v1/models/{}/kill-switch", {"engaged": True, "reason": "x"}),
    ):
        told = []
        for name in (theirs, unknown):
            answer = await company.admin.request(method, path.format(name), json=body)
            problem = answer.json()
            del problem["error"]["request_id"], problem["instance"]
            told.append((answer.status_code, re.sub(name, "NAME", str(problem))))
        assert told[0] == told[1]
        assert told[0][0] == 404
    seen = await company.admin.got("/v1/models", limit=200)
    assert theirs not in [model["name"] for model in seen["data"]]


async def test_an_operator_binds_a_shipped_model(stack: Stack, company: Company) -> None:
    endpoint = await stack.operator.made(
        "/v1/provider-endpoints", _body(tenants=[company.id], classification_ceiling="secret")
    )
    path = "/v1/models/bge-reranker-v2-m3-vllm"
    before = await stack.operator.get(path)
    assert before.json()["enabled"] is False
    tag = {"if-match": before.headers["etag"]}
    bound = await stack.operator.patch(
        path, json={"endpoint": endpoint["name"], "enabled": True}, headers=tag
    )
    assert bound.status_code == 200, bound.text
    assert (bound.json()["endpoint"], bound.json()["enabled"]) == (endpoint["name"], True)
    assert _code(await stack.operator.patch(path, json={}, headers=tag)) == (412, "precondition_failed")
    assert (await company.admin.got(path))["enabled"] is True
    # The endpoint serves one tenant; for the others the model goes nowhere.
    assert (await (await stack.company()).admin.got(path))["enabled"] is False
    wrong = await stack.operator.patch(path, json={"dimensions": [3]})
    assert _faults(wrong) == [("dimensions", "model_is_shipped")]
    assert _faults(await stack.operator.patch("/v1/models/local-hash-256", json={"enabled": False})) == [
        ("endpoint", "model_is_local")
    ]
    off = await stack.operator.patch(path, json={"enabled": False})
    assert off.json()["enabled"] is False


async def test_what_decides_vectors_is_fixed_while_a_base_holds_any(company: Company) -> None:
    endpoint = await company.endpoint()
    name = await company.model(endpoint["name"], capability="embeddings", dimensions=[8, 4])
    path = f"/v1/models/{name}"
    assert (await company.admin.patch(path, json={"revision": "2"})).status_code == 200
    await company.base(embedding_model=name, dimensions=4)
    for change in ({"provider_model": "x"}, {"dimensions": [8]}, {"revision": "3"}):
        refused = await company.admin.patch(path, json=change)
        assert _code(refused) == (409, "model_in_use")
        assert refused.json()["error"]["details"] == {"model": name}
    assert (await company.admin.patch(path, json={"enabled": False})).status_code == 200


async def test_a_kill_switch_stops_and_lets_go(company: Company) -> None:
    base = await company.base()
    note = {"title": "A note", "content": "Some words."}
    documents = f"/v1/knowledge-bases/{base}/documents"
    for scope in ("tenant", "model:local-hash-256"):
        async with _engaged(company.admin, scope) as flipped:
            assert (flipped["scope"], flipped["engaged"], flipped["reason"]) == (scope, True, "A leak.")
            assert flipped["in_flight"] == []
            refused = await company.admin.post(documents, json=note)
            assert _code(refused) == (403, "kill_switch_engaged")
            assert refused.json()["error"]["details"] == {"scope": scope}
            shown = await company.admin.got(f"/v1/kill-switches/{scope}")
            assert (shown["engaged"], shown["engaged_by"]) == (True, flipped["engaged_by"])
        assert (await company.admin.got(f"/v1/kill-switches/{scope}"))["engaged"] is False
    assert (await company.admin.post(documents, json=note)).status_code == 201


async def test_the_switch_of_a_model_has_two_addresses(company: Company) -> None:
    answer = await company.admin.put(
        "/v1/models/local-hash-256/kill-switch", json={"engaged": True, "reason": "x"}
    )
    assert answer.json()["scope"] == "model:local-hash-256"
    read = await company.admin.get("/v1/kill-switches/model:local-hash-256")
    assert (read.json(), read.headers["etag"]) == (answer.json(), answer.headers["etag"])
    stale = {"if-match": '"1-0123456789abcdef"'}
    refused = await company.admin.put(
        "/v1/models/local-hash-256/kill-switch", json={"engaged": False, "reason": "x"}, headers=stale
    )
    assert _code(refused) == (412, "precondition_failed")


async def test_switches_of_the_platform_are_for_operators(stack: Stack, company: Company) -> None:
    endpoint = await company.endpoint()
    wanted = {"engaged": True, "reason": "x"}
    for scope in ("instance", f"provider:{endpoint['name']}", "provider:nobody"):
        path = f"/v1/kill-switches/{scope}"
        assert _code(await company.admin.put(path, json=wanted)) == (403, "scope_missing")
        assert _code(await company.admin.get(path)) == (403, "scope_missing")
    async with _engaged(stack.operator, f"provider:{endpoint['name']}") as flipped:
        assert flipped["engaged"] is True
    assert (await stack.operator.got("/v1/kill-switches/instance"))["engaged"] is False
    assert _code(await stack.operator.put("/v1/kill-switches/tenant", json=wanted)) == (403, "scope_missing")
    for scope in ("provider:nobody", "x", "provider:"):
        assert _code(await stack.operator.put(f"/v1/kill-switches/{scope}", json=wanted)) == (
            404,
            "not_found",
        )


async def test_registry_changes_are_audited(company: Company) -> None:
    name = await company.model((await company.endpoint())["name"])
    await company.admin.patch(f"/v1/models/{name}", json={"enabled": False})
    async with _engaged(company.admin, f"model:{name}"):
        pass
    found = await company.admin.got("/v1/audit/events", limit=200)
    told = [(event["action"], event["resource"]["id"]) for event in found["data"] if event["resource"]]
    assert [entry for entry in told if name in entry[1]] == [
        ("model.create", name),
        ("model.update", name),
        ("model.kill_switch.set", f"model:{name}"),
        ("model.kill_switch.set", f"model:{name}"),
    ]
