"""One tenant's calls are in nobody's way but its own."""

import asyncio
from contextlib import AsyncExitStack
from uuid import uuid4

import pytest

from eai.gateway.open_calls import OpenCalls
from eai.kernel.errors import RateLimited
from eai.kernel.ids import TenantId

BUSY, OTHER = TenantId(uuid4()), TenantId(uuid4())


async def test_a_tenant_has_only_so_many_calls_open() -> None:
    calls = OpenCalls(2)
    async with calls.one_of(BUSY, may_wait=False), calls.one_of(BUSY, may_wait=True):
        async with calls.one_of(OTHER, may_wait=False):
            with pytest.raises(RateLimited) as refused:
                async with calls.one_of(BUSY, may_wait=False):
                    pass
        assert refused.value.retry_after_s == 1
    async with calls.one_of(BUSY, may_wait=False), calls.one_of(BUSY, may_wait=False):
        pass


async def test_who_may_wait_has_the_place_that_becomes_free() -> None:
    calls, order = OpenCalls(1), []

    async def wait(name: str) -> None:
        async with calls.one_of(BUSY, may_wait=True):
            order.append(name)

    async with AsyncExitStack() as first:
        await first.enter_async_context(calls.one_of(BUSY, may_wait=False))
        waiting = [asyncio.create_task(wait(name)) for name in ("one", "two")]
        await asyncio.sleep(0)
        assert order == []
        waiting[0].cancel()
        await asyncio.wait({waiting[0]})
    await waiting[1]
    assert order == ["two"]
    async with calls.one_of(BUSY, may_wait=False):
        pass


async def test_nothing_is_kept_of_a_tenant_that_calls_nothing() -> None:
    calls = OpenCalls(1)
    async with calls.one_of(BUSY, may_wait=False):
        with pytest.raises(RateLimited):
            async with calls.one_of(BUSY, may_wait=False):
                pass
    assert calls._tenants == {}
