"""Scans for clients, and what becomes of model answers."""

from typing import Any

import pytest

from tests.api.test_gateway_streams import events_of
from tests.api.test_review_routes import code_of
from tests.provider.process import ProviderProcess
from tests.provider.steps import Step
from tests.stack import Company, Json, Stack

SCAN, CHAT = "/v1/dlp/scan", "/v1/gateway/chat/completions"
CARD = "4111 1111 1111 1111"
KEY = "ghp_" + "a1B2" * 9


@pytest.fixture
async def provider(stack: Stack) -> ProviderProcess:
    running = await stack.provider()
    await running.forget()
    return running


@pytest.fixture
async def model(company: Company) -> str:
    return await company.model(await company.answering(), capability="chat")


async def rules(company: Company, **actions: str | None) -> None:
    answer = await company.admin.patch("/v1/settings", json={"dlp": actions})
    assert answer.status_code == 200, answer.text


def chat(model: str, **more: Any) -> Json:
    return {"model": model, "messages": [{"role": "user", "content": "Where is my parcel?"}], **more}


async def test_a_scan_says_what_would_follow(company: Company) -> None:
    await rules(company, email="redact")
    texts = ["Paid with 4111 1111", "1111 1111 by jean@exemple.fr,", "nothing"]
    found = await company.admin.made(SCAN, {"texts": texts}, status=200)
    assert found == {
        "findings": [
            {"entity": "payment_card", "text": 0, "start": 10, "end": 19, "action": "raise"},
            {"entity": "payment_card", "text": 1, "start": 0, "end": 9, "action": "raise"},
            {"entity": "email", "text": 1, "start": 13, "end": 28, "action": "redact"},
        ],
        "action": "redact",
        "classification": "confidential",
        "texts": ["Paid with 4111 1111", "1111 1111 by [email],", "nothing"],
    }
    (event,) = (await company.admin.got("/v1/audit/events", action="dlp.scan"))["data"]
    assert event["facts"] == {"texts": 3, "entities": {"payment_card": 2, "email": 1}}
    assert CARD not in str(event)


async def test_a_scan_needs_the_scope_of_model_calls(company: Company) -> None:
    person = await company.person("member")
    refused = await person.api.post(SCAN, json={"texts": ["x"]})
    assert code_of(refused) == (403, "scope_missing")


@pytest.mark.parametrize("body", [{}, {"texts": []}, {"texts": ["x" * 1_000_001]}, {"texts": "x"}])
async def test_a_scan_of_nothing_or_too_much_is_refused(company: Company, body: Json) -> None:
    assert (await company.admin.post(SCAN, json=body)).status_code == 422


async def test_an_answer_is_told_without_what_may_not_be(
    company: Company, provider: ProviderProcess, model: str
) -> None:
    await rules(company, payment_card="redact")
    await provider.say(Step(change={"said": ["Your", "card", CARD, "was", "charged."]}))
    answer = await company.admin.made(CHAT, chat(model), status=200)
    assert answer["choices"][0]["message"]["content"] == "Your card [payment_card] was charged."
    assert answer["warnings"] == ["dlp_answer_redacted"]
    (result,) = (await company.admin.got("/v1/audit/events", action="model.result"))["data"]
    assert result["facts"]["answer_entities"] == ["payment_card"]


async def test_an_answer_with_a_key_is_refused_and_charged(
    company: Company, provider: ProviderProcess, model: str
) -> None:
    await provider.say(Step(change={"said": ["The", "key", "is", KEY]}))
    refused = await company.admin.post(CHAT, json=chat(model))
    assert code_of(refused) == (403, "dlp_blocked")
    assert KEY not in refused.text
    (result,) = (await company.admin.got("/v1/audit/events", action="model.result"))["data"]
    assert (result["facts"]["code"], result["facts"]["answer_entities"]) == ("dlp_blocked", ["api_key"])
    assert result["facts"]["tokens"] > 0


async def test_an_answer_above_the_clearance_of_who_asks_is_refused(
    company: Company, provider: ProviderProcess, model: str
) -> None:
    person = await company.person("developer", clearance="internal")
    for _ in range(2):
        await provider.say(Step(change={"said": ["Card", CARD]}))
    assert code_of(await person.api.post(CHAT, json=chat(model))) == (403, "clearance_exceeded")
    assert (await company.admin.post(CHAT, json=chat(model))).status_code == 200


async def test_a_streamed_answer_is_told_without_what_may_not_be(
    company: Company, provider: ProviderProcess, model: str
) -> None:
    await rules(company, payment_card="redact")
    await provider.say(
        Step(change={"said": ["Your", "card", "4111", "1111", "1111", "1111", "is", "valid."]})
    )
    answer = await company.admin.post(CHAT, json=chat(model, stream=True))
    pieces = [data for name, data in events_of(answer.text) if data != "[DONE]" and data["choices"]]
    said = "".join(piece["choices"][0]["delta"].get("content", "") for piece in pieces)
    assert said == "Your card [payment_card] is valid."
    assert [piece["warnings"] for piece in pieces if "warnings" in piece] == [["dlp_answer_redacted"]]


async def test_a_stream_ends_before_a_key_is_told(
    company: Company, provider: ProviderProcess, model: str
) -> None:
    await provider.say(Step(change={"said": ["Today", "the", "key", "is", KEY, "indeed", "it", "is"]}))
    answer = await company.admin.post(CHAT, json=chat(model, stream=True))
    name, last = events_of(answer.text)[-1]
    assert (name, last["error"]["code"]) == ("error", "dlp_blocked")
    assert "ghp_" not in answer.text
