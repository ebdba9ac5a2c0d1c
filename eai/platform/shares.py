"""How many connections one tenant may hold at once, so that a tenant that waits keeps no other waiting."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from eai.kernel.ids import TenantId


class NoShare(TimeoutError):
    """None was free in time."""


class Shares:
    """Up to `most` at once for each tenant; the next ones wait in the order they came."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._users: dict[TenantId, int] = {}
        self._shares: dict[TenantId, asyncio.Semaphore] = {}

    @asynccontextmanager
    async def one(self, tenant: TenantId, within_s: float) -> AsyncIterator[None]:
        """Hold one of the tenant's. Raises NoShare when none is free in time."""
        share = self._shares.setdefault(tenant, asyncio.Semaphore(self._most))
        self._users[tenant] = self._users.get(tenant, 0) + 1
        try:
            if share.locked():
                await _free(share, within_s)
            else:
                await share.acquire()  # without a turn of the event loop
            try:
                yield
            finally:
                share.release()
        finally:
            self._users[tenant] -= 1
            if not self._users[tenant]:
                del self._users[tenant], self._shares[tenant]


async def _free(share: asyncio.Semaphore, within_s: float) -> None:
    try:
        async with asyncio.timeout(within_s):
            await share.acquire()
    except TimeoutError:
        raise NoShare from None
