"""What certainly does not fit into a model's context is refused before a byte leaves, and never cut."""

import httpx2

from tests.stack import Company, Stack

LONG = "word " * 9


def refusal(answer: httpx2.Response) -> tuple[int, str, object]:
    error = answer.json()["error"]
    return answer.status_code, error["code"], error["details"]


async def test_what_does_not_fit_is_refused_and_what_may_is_sent(stack: Stack, company: Company) -> None:
    provider, endpoint = await stack.provider(), await company.answering()
    embedder = await company.model(endpoint, capability="embeddings", dimensions=[8], context_tokens=8)
    ranker = await company.model(endpoint, capability="rerank", context_tokens=8)
    talker = await company.model(endpoint, capability="chat", context_tokens=8)
    await provider.forget()
    said = {"messages": [{"role": "user", "content": "Hello there"}]}
    asked = [
        ("embeddings", embedder, {"input": ["short", LONG]}, 9),
        ("rerank", ranker, {"query": "which one", "documents": ["a b c d e f g"]}, 9),
        ("chat/completions", talker, {**said, "max_tokens": 7}, 9),
        ("chat/completions", talker, {**said, "max_tokens": 7, "stream": True}, 9),
    ]
    for path, model, body, tokens in asked:
        answer = await company.admin.post(f"/v1/gateway/{path}", json={"model": model, **body})
        details = {"model": model, "tokens": tokens, "context_tokens": 8}
        assert refusal(answer) == (422, "context_exceeded", details), path
    assert await provider.received() == (0, 0)
    listed = await company.admin.got("/v1/audit/events", action="model.invoke", limit=200)
    assert [event["facts"]["code"] for event in listed["data"]] == ["context_exceeded"] * 4
    fits = [
        ("embeddings", embedder, {"input": ["w " * 8, "unbroken" * 100]}),
        ("rerank", ranker, {"query": "which one", "documents": ["a b c d e f"]}),
        ("chat/completions", talker, {**said, "max_tokens": 6}),
    ]
    for path, model, body in fits:
        answer = await company.admin.post(f"/v1/gateway/{path}", json={"model": model, **body})
        assert answer.status_code == 200, answer.text


async def test_openais_clients_are_told_the_same(company: Company) -> None:
    model = await company.model(await company.answering(), capability="chat", context_tokens=8)
    body = {"model": model, "messages": [{"role": "user", "content": LONG}], "max_tokens": 1}
    answer = await company.admin.post("/v1/openai/chat/completions", json=body)
    assert (answer.status_code, answer.json()["error"]["code"]) == (422, "context_exceeded")


async def test_the_models_of_the_process_read_what_is_longer_in_parts(company: Company) -> None:
    body = {"model": "local-hash-256", "input": LONG * 1_000}
    assert (await company.admin.post("/v1/gateway/embeddings", json=body)).status_code == 200
