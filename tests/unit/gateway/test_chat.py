"""What a stream makes of its pieces."""

import time
from collections.abc import AsyncIterator
from uuid import UUID

from eai.access.classification import Classification
from eai.audit.entries import SYSTEM
from eai.dlp.scanner import PatternScanner
from eai.gateway.answer_screen import AnswerScreen
from eai.gateway.calls import Caller, ChatCall, Operation, Usage
from eai.gateway.chat import ChatStream
from eai.gateway.controls import Intent
from eai.gateway.facts import Facts
from eai.gateway.ledger import Open
from eai.gateway.ports import ChatMessage, ProviderDelta
from eai.gateway.registry import Capability, Model, Retention
from eai.kernel.ids import TenantId

MODEL = Model(
    name="chatty",
    capability=Capability.CHAT,
    provider="vllm",
    provider_model="chatty",
    classification_ceiling=Classification.SECRET,
    region="eu",
    retention=Retention(0),
)


def entry_of(text: str) -> Open:
    call = ChatCall(
        caller=Caller(TenantId(UUID(int=1)), SYSTEM),
        model=MODEL.name,
        operation=Operation.CLIENT,
        level=Classification.INTERNAL,
        messages=[ChatMessage("user", text)],
        max_tokens=10_000,
    )
    return Open(Intent.of(call, Facts(MODEL)), call, None, Usage(len(text), 10_000))


SCREEN = AnswerScreen(PatternScanner(), {}, Classification.SECRET)


async def counted_pieces(count: int) -> AsyncIterator[ProviderDelta]:
    """As servers write them that count with every piece."""
    for number in range(count):
        yield ProviderDelta("", read_tokens=100, written_tokens=number)
    yield ProviderDelta("x", finish_reason="stop", read_tokens=100, written_tokens=count)


async def test_counting_with_every_piece_does_not_measure_again_what_was_sent() -> None:
    entry = entry_of("é" * 1_000_000)
    stream = ChatStream(entry, counted_pieces(5_000), SCREEN)
    started = time.process_time()
    assert [words async for words in stream] == ["x"]
    assert time.process_time() - started < 2
    assert entry.measured == stream.usage == Usage(100, 5_000)
