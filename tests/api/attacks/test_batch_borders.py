"""What must not leave does not leave in two pieces either, one in each of two batches."""

from tests.stack import Company, Stack

BATCH = 64
"""Texts in one call, unless an installation says otherwise."""


async def test_what_the_border_of_two_batches_cuts_is_redacted_in_both(
    stack: Stack, company: Company
) -> None:
    provider = await stack.provider()
    await provider.forget()
    model = await company.model(await company.answering(), capability="embeddings", dimensions=[8])
    answer = await company.admin.patch("/v1/settings", json={"dlp": {"email": "redact"}})
    assert answer.status_code == 200, answer.text
    texts = [*(f"line {number}" for number in range(BATCH - 1)), "write to jane.doe", "@example.org today"]

    made = await company.admin.post("/v1/gateway/embeddings", json={"model": model, "input": texts})

    assert made.status_code == 200, made.text
    assert made.json()["warnings"] == ["dlp_redacted"]
    sent = [request.json["input"] for request in await provider.requests()]
    assert [len(batch) for batch in sent] == [BATCH, 1]
    assert (sent[0][-1], sent[1][0]) == ("write to [email]", "[email] today")
