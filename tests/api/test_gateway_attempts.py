"""A provider that asks for patience, and what may happen before it is asked again."""

import asyncio

import pytest

from tests.provider.steps import Step
from tests.stack import Company, Json, Stack

CHAT = "/v1/gateway/chat/completions"
SAID = {"messages": [{"role": "user", "content": "Where is my parcel?"}]}
CALLS: dict[str, tuple[str, str, Json]] = {
    "embeddings": ("embeddings", "/v1/gateway/embeddings", {"input": "a parcel"}),
    "rerank": ("rerank", "/v1/gateway/rerank", {"query": "parcel", "documents": ["a letter"]}),
    "chat": ("chat", CHAT, SAID),
    "stream": ("chat", CHAT, {**SAID, "stream": True}),
}


@pytest.mark.parametrize("call", CALLS)
async def test_a_switch_that_is_flipped_between_two_attempts_stops_the_second(
    stack: Stack, company: Company, call: str
) -> None:
    capability, path, asked = CALLS[call]
    provider = await stack.provider()
    await provider.forget()
    sizes = {"dimensions": [8]} if capability == "embeddings" else {}
    model = await company.model(await company.answering(), capability=capability, **sizes)
    await provider.say(Step(status=503, headers={"retry-after": "1"}))
    async with asyncio.TaskGroup() as group:
        answering = group.create_task(company.admin.post(path, json={"model": model, **asked}))
        await provider.has_come(within_s=5)
        stop = {"engaged": True, "reason": "an incident"}
        flipped = await company.admin.put(f"/v1/models/{model}/kill-switch", json=stop)
    assert [call["model"] for call in flipped.json()["in_flight"]] == [model]
    answer = answering.result()
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "kill_switch_engaged")
    assert len(await provider.requests()) == 1
    (result,) = (await company.admin.got("/v1/audit/events", action="model.result"))["data"]
    assert (result["facts"]["code"], result["facts"]["tokens"]) == ("kill_switch_engaged", 0)
