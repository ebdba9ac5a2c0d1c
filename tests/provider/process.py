"""A provider in OpenAI's form as a process of its own, which keeps every byte it is sent."""

import asyncio
import base64
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.provider.steps import Step

_ROOT = Path(__file__).parents[2]
_POLL_S = 0.01
_ENDED = {"answered", "client_left"}
_LONGEST_LINE = 512 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Request:
    """What came. `ended` is `answered`, `client_left` or the fault; `pieces` of a stream were sent."""

    raw: bytes
    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    pieces: int
    ended: str

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @classmethod
    def of(cls, shown: dict[str, Any]) -> "Request":
        head, body = (base64.b64decode(shown[part]) for part in ("head", "body"))
        first, *lines = head.decode("latin-1").strip().split("\r\n")
        method, target, _ = first.split(" ")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        return cls(head + body, method, target, headers, body, shown["pieces"], shown["ended"])


class ProviderProcess:
    """A handle on the running process. `url` is what an OpenAI client calls its base URL."""

    def __init__(self, port: int, orders: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
        self.port = port
        self.url = f"http://127.0.0.1:{port}/v1"
        self._orders = orders
        self._turn = asyncio.Lock()

    async def say(self, *steps: Step) -> None:
        """Answer the next requests so, one step each; afterwards as usual."""
        await self._order(do="say", steps=[step.as_json() for step in steps])

    async def go_on(self) -> None:
        """Answer what is held."""
        await self._order(do="go_on")

    async def usually(self, step: Step) -> None:
        """Answer so whenever nothing else was said."""
        await self._order(do="usually", step=step.as_json())

    async def forget(self) -> None:
        """Forget what came and what was said; answer well again."""
        await self._order(do="forget")

    async def requests(self) -> list[Request]:
        """Every request since `forget`, in the order of arrival."""
        return [Request.of(shown) for shown in (await self._order(do="show"))["exchanges"]]

    async def received(self) -> tuple[int, int]:
        """Connections opened and bytes received since `forget`."""
        counted = await self._order(do="count")
        return counted["connections"], counted["bytes"]

    async def has_come(self, *, within_s: float) -> None:
        """Wait for a request."""
        async with asyncio.timeout(within_s):
            while not await self.requests():  # noqa: ASYNC110, another process tells
                await asyncio.sleep(_POLL_S)

    async def ending(self, *, within_s: float) -> tuple[str, int]:
        """Wait until the only request has ended: how, and after how many pieces."""
        async with asyncio.timeout(within_s):
            while (only := await self._only()).ended not in _ENDED:  # noqa: ASYNC110, as above
                await asyncio.sleep(_POLL_S)
        return only.ended, only.pieces

    async def _only(self) -> Request:
        [only] = await self.requests()
        return only

    async def _order(self, **order: Any) -> dict[str, Any]:
        reader, writer = self._orders
        async with self._turn:
            writer.write(json.dumps(order).encode() + b"\n")
            await writer.drain()
            answer: dict[str, Any] = json.loads(await reader.readline())
        return answer


@asynccontextmanager
async def running_provider(dimensions: int = 8) -> AsyncIterator[ProviderProcess]:
    """Start the process; it is gone when the block ends."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.provider", str(dimensions),
        cwd=_ROOT, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdin is not None
    port, orders = json.loads(await process.stdout.readline())
    reader, writer = await asyncio.open_connection("127.0.0.1", orders, limit=_LONGEST_LINE)
    try:
        yield ProviderProcess(port, (reader, writer))
    finally:
        writer.close()
        await writer.wait_closed()
        process.stdin.close()
        await process.wait()
