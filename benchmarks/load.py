"""Sends requests over connections that stay open, from a process of its own, and times each answer.

Reads what to send as JSON on standard input and writes what happened as JSON on standard output. It parses
no more of an answer than where it ends, so that it takes little from the processor that it shares.
"""

import asyncio
import itertools
import json
import signal
import sys
import time
from asyncio.subprocess import PIPE, Process
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, cast

import uvloop

_END = b"\r\n\r\n"
_LENGTH = b"content-length: "
_MISSING = "an answer without content-length"


@dataclass(frozen=True)
class Load:
    """Requests to a port of loopback, in turn, `concurrency` at a time.

    Each is sent once, or over and over for `seconds`, or until the process is told to end. With
    `per_second` one is due so many times a second, whatever became of those before, and its time counts from
    then; `concurrency` may be on their way at once. `keeps` brings the bodies back, too.
    """

    port: int
    requests: Sequence[str]
    concurrency: int = 1
    seconds: float | None = None
    per_second: float | None = None
    keeps: bool = False


@dataclass
class Answers:
    """What came back: milliseconds and bytes of each answer in the order they came, and their statuses.

    `numbers` says which request each is an answer to, counted from the first sent; `sent_at` when that was,
    or was due, in seconds since the epoch.
    """

    ms: list[float] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    statuses: dict[str, int] = field(default_factory=dict)
    numbers: list[int] = field(default_factory=list)
    sent_at: list[float] = field(default_factory=list)
    bodies: list[str] = field(default_factory=list)
    elapsed_s: float = 0.0

    @property
    def per_second(self) -> float:
        return len(self.ms) / self.elapsed_s


def raw_request(
    method: str, path: str, headers: Mapping[str, str], body: Mapping[str, Any] | None = None
) -> str:
    """A request as it goes over the wire."""
    content = "" if body is None else json.dumps(body)
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", *(f"{k}: {v}" for k, v in headers.items())]
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(content)}"]
    return "\r\n".join([*lines, "", content])


async def send(load: Load) -> Answers:
    """Have a process of its own do it."""
    return await answers_of(await begun(load))


async def begun(load: Load) -> Process:
    """The process that does it, for whoever may want to kill it."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.load"), stdin=PIPE, stdout=PIPE
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(asdict(load)).encode())
    process.stdin.write_eof()
    return process


async def answers_of(process: Process) -> Answers:
    """What it has to say at its end."""
    output, _ = await process.communicate()
    if process.returncode != 0:
        raise RuntimeError("the load could not be sent")
    return Answers(**json.loads(output))


def require(answers: Answers, status: int) -> Answers:
    """The same answers, all of which must have `status`."""
    if set(answers.statuses) != {str(status)}:
        raise RuntimeError(f"answers had statuses {answers.statuses}, not {status}")
    return answers


class Connection(asyncio.Protocol):
    """A connection that asks one thing at a time."""

    def __init__(self) -> None:
        self._received = b""
        self._expected = 0
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[tuple[float, bytes]] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        if not self._expected:
            end = self._received.find(_END)
            if end < 0:
                return
            self._expected = end + len(_END) + _length(self._received[:end].lower())
        if len(self._received) >= self._expected and self._answer is not None:
            self._answer.set_result((time.perf_counter(), self._received))

    def connection_lost(self, error: Exception | None) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error or ConnectionResetError())

    async def ask(self, request: bytes) -> tuple[float, bytes]:
        """Seconds until the whole answer was there, and the answer."""
        assert self._transport is not None
        self._received, self._expected = b"", 0
        self._answer = asyncio.get_running_loop().create_future()
        start = time.perf_counter()
        self._transport.write(request)
        end, received = await self._answer
        return end - start, received

    def close(self) -> None:
        """Close it; harmless when it is."""
        if self._transport is not None:
            self._transport.close()


def _length(head: bytes) -> int:
    at = head.find(_LENGTH)
    if at < 0:
        if head[9:12] in {b"204", b"304"}:
            return 0
        raise ValueError(_MISSING)
    return int(head[at + len(_LENGTH) :].split(b"\r", 1)[0])


async def connected(port: int) -> Connection:
    """A connection to a port of loopback."""
    _, connection = await asyncio.get_running_loop().create_connection(Connection, "127.0.0.1", port)
    return connection


async def _run(load: Load) -> Answers:
    answers, statuses = Answers(), Counter[str]()
    requests = [request.encode() for request in load.requests]
    start, epoch = time.perf_counter(), time.time() - time.perf_counter()
    is_over = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, is_over.set)
    ends_at = None if load.seconds is None else start + load.seconds
    coming = enumerate(requests if ends_at is None else _until(ends_at, requests, is_over))

    async def call() -> None:
        connection = await connected(load.port)
        for number, request in coming:
            late = 0.0 if load.per_second is None else await _due(start + number / load.per_second)
            sent = time.perf_counter() - late
            seconds, received = await connection.ask(request)
            answers.ms.append(1000 * (seconds + late))
            answers.sizes.append(len(received))
            answers.numbers.append(number)
            answers.sent_at.append(epoch + sent)
            statuses[received[9:12].decode()] += 1
            if load.keeps:
                answers.bodies.append(received[received.find(_END) + len(_END) :].decode())
        connection.close()

    await asyncio.gather(*(call() for _ in range(load.concurrency)))
    answers.elapsed_s = time.perf_counter() - start
    answers.statuses = dict(statuses)
    return answers


async def _due(at: float) -> float:
    """Seconds that it is late, once it is due."""
    await asyncio.sleep(max(0.0, at - time.perf_counter()))
    return max(0.0, time.perf_counter() - at)


def _until(ends_at: float, requests: Sequence[bytes], is_over: asyncio.Event) -> Iterator[bytes]:
    for request in itertools.cycle(requests):
        if is_over.is_set() or time.perf_counter() >= ends_at:
            return
        yield request


def main() -> None:
    answers = uvloop.run(_run(Load(**json.load(sys.stdin))))
    json.dump(asdict(answers), sys.stdout)


if __name__ == "__main__":
    main()
