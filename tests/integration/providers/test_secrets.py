"""Neither a key nor a text is found in any error, log or description, whatever a provider does with them."""

import base64
import json
import logging
import traceback
from collections.abc import Awaitable, Callable
from urllib.parse import quote

import pytest

from eai.gateway.answers import check_completion, check_ranking, embedding_matrix
from eai.gateway.attempts import Attempts
from eai.gateway.ports import ChatMessage, EmbeddingRole
from eai.gateway.registry import Capability
from eai.integrations.openai_compatible import OpenAiCompatible
from eai.platform.logging import ExceptionText
from tests.integration.providers.conftest import nothing, target_of
from tests.provider.process import ProviderProcess
from tests.provider.steps import Step

KEY = 'sk-canary/"key"+<é>'.encode("ascii", "ignore").decode() + "&%=7f3a"
TEXT = 'canary text: "Zoë" owes 5 €\n<b>'


def forms(secret: str) -> set[str]:
    """A secret in every dress that it might be met in."""
    raw = secret.encode()
    return {
        secret, repr(secret)[1:-1], json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1],
        quote(secret), quote(secret, safe=""), base64.b64encode(raw).decode().rstrip("="),
        base64.urlsafe_b64encode(raw).decode().rstrip("="), raw.hex(),
    }  # fmt: skip


CANARIES = forms(KEY) | forms(TEXT) | {"canary"}
ECHO = json.dumps({"key": KEY, "text": TEXT, "canary": True})

STEPS = [
    Step(status=401, body=ECHO), Step(status=400, body=ECHO), Step(status=500, body=ECHO),
    Step(status=429, body=ECHO, headers={"retry-after": KEY}), Step(status=503, body=ECHO),
    Step(status=200, body=f"<html>{KEY} {TEXT}"), Step(status=200, body=json.dumps({"error": ECHO})),
    Step(status=200, body=f"data: {ECHO}\n\n"), Step(status=200, body=f"data: {KEY} {TEXT!r}\n\n"),
    Step(status=200, body=ECHO, headers={"x-request-id": f"eai-{'0' * 32} {KEY}"}),
    Step(status=200, body=ECHO, headers={"content-encoding": KEY}),
    Step(status=302, body=ECHO, headers={"location": f"http://{quote(KEY, safe='')}/"}),
    Step(change={"model": KEY}), Step(change={"model": TEXT}), Step(change={"id": f"eai-{'1' * 32}{KEY}"}),
    Step(change={"tokens": KEY, "model": "canary"}), Step(change={"dimensions": 3, "model": "x"}),
    Step(fault="reset"), Step(fault="close"), Step(fault="half"), Step(fault="garbage"), Step(fault="hang"),
    Step(fault="endless"), Step(fault="long_headers"),
]  # fmt: skip


def tellings(error: BaseException) -> list[str]:
    """All that this error could ever say."""
    told = ["".join(traceback.format_exception(error)), ExceptionText(show_messages=True).text(error)]
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        link = waiting.pop()
        if link is None or id(link) in seen:
            continue
        seen.add(id(link))
        told += [str(link), repr(link), repr(link.args), repr(vars(link))]
        waiting += [link.__cause__, link.__context__]
    return told


@pytest.mark.parametrize("step", STEPS, ids=[str(number) for number in range(len(STEPS))])
@pytest.mark.parametrize("kind", ["embed", "rerank", "chat", "stream"])
async def test_nothing_tells_a_key_or_a_text(
    provider: ProviderProcess,
    openai: OpenAiCompatible,
    caplog: pytest.LogCaptureFixture,
    kind: str,
    step: Step,
) -> None:
    caplog.set_level(logging.DEBUG)
    # It prints a server's headers when it is debugged, which the product never lets it do.
    caplog.set_level(logging.WARNING, logger="httpcore2")
    await provider.usually(step)

    async def no_pause(seconds: float) -> None:
        del seconds

    attempts = Attempts(deadline_s=1.0, stream_deadline_s=1.0, sleep=no_pause)
    messages = [ChatMessage("user", TEXT)]

    async def embed() -> None:
        target = target_of(provider.url, key=KEY)
        answer = await attempts.run(
            "testing", lambda s: openai.embed(target(s), [TEXT], EmbeddingRole.QUERY, None), nothing
        )
        embedding_matrix(target(0).model, 1, 8, answer)

    async def rerank() -> None:
        target = target_of(provider.url, Capability.RERANK, key=KEY)
        answer = await attempts.run("testing", lambda s: openai.rerank(target(s), TEXT, [TEXT]), nothing)
        check_ranking(target(0).model, [TEXT], answer)

    async def chat() -> None:
        target = target_of(provider.url, Capability.CHAT, key=KEY)
        answer = await attempts.run(
            "testing", lambda s: openai.chat(target(s), messages, {"max_tokens": 2}), nothing
        )
        check_completion(target(0).model, answer)

    async def stream() -> None:
        target = target_of(provider.url, Capability.CHAT, key=KEY)
        async for _ in attempts.stream(
            "testing", lambda s: openai.stream_chat(target(s), messages, {"max_tokens": 2}), nothing
        ):
            pass

    calls: dict[str, Callable[[], Awaitable[None]]] = {
        "embed": embed, "rerank": rerank, "chat": chat, "stream": stream,
    }  # fmt: skip
    try:
        await calls[kind]()
    except Exception as error:  # noqa: BLE001, whatever it is, it must not tell
        for told in tellings(error):
            # The lines of source that a traceback shows are this test's own.
            shown = "\n".join(line for line in told.split("\n") if not line.startswith(("    ", "  File")))
            assert [canary for canary in CANARIES if canary in shown] == []
    assert [canary for canary in CANARIES if canary in caplog.text] == []


def test_a_target_does_not_show_its_key() -> None:
    target = target_of("https://models.example/v1", key=KEY)(5)
    for shown in (repr(target), str(target), f"{target}"):
        assert [canary for canary in CANARIES if canary in shown] == []
