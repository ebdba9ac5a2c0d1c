import asyncio

import pytest

from eai.platform.finishing import finished


async def test_what_clears_up_comes_to_its_end_though_it_is_cancelled() -> None:
    begun, go_on, done = asyncio.Event(), asyncio.Event(), []

    async def work() -> None:
        begun.set()
        await go_on.wait()
        done.append(True)

    running = asyncio.create_task(finished(work()))
    await begun.wait()
    running.cancel()
    go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert done == [True]


async def test_what_goes_wrong_is_told() -> None:
    async def work() -> None:
        raise ValueError

    with pytest.raises(ValueError):
        await finished(work())
