"""Calls of models over HTTP, to a provider in another process that shows every byte it was sent."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from eai.gateway.answer_schemas import CompletionOut, EmbeddingsOut, RankingOut
from eai.gateway.schemas import MAX_BODY_BYTES
from tests.provider.process import ProviderProcess
from tests.provider.steps import Step
from tests.stack import Company, Json, Stack

EMBEDDINGS = "/v1/gateway/embeddings"
RERANK = "/v1/gateway/rerank"
CHAT = "/v1/gateway/chat/completions"
SAID = [{"role": "user", "content": "Where is my parcel?"}]

Body = Callable[[str], Json]
BODIES: dict[str, tuple[str, Body]] = {
    "embeddings": (EMBEDDINGS, lambda model: {"model": model, "input": ["a parcel", "a letter"]}),
    "rerank": (
        RERANK,
        lambda model: {"model": model, "query": "parcel", "documents": ["a letter", "a parcel"]},
    ),
    "chat": (CHAT, lambda model: {"model": model, "messages": SAID}),
}
every_call = pytest.mark.parametrize("capability", BODIES)


@pytest.fixture
async def provider(stack: Stack) -> ProviderProcess:
    running = await stack.provider()
    await running.forget()
    return running


async def model_of(company: Company, capability: str, **fields: Any) -> str:
    sizes = {"dimensions": [8]} if capability == "embeddings" else {}
    return await company.model(await company.answering(), capability=capability, **sizes, **fields)


async def events(company: Company, action: str) -> list[Json]:
    """What the tenant's chain tells of calls that clients made, the oldest first."""
    found = (await company.admin.got("/v1/audit/events", action=action, limit=200))["data"]
    return [event for event in found if event["facts"].get("operation") == "client"]


async def refused(company: Company, path: str, body: Json, status: int) -> Json:
    answer = await company.admin.post(path, json=body)
    assert answer.status_code == status, answer.text
    return dict(answer.json()["error"])


async def test_texts_are_embedded_in_their_order_and_the_provider_is_told_no_more_than_it_needs(
    company: Company, provider: ProviderProcess
) -> None:
    model = await model_of(company, "embeddings")
    await provider.say(Step(change={"is_permuted": True}))
    body = {
        "model": model,
        "input": ["a parcel", "a letter"],
        "labels": {"project": "post"},
        "classification": "confidential",
    }
    answer = EmbeddingsOut.model_validate(await company.admin.made(EMBEDDINGS, body, status=200))
    alone = await company.admin.made(EMBEDDINGS, {"model": model, "input": "a letter"}, status=200)
    assert (answer.model, [item.index for item in answer.data]) == (model, [0, 1])
    assert answer.data[1].embedding == alone["data"][0]["embedding"]
    assert answer.data[0].embedding != answer.data[1].embedding
    assert answer.usage.total_tokens == 8
    first, _ = await provider.requests()
    assert first.json["input"] == ["a parcel", "a letter"]
    for secret in (b"post", b"confidential", company.id.encode(), (company.admin.key or "").encode()):
        assert secret not in first.raw


async def test_a_model_of_this_process_answers_too(company: Company, provider: ProviderProcess) -> None:
    answer = await company.admin.made(EMBEDDINGS, {"model": "local-hash-256", "input": "a"}, status=200)
    assert len(answer["data"][0]["embedding"]) == 256
    assert await provider.received() == (0, 0)


async def test_documents_are_put_in_order(company: Company, provider: ProviderProcess) -> None:
    model = await model_of(company, "rerank")
    body = {"model": model, "query": "lost parcel", "documents": ["a letter", "a lost parcel", "a parcel"]}
    whole = RankingOut.model_validate(await company.admin.made(RERANK, body, status=200))
    assert [(result.index, result.relevance_score) for result in whole.results] == [
        (1, 1.0),
        (2, 0.5),
        (0, 0.0),
    ]
    assert [result.document for result in whole.results] == [None, None, None]
    best = await company.admin.made(RERANK, {**body, "top_n": 1, "return_documents": True}, status=200)
    assert [(result["index"], result["document"]) for result in best["results"]] == [(1, "a lost parcel")]


async def test_a_conversation_is_continued_within_its_bound(
    company: Company, provider: ProviderProcess
) -> None:
    model = await model_of(company, "chat")
    body = {"model": model, "messages": SAID, "max_tokens": 3, "temperature": 0.5}
    answer = CompletionOut.model_validate(await company.admin.made(CHAT, body, status=200))
    assert answer.choices[0].message.content == "word0 word1 word2"
    assert (answer.choices[0].finish_reason, answer.usage.completion_tokens) == ("stop", 3)
    (request,) = await provider.requests()
    assert (request.json["max_tokens"], request.json["temperature"]) == (3, 0.5)
    assert request.json["messages"] == SAID


@every_call
async def test_what_is_answered_is_on_record(
    company: Company, provider: ProviderProcess, capability: str
) -> None:
    model = await model_of(company, capability)
    path, body = BODIES[capability]
    labels = {"project": "post", "run": "run-1"}
    answer = await company.admin.made(path, {**body(model), "labels": labels}, status=200)
    (intent,), (result,) = await events(company, "model.invoke"), await events(company, "model.result")
    assert (intent["resource"], intent["decision"]) == ({"kind": "model", "id": model}, "allow")
    assert intent["facts"]["level"] == "internal"
    assert result["facts"]["intent"] == intent["seq"]
    assert result["facts"]["tokens"] == answer["usage"]["total_tokens"] > 0
    assert intent["facts"]["bound"] >= answer["usage"]["total_tokens"]
    usage = await company.admin.got("/v1/finops/usage", group_by="project")
    (row,) = [row for row in usage["data"] if row["project"] == "post"]
    assert (row["events"], row["tokens"]) == (1, answer["usage"]["total_tokens"])


@every_call
@pytest.mark.parametrize(
    "name", ["api_base", "base_url", "api_key", "headers", "extra_headers", "extra_body"]
)
async def test_nothing_that_was_registered_can_be_sent_along(
    company: Company, provider: ProviderProcess, capability: str, name: str
) -> None:
    path, body = BODIES[capability]
    model = await model_of(company, capability)
    error = await refused(company, path, {**body(model), name: "http://127.0.0.1:1/"}, 422)
    assert [(fault["path"], fault["code"]) for fault in error["details"]["fields"]] == [
        (name, "extra_forbidden")
    ]
    assert await provider.received() == (0, 0)


@every_call
async def test_a_level_above_ones_own_clearance_is_refused(
    company: Company, provider: ProviderProcess, capability: str
) -> None:
    path, body = BODIES[capability]
    model = await model_of(company, capability)
    developer = await company.person("developer", clearance="internal")
    answer = await developer.api.post(path, json={**body(model), "classification": "confidential"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "clearance_exceeded")
    assert await provider.received() == (0, 0)


@every_call
async def test_a_level_above_the_models_ceiling_is_refused_and_nothing_leaves(
    company: Company, provider: ProviderProcess, capability: str
) -> None:
    path, body = BODIES[capability]
    model = await model_of(company, capability, classification_ceiling="internal")
    error = await refused(company, path, {**body(model), "classification": "confidential"}, 403)
    assert error["code"] == "classification_exceeded"
    assert await provider.received() == (0, 0)
    (denied,) = await events(company, "model.invoke")
    assert (denied["decision"], denied["facts"]["code"]) == ("deny", "classification_exceeded")
    assert denied["facts"]["level"] == "confidential"


@every_call
async def test_a_level_is_never_lowered_by_saying_so(
    company: Company, provider: ProviderProcess, capability: str
) -> None:
    path, body = BODIES[capability]
    model = await model_of(company, capability, classification_ceiling="public")
    error = await refused(company, path, {**body(model), "classification": "public"}, 403)
    assert error["code"] == "classification_exceeded"
    assert await provider.received() == (0, 0)


@every_call
async def test_an_unknown_model_and_another_tenants_are_told_alike(
    stack: Stack, company: Company, provider: ProviderProcess, capability: str
) -> None:
    path, body = BODIES[capability]
    theirs = await model_of(await stack.company(), capability)
    answers = [await company.admin.post(path, json=body(name)) for name in (theirs, "no-such-model")]
    told = [answer.text.replace(theirs, "no-such-model") for answer in answers]
    ids = [answer.headers["x-request-id"] for answer in answers]
    assert [answer.status_code for answer in answers] == [404, 404]
    assert told[0].replace(ids[0], "") == told[1].replace(ids[1], "")
    assert await provider.received() == (0, 0)


async def test_dimensions_that_a_model_does_not_have_are_refused(company: Company) -> None:
    body = {"model": "local-hash-256", "input": "a", "dimensions": 255}
    error = await refused(company, EMBEDDINGS, body, 422)
    (fault,) = error["details"]["fields"]
    assert fault == {"path": "dimensions", "code": "unsupported", "message": "This model offers: 256."}
    body["dimensions"] = 256
    await company.admin.made(EMBEDDINGS, body, status=200)


async def test_a_model_of_another_kind_is_refused(company: Company, provider: ProviderProcess) -> None:
    model = await model_of(company, "chat")
    error = await refused(company, EMBEDDINGS, {"model": model, "input": "a", "dimensions": 8}, 403)
    assert error["code"] == "model_capability_missing"


async def test_a_body_that_is_too_large_is_not_read(company: Company) -> None:
    body = {"model": "local-hash-256", "input": ["a" * 90_000] * (MAX_BODY_BYTES // 90_000 + 1)}
    assert (await refused(company, EMBEDDINGS, body, 413))["code"] == "payload_too_large"


@pytest.mark.parametrize(
    ("step", "status", "code"),
    [
        (Step(change={"first": "nan"}), 502, "provider_response_invalid"),
        (Step(change={"dimensions": 7}), 502, "embedding_dimension_mismatch"),
        (Step(change={"model": "another"}), 502, "model_substituted"),
        (Step(status=500), 503, "provider_unavailable"),
        (Step(status=401), 503, "provider_unavailable"),
    ],
)
async def test_an_answer_that_cannot_be_used_is_an_error_of_its_own_and_on_record(
    company: Company, provider: ProviderProcess, step: Step, status: int, code: str
) -> None:
    model = await model_of(company, "embeddings")
    await provider.say(step)
    error = await refused(company, EMBEDDINGS, {"model": model, "input": "a"}, status)
    assert error["code"] == code
    (result,) = await events(company, "model.result")
    assert result["facts"]["code"] == code


@every_call
async def test_an_answer_is_kept_for_one_repetition(
    company: Company, provider: ProviderProcess, capability: str
) -> None:
    path, body = BODIES[capability]
    model = await model_of(company, capability)
    key = {"idempotency-key": str(uuid4())}
    answers = [await company.admin.post(path, json=body(model), headers=key) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 409]
    assert answers[0].content == answers[1].content
    assert "idempotent-replayed" not in answers[0].headers
    assert answers[1].headers["idempotent-replayed"] == "true"
    assert answers[2].json()["error"]["code"] == "idempotency_answer_erased"
    assert len(await provider.requests()) == 1


async def test_another_key_of_the_same_principal_does_not_get_the_answer(
    stack: Stack, company: Company, provider: ProviderProcess
) -> None:
    model = await model_of(company, "chat")
    me = await company.admin.got("/v1/me")
    made = await company.admin.made("/v1/api-keys", {"principal_id": me["principal"]["id"]})
    key = {"idempotency-key": str(uuid4())}
    body = {"model": model, "messages": SAID}
    await company.admin.post(CHAT, json=body, headers=key)
    other = await stack.caller(made["api_key"]).post(CHAT, json=body, headers=key)
    assert (other.status_code, other.json()["error"]["code"]) == (422, "idempotency_key_reused")


async def test_a_refusal_frees_its_key(company: Company, provider: ProviderProcess) -> None:
    model = await model_of(company, "embeddings")
    key = {"idempotency-key": str(uuid4())}
    body = {"model": model, "input": "a"}
    await provider.say(Step(status=404))
    first = await company.admin.post(EMBEDDINGS, json=body, headers=key)
    second = await company.admin.post(EMBEDDINGS, json=body, headers=key)
    assert (first.status_code, second.status_code) == (502, 200)
    assert "idempotent-replayed" not in second.headers
