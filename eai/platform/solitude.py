"""Work that goes on side by side, except for what must be alone."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

LetIn = Callable[[], Awaitable[None]]


class Crowded(Exception):
    """Whoever wanted to be alone was not within the time that others may be held up for."""


class Solitude:
    """Any number may be in company at once; whoever is alone waits for them, and holds up newcomers.

    For `within_s` at most: if they are not done by then, newcomers come in, and nobody holds them up again
    for `again_s`. Some go on for hours.
    """

    def __init__(self, within_s: float, again_s: float) -> None:
        self._within_s = within_s
        self._again_s = again_s
        self._company = 0
        self._is_taken = False
        self._not_before = 0.0
        self._changed = asyncio.Condition()

    @asynccontextmanager
    async def in_company(self) -> AsyncIterator[None]:
        """A block that others may run beside."""
        async with self._changed:
            await self._changed.wait_for(lambda: not self._is_taken)
            self._company += 1
        try:
            yield
        finally:
            await self._leave()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[LetIn]:
        """A block that nothing runs beside, until it lets others in. Raises Crowded, before the block."""
        await self._take()
        is_alone = True

        async def let_in() -> None:
            nonlocal is_alone
            if is_alone:
                is_alone = False
                await self._give_back(company=1)

        try:
            yield let_in
        finally:
            if is_alone:
                await self._give_back(company=0)
            else:
                await self._leave()

    async def _take(self) -> None:
        now = asyncio.get_running_loop().time
        if now() < self._not_before:
            raise Crowded
        try:
            async with asyncio.timeout(self._within_s):
                await self._wait_for_all()
        except TimeoutError:
            self._not_before = now() + self._again_s
            raise Crowded from None

    async def _wait_for_all(self) -> None:
        async with self._changed:
            await self._changed.wait_for(lambda: not self._is_taken)
            self._is_taken = True
        try:
            async with self._changed:
                await self._changed.wait_for(lambda: self._company == 0)
        except BaseException:
            # Too long or cancelled: newcomers would be held up by somebody who does not come any more.
            await self._give_back(company=0)
            raise

    async def _give_back(self, *, company: int) -> None:
        async with self._changed:
            self._is_taken = False
            self._company += company
            self._changed.notify_all()

    async def _leave(self) -> None:
        async with self._changed:
            self._company -= 1
            self._changed.notify_all()
