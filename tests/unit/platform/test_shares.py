"""How many at once."""

import asyncio
from uuid import UUID

import pytest

from eai.kernel.ids import TenantId
from eai.platform.shares import Shares

BUSY, QUIET = TenantId(UUID(int=1)), TenantId(UUID(int=2))


async def test_a_tenant_that_holds_its_share_waits_and_others_do_not() -> None:
    shares = Shares(1)
    async with shares.one(BUSY, 1):
        async with shares.one(QUIET, 0):
            pass
        with pytest.raises(TimeoutError):
            async with shares.one(BUSY, 0.01):
                pass
    async with shares.one(BUSY, 0):
        pass


async def test_a_share_goes_to_whoever_waited_first() -> None:
    shares, order = Shares(1), list[int]()

    async def wait(number: int) -> None:
        async with shares.one(BUSY, 1):
            order.append(number)

    async with asyncio.TaskGroup() as group, shares.one(BUSY, 1):
        for number in range(3):
            group.create_task(wait(number))
        await asyncio.sleep(0)
    assert order == [0, 1, 2]
