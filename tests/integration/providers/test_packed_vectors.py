"""Vectors are asked for as packed floats, of whoever does not refuse it."""

from collections.abc import Awaitable, Callable, Sequence

import pytest

from eai.gateway.attempts import Attempts
from eai.gateway.errors import ProviderRefused, ProviderResponseInvalid
from eai.gateway.ports import EmbeddingRole, ProviderEmbeddings
from eai.integrations.openai_compatible import OpenAiCompatible
from tests.integration.providers.conftest import nothing, target_of
from tests.provider.answering import vector
from tests.provider.process import ProviderProcess
from tests.provider.steps import Step

Embed = Callable[[], Awaitable[ProviderEmbeddings]]
REFUSED = Step(status=400)


@pytest.fixture
def embed(provider: ProviderProcess, openai: OpenAiCompatible, attempts: Attempts) -> Embed:
    """One call of the same model each time, with the attempts that a call has."""
    target = target_of(provider.url)

    async def attempt(left_s: float) -> ProviderEmbeddings:
        return await openai.embed(target(left_s), ["un"], EmbeddingRole.DOCUMENT, None)

    return lambda: attempts.run("testing", attempt, nothing)


async def asked(provider: ProviderProcess) -> Sequence[bool]:
    """Of each request since the last look, whether it asked for packed floats."""
    requests = await provider.requests()
    await provider.forget()
    return ["encoding_format" in request.json for request in requests]


async def test_either_form_of_an_answer_is_read(provider: ProviderProcess, embed: Embed) -> None:
    await provider.say(Step(change={"packed": True}))
    for _ in range(2):
        answer = await embed()
        assert list(answer.items[0][1]) == pytest.approx(vector("un", 8))
    assert await asked(provider) == [True, True]


@pytest.mark.parametrize("status", [400, 422, 501])
async def test_whoever_refuses_it_is_asked_for_numbers_from_then_on(
    provider: ProviderProcess, embed: Embed, status: int
) -> None:
    await provider.say(Step(status=status))
    await embed()
    await embed()
    assert await asked(provider) == [True, False, False]


async def test_a_refusal_of_both_forms_was_for_another_reason(
    provider: ProviderProcess, embed: Embed
) -> None:
    await provider.say(REFUSED, REFUSED)
    with pytest.raises(ProviderRefused):
        await embed()
    await embed()
    assert await asked(provider) == [True, False, True]


async def test_whoever_took_it_once_refuses_something_else(provider: ProviderProcess, embed: Embed) -> None:
    await embed()
    await provider.say(REFUSED)
    with pytest.raises(ProviderRefused):
        await embed()
    assert await asked(provider) == [True, True]


async def test_whoever_takes_it_no_longer_is_asked_for_numbers_after_one_refusal(
    provider: ProviderProcess, embed: Embed
) -> None:
    await embed()
    await provider.say(REFUSED, REFUSED)
    with pytest.raises(ProviderRefused):
        await embed()
    await embed()
    assert await asked(provider) == [True, True, True, False]


async def test_an_answer_that_cannot_be_read_does_not_show_that_it_is_taken(
    provider: ProviderProcess, embed: Embed
) -> None:
    await provider.say(Step(status=200, body='{"data": "nothing"}'), REFUSED)
    with pytest.raises(ProviderResponseInvalid):
        await embed()
    await embed()
    assert await asked(provider) == [True, True, False]
