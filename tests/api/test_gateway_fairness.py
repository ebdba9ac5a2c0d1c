"""What one tenant does to a provider that several share takes nothing from the others."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from eai.platform.settings import ModelSettings
from tests.conftest import fresh_database
from tests.provider.steps import Step
from tests.stack import Company, Json, Stack, running_stack, settings

CALLS: dict[str, tuple[str, Json]] = {
    "embeddings": ("embeddings", {"input": "a parcel"}),
    "rerank": ("rerank", {"query": "parcel", "documents": ["a letter"]}),
    "chat": ("chat", {"messages": [{"role": "user", "content": "Where is it?"}]}),
}
PATHS = {"embeddings": "embeddings", "rerank": "rerank", "chat": "chat/completions"}


@pytest.fixture
async def narrow(tmp_path: Path) -> AsyncIterator[Stack]:
    """The product where a tenant may have one call open."""
    models = ModelSettings(rag_embedding_model="local-hash-256", calls_per_tenant=1)
    with fresh_database() as urls:
        chosen = settings(urls.app, tmp_path).model_copy(update={"models": models})
        async with running_stack(chosen) as running:
            yield running


async def model_of(company: Company, capability: str) -> str:
    sizes = {"dimensions": [8]} if capability == "embeddings" else {}
    return await company.model(await company.answering(), capability=capability, **sizes)


async def test_a_tenant_has_only_so_many_calls_open_and_others_have_theirs(narrow: Stack) -> None:
    provider = await narrow.provider()
    mine, theirs = await narrow.company(), await narrow.company()
    embedder = await model_of(mine, "embeddings")
    other = await model_of(theirs, "embeddings")
    base = await mine.base(embedding_model=embedder)
    models = {capability: await model_of(mine, capability) for capability in CALLS}
    await provider.forget()
    await provider.say(Step(wait_s=3.0))
    async with asyncio.TaskGroup() as group:
        path = f"/v1/knowledge-bases/{base}/documents"
        held = group.create_task(mine.admin.post(path, json={"title": "One", "content": "One text."}))
        await provider.has_come(within_s=10)
        waiting = group.create_task(mine.admin.post(path, json={"title": "Two", "content": "Two texts."}))
        for capability, (_, body) in CALLS.items():
            call = {"model": models[capability], **body}
            answer = await mine.admin.post(f"/v1/gateway/{PATHS[capability]}", json=call)
            assert (answer.status_code, answer.json()["error"]["code"]) == (429, "rate_limited")
            assert answer.headers["retry-after"] == "1"
        local = {"model": "local-hash-256", "input": "a parcel"}
        assert (await mine.admin.post("/v1/gateway/embeddings", json=local)).status_code == 200
        call = {"model": other, "input": "a parcel"}
        assert (await theirs.admin.post("/v1/gateway/embeddings", json=call)).status_code == 200
        assert (held.done(), waiting.done()) == (False, False)
    assert (held.result().status_code, waiting.result().status_code) == (201, 201)
    listed = await mine.admin.got("/v1/audit/events", action="model.invoke", limit=200)
    denied = [event["facts"]["code"] for event in listed["data"] if event["decision"] == "deny"]
    assert denied == ["rate_limited"] * 3


async def test_requests_that_make_a_provider_fail_stop_nobody_elses(stack: Stack, company: Company) -> None:
    provider, other = await stack.provider(), await stack.company()
    shared = await company.endpoint(url=provider.url, tenants=[company.id, other.id])
    models = {each.id: await each.model(shared["name"], capability="rerank") for each in (company, other)}
    body = CALLS["rerank"][1]
    await provider.usually(Step(status=502))
    try:
        for _ in range(2):
            answer = await company.admin.post(
                "/v1/gateway/rerank", json={"model": models[company.id], **body}
            )
            assert (answer.status_code, answer.json()["error"]["code"]) == (503, "provider_unavailable")
    finally:
        await provider.usually(Step())
    await provider.forget()
    mine = await company.admin.post("/v1/gateway/rerank", json={"model": models[company.id], **body})
    assert (mine.status_code, mine.json()["error"]["code"]) == (503, "provider_unavailable")
    assert await provider.requests() == []
    theirs = await other.admin.post("/v1/gateway/rerank", json={"model": models[other.id], **body})
    assert theirs.status_code == 200
