"""A vector store that waits where a test wants it to."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from eai.knowledge.ports import Vectors


class Paused:
    """`inner`, but the first call of `method` waits: `reached` tells that it came, `go_on` lets it pass.

    `passed` tells that it is done.
    """

    def __init__(self, inner: Vectors, method: str) -> None:
        self._inner = inner
        self._method = method
        self.reached = asyncio.Event()
        self.go_on = asyncio.Event()
        self.passed = asyncio.Event()

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        call: Callable[..., Awaitable[Any]] = getattr(self._inner, name)
        if name != self._method or self.reached.is_set():
            return call

        async def waiting(*arguments: Any) -> Any:
            self.reached.set()
            await self.go_on.wait()
            answer = await call(*arguments)
            self.passed.set()
            return answer

        return waiting
