"""How many calls of providers each tenant has open in this process: what one keeps open, others wait for."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from eai.kernel.errors import RateLimited
from eai.kernel.ids import TenantId


class OpenCalls:
    """`most` calls of each tenant at once. One per process."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._tenants: dict[TenantId, _Places] = {}

    @asynccontextmanager
    async def one_of(self, tenant: TenantId, *, may_wait: bool) -> AsyncIterator[None]:
        """A place among the tenant's calls while the block lasts.

        Where all are taken, waits for one or, unless it may wait, raises RateLimited.
        """
        places = self._tenants.setdefault(tenant, _Places(self._most))
        if places.free.locked() and not may_wait:
            raise RateLimited(retry_after_s=1)
        places.users += 1
        try:
            async with places.free:
                yield
        finally:
            places.users -= 1
            if not places.users:
                del self._tenants[tenant]


class _Places:
    """Those of one tenant; `users` have a place or wait for one."""

    def __init__(self, most: int) -> None:
        self.free = asyncio.Semaphore(most)
        self.users = 0
