"""Streams over a real connection: what reaches the client, and what becomes of the work when it does not."""

import asyncio
from dataclasses import dataclass, field
from typing import Annotated

import pytest
from fastapi import Depends
from starlette.requests import Request

from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.api.event_stream import EventStream, Write
from eai.api.governed_route import GovernedRouter
from eai.api.problems import problem_body
from eai.api.requirement import require
from eai.api.server import BoundedProtocol
from eai.gateway.wire import event
from eai.kernel.errors import EaiError, Unavailable
from tests.fakes.platform import Plumbing, subject
from tests.serving import served

Invoker = Annotated[Subject, Depends(require(Scope.GATEWAY_INVOKE))]


class Impatient(BoundedProtocol):
    read_within_s = 0.2


@dataclass
class Work:
    """What a stream does, and how it ended."""

    pieces: int = 3
    size: int = 10
    raises_at: int | None = None
    error: Exception = field(default_factory=Unavailable)
    waits_at: int | None = None
    written: int = 0
    begun: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    was_cancelled: bool = False
    has_settled: bool = False

    async def __call__(self, write: Write) -> None:
        self.begun.set()
        try:
            for number in range(self.pieces):
                if number == self.raises_at:
                    raise self.error
                if number == self.waits_at:
                    await asyncio.sleep(60)
                await write(event(b"x" * self.size))
                self.written += self.size
        except asyncio.CancelledError:
            self.was_cancelled = True
            # What is settled takes a moment, and nothing cancels it again.
            await asyncio.sleep(0.01)
            self.has_settled = True
            raise
        finally:
            self.ended.set()


def plumbing(work: Work) -> Plumbing:
    router = GovernedRouter()

    @router.post("/streams")
    async def stream(caller: Invoker, request: Request) -> EventStream:
        """Stream."""

        def tell(error: EaiError) -> bytes:
            return event(problem_body(error, request.scope), "error")

        return EventStream(work, tell)

    return Plumbing(router)


def head(parts: Plumbing) -> bytes:
    key = parts.keys.key_of(subject(Scope.GATEWAY_INVOKE))
    return f"POST /v1/streams HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n\r\n".encode()


async def answered(work: Work) -> tuple[int, str, str]:
    """Status, media type and text of the whole answer."""
    async with plumbing(work).client(subject(Scope.GATEWAY_INVOKE)) as client:
        answer = await client.post("/v1/streams")
    return answer.status_code, answer.headers["content-type"], answer.text


async def test_events_come_as_they_were_written() -> None:
    status, media_type, text = await answered(Work(pieces=2, size=3))
    assert (status, media_type) == (200, "text/event-stream; charset=utf-8")
    assert text == "data: xxx\n\ndata: xxx\n\n"


async def test_a_failure_before_the_first_event_is_an_ordinary_refusal() -> None:
    status, media_type, text = await answered(Work(raises_at=0))
    assert (status, media_type) == (503, "application/problem+json")
    assert '"code":"unavailable"' in text


async def test_a_later_failure_is_the_last_event() -> None:
    status, _, text = await answered(Work(raises_at=1))
    assert status == 200
    first, last, rest = text.split("\n\n")
    assert first == "data: xxxxxxxxxx"
    assert last.startswith('event: error\ndata: {"type":"urn:eai:error:unavailable"')
    assert rest == ""


async def test_what_nobody_foresaw_is_told_without_its_words() -> None:
    _, _, text = await answered(Work(raises_at=1, error=RuntimeError("a secret sentence")))
    assert '"code":"internal_error"' in text
    assert "secret" not in text


@pytest.mark.parametrize("waits_at", [0, 1], ids=["before the first event", "between events"])
async def test_the_work_ends_when_the_client_leaves(waits_at: int) -> None:
    work = Work(waits_at=waits_at)
    parts = plumbing(work)
    async with served(parts.app) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head(parts))
        if waits_at:
            await reader.readuntil(b"data: xxxxxxxxxx\n\n")
        await work.begun.wait()
        writer.close()
        async with asyncio.timeout(1):
            await work.ended.wait()
    assert (work.was_cancelled, work.has_settled) == (True, True)


async def test_a_client_that_never_reads_is_cut_off_and_fills_no_memory() -> None:
    work = Work(pieces=100_000, size=10_000)
    parts = plumbing(work)
    async with served(parts.app, Impatient) as port:
        _, writer = await asyncio.open_connection("127.0.0.1", port, limit=1)
        writer.write(head(parts))
        async with asyncio.timeout(5):
            await work.ended.wait()
        writer.close()
    assert work.was_cancelled
    # What the buffers of both ends of a socket hold, not the thousand million bytes that were to come.
    assert work.written < 50_000_000


async def test_a_slow_reader_is_waited_for() -> None:
    work = Work(pieces=200, size=50_000)
    parts = plumbing(work)
    async with served(parts.app) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1000)
        writer.write(head(parts))
        read = 0
        async with asyncio.timeout(20):
            while not work.ended.is_set() or read < work.written:
                read += len(await reader.read(1_000_000))
        writer.close()
    assert (work.was_cancelled, work.written) == (False, 10_000_000)
