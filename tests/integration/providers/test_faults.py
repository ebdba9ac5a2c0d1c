"""A provider that misbehaves in every way of the fault list, asked through the gateway's own attempts."""

import json
import time
from collections.abc import Awaitable, Callable
from email.utils import formatdate

import pytest

from eai.gateway.answers import (
    believed,
    believed_completion,
    check_completion,
    check_ranking,
    embedding_matrix,
)
from eai.gateway.attempts import Attempts
from eai.gateway.calls import Usage
from eai.gateway.errors import (
    EgressDenied,
    EmbeddingDimensionMismatch,
    ModelSubstituted,
    ProviderRefused,
    ProviderResponseInvalid,
    ProviderUnavailable,
)
from eai.gateway.failures import was_sent
from eai.gateway.ports import ChatMessage, EmbeddingRole
from eai.gateway.registry import Capability
from eai.integrations.openai_compatible import OpenAiCompatible
from eai.kernel.errors import EaiError
from eai.platform.outbound import Outbound
from tests.integration.providers.conftest import Pauses, nothing, target_of
from tests.provider.process import ProviderProcess
from tests.provider.steps import Step

TEXTS = ["the sea is blue", "a green tree", "blue"]
MESSAGES = [ChatMessage("user", "hello")]
FOREIGN_ID = "embd-eai-" + "0" * 32

Call = Callable[..., Awaitable[object]]
"""A call through the whole way; it may be given attempts of its own."""


@pytest.fixture
def calls(provider: ProviderProcess, openai: OpenAiCompatible, attempts: Attempts) -> dict[str, Call]:
    embeddings = target_of(provider.url)
    rerankers = target_of(provider.url, Capability.RERANK)
    chats = target_of(provider.url, Capability.CHAT)
    usual = attempts

    async def embed(attempts: Attempts = usual) -> object:
        answer = await attempts.run(
            "testing", lambda s: openai.embed(embeddings(s), TEXTS, EmbeddingRole.DOCUMENT, None), nothing
        )
        vectors = embedding_matrix(embeddings(0).model, 3, 8, answer)
        return vectors.shape, believed(answer.tokens, TEXTS)

    async def rerank(attempts: Attempts = usual) -> object:
        answer = await attempts.run(
            "testing", lambda s: openai.rerank(rerankers(s), "blue sea", TEXTS), nothing
        )
        return check_ranking(rerankers(0).model, TEXTS, answer), believed(answer.tokens, TEXTS)

    async def chat(attempts: Attempts = usual) -> object:
        answer = await attempts.run(
            "testing", lambda s: openai.chat(chats(s), MESSAGES, {"max_tokens": 2}), nothing
        )
        return check_completion(chats(0).model, believed_completion(answer, ["hello"], 2))

    async def stream(attempts: Attempts = usual) -> object:
        pieces = attempts.stream(
            "testing", lambda s: openai.stream_chat(chats(s), MESSAGES, {"max_tokens": 2}), nothing
        )
        return "".join([piece.content async for piece in pieces])

    return {"embed": embed, "rerank": rerank, "chat": chat, "stream": stream}


@pytest.fixture
def embed(calls: dict[str, Call]) -> Call:
    return calls["embed"]


@pytest.fixture
def rerank(calls: dict[str, Call]) -> Call:
    return calls["rerank"]


async def error_of(call: Call, kind: type[BaseException]) -> BaseException:
    with pytest.raises(kind) as caught:
        await call()
    return caught.value


WELL: dict[str, object] = {
    "embed": ((3, 8), 14),
    "rerank": (((0, 1.0), (2, 0.5), (1, 0.0)), 14),
    "chat": ("word0 word1", "stop", Usage(5, 2)),
    "stream": "word0 word1",
}
EVERY_CALL = pytest.mark.parametrize("kind", list(WELL))


@EVERY_CALL
@pytest.mark.parametrize(
    "step",
    [
        Step(status=429), Step(status=502), Step(status=503), Step(status=504), Step(fault="reset"),
        Step(fault="close"), Step(fault="half"), Step(fault="garbage"), Step(fault="long_headers"),
    ],
    ids=lambda step: str(step.status or step.fault),
)  # fmt: skip
async def test_a_passing_fault_is_tried_again_three_times_at_most(
    calls: dict[str, Call], provider: ProviderProcess, kind: str, step: Step
) -> None:
    call = calls[kind]
    if kind == "stream" and step.fault == "half":
        step = Step(fault="close")
    await provider.say(step, step, step)
    assert await call() == WELL[kind]
    assert len(await provider.requests()) == 4
    await provider.forget()
    await provider.usually(step)
    error = await error_of(call, ProviderUnavailable)
    assert len(await provider.requests()) <= 4
    assert was_sent(error) is (step.status not in {429, 503})


@EVERY_CALL
@pytest.mark.parametrize("status", [301, 302, 307, 400, 401, 403, 404, 500])
async def test_a_lasting_fault_is_not_tried_again(
    calls: dict[str, Call], provider: ProviderProcess, kind: str, status: int
) -> None:
    await calls[kind]()  # from here on, a refusal is not for the form in which vectors are asked for
    await provider.forget()
    step = Step(status=status, headers={"location": f"http://127.0.0.1:{provider.port}/v1/embeddings"})
    await provider.usually(step)
    kind_of_error = ProviderRefused if status in {400, 404} else ProviderUnavailable
    error = await error_of(calls[kind], kind_of_error)
    assert isinstance(error, EaiError)
    assert error.details == {"provider": "testing", "status": status}
    assert len(await provider.requests()) == 1


@pytest.mark.parametrize(
    ("wish", "least", "most"),
    [("2", 2, 3), ("-30", 0, 1), ("1000", 30, 31), ("soon", 0, 1), (None, 0, 1)],
)
async def test_a_wish_to_wait_is_honoured_and_capped(
    provider: ProviderProcess, embed: Call, wish: str | None, least: float, most: float
) -> None:
    pauses = Pauses()
    await provider.say(Step(status=429, headers={} if wish is None else {"retry-after": wish}))
    await embed(Attempts(deadline_s=100, sleep=pauses))
    assert least <= pauses.slept[0] <= most


async def test_a_wish_may_be_a_date(provider: ProviderProcess, embed: Call, pauses: Pauses) -> None:
    date = formatdate(time.time() + 10, usegmt=True)
    await provider.say(Step(status=503, headers={"Retry-After": date}))
    await embed()
    assert 8 <= pauses.slept[0] <= 11


@EVERY_CALL
@pytest.mark.parametrize("step", [Step(fault="hang"), Step(fault="drip"), Step(wait_s=600)])
async def test_a_provider_that_hangs_is_given_up_at_the_deadline(
    calls: dict[str, Call], provider: ProviderProcess, kind: str, step: Step
) -> None:
    await provider.usually(step)
    call = calls[kind]
    begun = time.monotonic()
    with pytest.raises(ProviderUnavailable) as caught:
        await call(Attempts(deadline_s=0.3, stream_deadline_s=0.3))
    assert time.monotonic() - begun < 2
    assert was_sent(caught.value)
    assert len(await provider.requests()) == 1


HTML = "<!doctype html><title>502 Bad Gateway</title>"


@EVERY_CALL
@pytest.mark.parametrize(
    "step",
    [
        Step(status=200, body=HTML, headers={"content-type": "text/html"}),
        Step(status=200, body='{"error": {"message": "overloaded", "code": 500}}'),
        Step(status=200, body=""), Step(status=200, body="null"), Step(status=200, body="[]"),
        Step(status=200, body="{}"), Step(status=200, body='{"data": {}, "results": 1, "choices": "no"}'),
        Step(status=200, body='data: {"error": "no"}\n\n'), Step(status=200, body="data: <html>\n\n"),
        Step(status=200, body='data: {"choices": [{"delta": 7}]}\n\n'), Step(status=200, body="[" * 100_000),
        Step(status=200, body="{}", headers={"content-encoding": "gzip"}),
        Step(status=204, body=""), Step(fault="endless"), Step(change={"id": FOREIGN_ID}),
        Step(headers={"x-litellm-call-id": FOREIGN_ID}, status=200, body="{}"),
    ],
)  # fmt: skip
async def test_an_answer_that_is_none_is_not_tried_again(
    calls: dict[str, Call], provider: ProviderProcess, kind: str, step: Step
) -> None:
    await provider.usually(step)
    error = await error_of(calls[kind], ProviderResponseInvalid)
    assert isinstance(error, ProviderResponseInvalid)
    assert error.details == {"model": "registered"}
    assert was_sent(error)
    assert len(await provider.requests()) == 1


async def test_a_name_of_the_providers_own_is_no_foreign_one(provider: ProviderProcess, embed: Call) -> None:
    await provider.usually(Step(change={"id": "chatcmpl-9f8e7d"}))
    assert await embed() == WELL["embed"]


async def test_an_answer_may_give_back_the_name_it_was_given(
    provider: ProviderProcess, openai: OpenAiCompatible
) -> None:
    target = target_of(provider.url)(5)
    await openai.embed(target, TEXTS, EmbeddingRole.QUERY, None)
    earlier = (await provider.requests())[0].headers["x-request-id"]
    await provider.usually(Step(change={"id": f"embd-{earlier}"}))
    with pytest.raises(ProviderResponseInvalid):
        await openai.embed(target, TEXTS, EmbeddingRole.QUERY, None)


@pytest.mark.parametrize(
    "change",
    [
        {"first": "nan"}, {"first": "inf"}, {"first": 1e39}, {"is_zero": True}, {"short": 1}, {"short": 3},
        {"repeats": True}, {"model": None}, {"model": 7},
    ],
)  # fmt: skip
async def test_vectors_that_are_none_are_refused(
    provider: ProviderProcess, embed: Call, change: dict[str, object]
) -> None:
    await provider.usually(Step(change=change))
    await error_of(embed, ProviderResponseInvalid)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("dimensions", [7, 9, 1, 4096])
async def test_vectors_of_another_size_are_refused_by_that_name(
    provider: ProviderProcess, embed: Call, dimensions: int, *, packed: bool
) -> None:
    await provider.usually(Step(change={"dimensions": dimensions, "packed": packed}))
    error = await error_of(embed, EmbeddingDimensionMismatch)
    assert isinstance(error, EmbeddingDimensionMismatch)
    assert error.details == {"model": "registered", "expected": 8, "received": dimensions}


@pytest.mark.parametrize("kind", ["embed", "rerank", "chat"])
async def test_another_model_is_refused(calls: dict[str, Call], provider: ProviderProcess, kind: str) -> None:
    await provider.usually(Step(change={"model": "bge-m3-other"}))
    await error_of(calls[kind], ModelSubstituted)


async def test_a_shuffled_answer_is_put_in_order(provider: ProviderProcess, openai: OpenAiCompatible) -> None:
    target = target_of(provider.url)(5)
    found = []
    for change in ({}, {"is_permuted": True}):
        await provider.say(Step(change=change))
        answer = await openai.embed(target, TEXTS, EmbeddingRole.DOCUMENT, None)
        found.append(embedding_matrix(target.model, 3, 8, answer).tolist())
    assert found[0] == found[1]


@pytest.mark.parametrize("tokens", [-5, 10**15, None, "many", 1.5, 0, True])
async def test_a_count_that_cannot_be_one_is_none(
    calls: dict[str, Call], provider: ProviderProcess, tokens: object
) -> None:
    await provider.usually(Step(change={"tokens": tokens, "written": tokens}))
    assert await calls["embed"]() == ((3, 8), None)
    assert (await calls["rerank"]())[1] is None
    assert (await calls["chat"]())[2] is None


async def test_what_a_reranker_was_not_sent_is_dropped_and_fewer_are_taken(
    provider: ProviderProcess, rerank: Call
) -> None:
    await provider.say(
        Step(change={"beyond": 99}), Step(change={"short": 2}), Step(change={"beyond": "id-7"})
    )
    assert await rerank() == WELL["rerank"]
    assert await rerank() == (((0, 1.0),), 14)
    assert await rerank() == WELL["rerank"]
    await provider.say(Step(change={"short": 3, "beyond": 99}), Step(change={"first": "nan"}))
    await error_of(rerank, ProviderResponseInvalid)
    await error_of(rerank, ProviderResponseInvalid)


async def test_a_host_that_may_not_be_reached_is_no_failure_of_the_provider(
    provider: ProviderProcess, attempts: Attempts
) -> None:
    outbound = Outbound()
    openai = OpenAiCompatible(outbound)
    target = target_of(provider.url)
    with pytest.raises(EgressDenied) as caught:
        await attempts.run(
            "testing", lambda left_s: openai.embed(target(left_s), TEXTS, EmbeddingRole.QUERY, None), nothing
        )
    assert not was_sent(caught.value)
    assert json.dumps(caught.value.details) == '{"provider": "testing"}'
    assert await provider.received() == (0, 0)
    await outbound.close()


async def test_nobody_listening_was_sent_nothing(openai: OpenAiCompatible, attempts: Attempts) -> None:
    target = target_of("http://127.0.0.1:9/v1")
    with pytest.raises(ProviderUnavailable) as caught:
        await attempts.run(
            "testing", lambda left_s: openai.embed(target(left_s), TEXTS, EmbeddingRole.QUERY, None), nothing
        )
    assert not was_sent(caught.value)
