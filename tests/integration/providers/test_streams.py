"""Streamed answers: left early, cut short, and made of what a stream may also hold."""

import asyncio
from contextlib import aclosing, suppress

import pytest

from eai.gateway.attempts import Attempts
from eai.gateway.errors import ProviderResponseInvalid, ProviderUnavailable
from eai.gateway.failures import was_sent
from eai.gateway.ports import ChatMessage
from eai.gateway.registry import Capability
from eai.integrations.openai_compatible import OpenAiCompatible
from eai.platform.outbound import Outbound
from tests.integration.providers.conftest import nothing, target_of
from tests.provider.process import ProviderProcess
from tests.provider.steps import Step

MESSAGES = [ChatMessage("user", "hello")]


async def test_leaving_a_stream_ends_the_providers_work_within_a_second(
    provider: ProviderProcess, openai: OpenAiCompatible, attempts: Attempts
) -> None:
    await provider.say(Step(pace_s=0.05, change={"words": 100}))
    target = target_of(provider.url, Capability.CHAT)
    pieces = attempts.stream(
        "testing", lambda s: openai.stream_chat(target(s), MESSAGES, {"max_tokens": 100}), nothing
    )
    async with aclosing(pieces):
        assert (await anext(pieces)).content == "word0"
    ended, sent = await provider.ending(within_s=1)
    assert ended == "client_left"
    assert sent < 5


async def test_a_caller_who_is_cancelled_ends_the_providers_work_too(
    provider: ProviderProcess, openai: OpenAiCompatible, attempts: Attempts
) -> None:
    await provider.say(Step(pace_s=0.05, change={"words": 100}))
    target = target_of(provider.url, Capability.CHAT)
    has_begun = asyncio.Event()

    async def reading() -> None:
        pieces = attempts.stream(
            "testing", lambda s: openai.stream_chat(target(s), MESSAGES, {"max_tokens": 100}), nothing
        )
        async with aclosing(pieces):
            async for _ in pieces:
                has_begun.set()

    task = asyncio.ensure_future(reading())
    await has_begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError) as caught:
        await task
    assert was_sent(caught.value)
    assert (await provider.ending(within_s=1))[0] == "client_left"


async def test_a_call_that_is_cancelled_before_its_answer_closes_the_connection(
    provider: ProviderProcess, openai: OpenAiCompatible
) -> None:
    await provider.say(Step(fault="hang"))
    target = target_of(provider.url, Capability.CHAT)(60)
    task = asyncio.ensure_future(openai.chat(target, MESSAGES, {"max_tokens": 5}))
    await provider.has_come(within_s=5)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await provider.ending(within_s=1))[0] == "client_left"


async def test_a_stream_that_ends_without_a_reason_says_so(
    provider: ProviderProcess, openai: OpenAiCompatible
) -> None:
    await provider.say(Step(change={"cut": True}))
    target = target_of(provider.url, Capability.CHAT)(5)
    pieces = [piece async for piece in openai.stream_chat(target, MESSAGES, {"max_tokens": 2})]
    assert [piece.content for piece in pieces] == ["word0", " word1"]
    assert {piece.finish_reason for piece in pieces} == {None}


EVENT = 'data: {"model": "bge-m3", "choices": [{"delta": {"content": "a"}}]}'


@pytest.mark.parametrize(
    "body",
    [
        f"{EVENT}\n\ndata: [DONE]\n\n",
        f": comment\n\nevent: message\nid: 1\nretry: 5\n{EVENT}\n\n: ping\n\ndata: [DONE]\n\n",
        f"{EVENT}\r\n\r\ndata:[DONE]\r\n\r\n",
        f"{EVENT}\n\n",
        EVENT,
        'data: {"model": "bge-m3",\ndata: "choices": [{"delta": {"content": "a"}}]}\n\n',
    ],
)
async def test_events_are_read_in_every_form_that_the_standard_allows(
    provider: ProviderProcess, openai: OpenAiCompatible, body: str
) -> None:
    await provider.say(Step(status=200, body=body, headers={"content-type": "text/event-stream"}))
    target = target_of(provider.url, Capability.CHAT)(5)
    pieces = [piece async for piece in openai.stream_chat(target, MESSAGES, {"max_tokens": 2})]
    assert [piece.content for piece in pieces] == ["a"]


@pytest.mark.parametrize(
    ("body", "headers", "kind"),
    [
        (f"{EVENT}\n\ndata: {{\n\n", {}, ProviderResponseInvalid),
        (f'{EVENT}\n\ndata: {{"error": {{"message": "no"}}}}\n\n', {}, ProviderResponseInvalid),
        (f"{EVENT}\n\n", {"content-length": "5000"}, ProviderUnavailable),
    ],
)
async def test_a_stream_that_breaks_is_not_begun_again(
    provider: ProviderProcess,
    openai: OpenAiCompatible,
    body: str,
    headers: dict[str, str],
    kind: type[Exception],
) -> None:
    attempts = Attempts(stream_deadline_s=0.5)
    await provider.usually(Step(status=200, body=body, headers=headers))
    target = target_of(provider.url, Capability.CHAT)
    pieces = attempts.stream(
        "testing", lambda s: openai.stream_chat(target(s), MESSAGES, {"max_tokens": 2}), nothing
    )
    assert (await anext(pieces)).content == "a"
    with pytest.raises(kind) as caught:
        await anext(pieces)
    assert was_sent(caught.value)
    assert len(await provider.requests()) == 1


async def test_calls_that_are_given_up_leave_nothing_behind(
    provider: ProviderProcess, openai: OpenAiCompatible, outbound: Outbound
) -> None:
    target = target_of(provider.url, Capability.CHAT)(30)
    await provider.usually(Step(wait_s=0.02))

    async def given_up(after_s: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(after_s):
                await openai.chat(target, MESSAGES, {"max_tokens": 2})

    for _ in range(3):
        await asyncio.gather(*[given_up(0.001 * number) for number in range(40)])
    assert all(connection.is_idle() for connection in outbound._plain.connections)
    await provider.usually(Step())
    assert (await openai.chat(target, MESSAGES, {"max_tokens": 2})).content == "word0 word1"
