"""Work that goes on side by side, except for what must be alone."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Solitude:
    """Any number may be in company at once; whoever is alone waits for them, and holds up newcomers."""

    def __init__(self) -> None:
        self._company = 0
        self._is_taken = False
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
            async with self._changed:
                self._company -= 1
                self._changed.notify_all()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """A block that nothing runs beside."""
        async with self._changed:
            await self._changed.wait_for(lambda: not self._is_taken)
            self._is_taken = True
        try:
            async with self._changed:
                await self._changed.wait_for(lambda: self._company == 0)
            yield
        finally:
            async with self._changed:
                self._is_taken = False
                self._changed.notify_all()
