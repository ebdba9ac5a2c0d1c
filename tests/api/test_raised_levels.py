"""A text whose level is raised while it is embedded: no further part of it goes to a model below that."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.api.test_reindex_routes import ended, reindex
from tests.integration.faults.outages import eventually
from tests.provider.process import ProviderProcess
from tests.provider.steps import Step
from tests.stack import Company, Json, Stack

LONG = " ".join(f"Paragraph {number} tells of refunds, parcels and letters." for number in range(400))
"""More than a hundred passages of 200 characters: two batches at least."""
BUSY = Step(status=503, headers={"retry-after": "1"})
SECRET: Json = {"classification": "secret"}
PARTLY: Json = {"chunk_readers": [{"start": 0, "end": 3, "classification": "secret"}]}


@dataclass(frozen=True)
class Scene:
    """A model that may see what is confidential, and whoever submits texts to it."""

    company: Company
    provider: ProviderProcess
    model: str

    async def base(self, **fields: Any) -> str:
        return await self.company.base(**{"embedding_model": self.model, "chunk_size": 200, **fields})

    async def submit(self, base: str, **fields: Any) -> str:
        """The path of a document that a worker processes."""
        path = f"/v1/knowledge-bases/{base}/documents"
        body = {"title": "Long", "content": LONG, **fields}
        answer = await self.company.admin.post(path, json=body, headers={"prefer": "respond-async"})
        assert answer.status_code == 202, answer.text
        return f"{path}/{answer.json()['id']}"

    async def put(self, path: str, body: Json) -> None:
        answer = await self.company.admin.put(path, json=body)
        assert answer.is_success, answer.text

    async def patch(self, path: str, body: Json) -> None:
        answer = await self.company.admin.patch(path, json=body)
        assert answer.is_success, answer.text

    async def settled(self, path: str) -> tuple[str, str | None]:
        """Status and error of a document's newest version once it is done with."""

        async def done() -> tuple[str, str | None] | None:
            newest, *_ = (await self.company.admin.got(f"{path}/versions"))["data"]
            if newest["status"] in {"pending", "processing"}:
                return None
            return newest["status"], (newest["error"] or {}).get("code")

        return await eventually(done)

    async def calls(self) -> list[tuple[str, str]]:
        """Level and decision of each call of the model, as the audit tells them."""
        told = (await self.company.admin.got("/v1/audit/events", action="model.invoke"))["data"]
        wanted = [event for event in told if event["resource"]["id"] == self.model]
        return [(event["facts"]["level"], event["decision"]) for event in wanted]


async def scene_of(stack: Stack, company: Company, **endpoint: Any) -> Scene:
    provider = await stack.provider()
    await provider.forget()
    where = await company.answering(**{"classification_ceiling": "confidential", **endpoint})
    return Scene(company, provider, await company.model(where, capability="embeddings", dimensions=[8]))


@pytest.fixture
async def scene(stack: Stack, company: Company) -> Scene:
    return await scene_of(stack, company)


async def _new(scene: Scene) -> str:
    await scene.provider.say(Step(is_held=True))
    return await scene.submit(await scene.base())


async def _replaced(scene: Scene) -> str:
    path = await scene.submit(await scene.base(), content="Refunds.")
    assert await scene.settled(path) == ("ready", None)
    await scene.provider.forget()
    await scene.provider.say(Step(is_held=True))
    await scene.put(path, {"content": LONG})
    return path


async def _tried_again(scene: Scene) -> str:
    await scene.provider.say(Step(change={"dimensions": 5}))
    path = await scene.submit(await scene.base())
    assert await scene.settled(path) == ("failed", "embedding_dimension_mismatch")
    await scene.provider.forget()
    await scene.provider.say(Step(is_held=True))
    assert (await scene.company.admin.post(f"{path}/retry")).status_code == 202
    return path


@pytest.mark.parametrize("begin", [_new, _replaced, _tried_again])
async def test_what_is_left_of_a_text_does_not_leave(
    scene: Scene, begin: Callable[[Scene], Awaitable[str]]
) -> None:
    path = await begin(scene)
    await scene.provider.has_come(within_s=10)
    await scene.put(f"{path}/acl", SECRET)
    await scene.provider.go_on()
    assert await scene.settled(path) == ("failed", "classification_exceeded")
    assert len(await scene.provider.requests()) == 1
    assert (await scene.calls())[-2:] == [("internal", "allow"), ("secret", "deny")]


async def test_whoever_waits_for_it_is_told(scene: Scene) -> None:
    base = await scene.base()
    path = f"/v1/knowledge-bases/{base}/documents"
    await scene.provider.say(Step(is_held=True))
    submitting = asyncio.create_task(scene.company.admin.post(path, json={"title": "Long", "content": LONG}))
    await scene.provider.has_come(within_s=10)
    (document,) = (await scene.company.admin.got(path))["data"]
    await scene.put(f"{path}/{document['id']}/acl", SECRET)
    await scene.provider.go_on()
    answer = await submitting
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "classification_exceeded")
    assert len(await scene.provider.requests()) == 1
    assert (await scene.company.admin.get(f"{path}/{document['id']}")).status_code == 404


async def test_a_batch_that_failed_is_not_sent_again(scene: Scene) -> None:
    await scene.provider.say(BUSY)
    path = await scene.submit(await scene.base(), content="Refunds.")
    await scene.provider.has_come(within_s=10)
    await scene.put(f"{path}/acl", SECRET)
    assert await scene.settled(path) == ("failed", "classification_exceeded")
    assert len(await scene.provider.requests()) == 1


@pytest.mark.parametrize("is_replaced", [False, True])
async def test_the_level_that_the_base_lends_or_will_lend_counts_too(
    stack: Stack, company: Company, is_replaced: bool
) -> None:
    """The model may see what is confidential, but keeps for a month what it sees."""
    scene = await scene_of(stack, company, retention="days:30")
    await scene.patch("/v1/settings", {"retention_required_from": "confidential"})
    base = await scene.base()
    if is_replaced:
        path = await scene.submit(base, content="Refunds.", classification="internal")
        assert await scene.settled(path) == ("ready", None)
        await scene.provider.forget()
    await scene.provider.say(Step(is_held=True))
    if is_replaced:
        await scene.put(path, {"content": LONG, "classification": None})
    else:
        path = await scene.submit(base)
    await scene.provider.has_come(within_s=10)
    await scene.patch(f"/v1/knowledge-bases/{base}", {"classification": "confidential"})
    await scene.provider.go_on()
    assert await scene.settled(path) == ("failed", "retention_refused")
    assert len(await scene.provider.requests()) == 1
    assert (await scene.calls())[-2:] == [("internal", "allow"), ("confidential", "deny")]


@pytest.mark.parametrize("raised", ["document", "part", "base"])
async def test_a_reindex_sends_no_more_of_it(scene: Scene, raised: str) -> None:
    base = await scene.base(embedding_model="local-hash-256")
    path = await scene.submit(base)
    assert await scene.settled(path) == ("ready", None)
    await scene.provider.say(Step(is_held=True))
    job = await reindex(scene.company, base, embedding_model=scene.model)
    await scene.provider.has_come(within_s=10)
    match raised:
        case "base":
            await scene.patch(f"/v1/knowledge-bases/{base}", SECRET)
        case _:
            await scene.put(f"{path}/acl", SECRET if raised == "document" else PARTLY)
    await scene.provider.go_on()
    failed = await ended(scene.company.admin, base, job)
    assert (failed["status"], failed["error"]["code"]) == ("failed", "classification_exceeded")
    assert len(await scene.provider.requests()) == 1
    assert await scene.calls() == [("internal", "allow"), ("secret", "deny")]
