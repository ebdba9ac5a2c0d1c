"""Who runs beside whom."""

import asyncio

import pytest

from eai.platform.solitude import Crowded, Solitude

WITHIN_S, AGAIN_S = 10.0, 60.0


async def test_whoever_is_alone_waits_for_company_and_holds_up_newcomers() -> None:
    solitude, told = Solitude(WITHIN_S, AGAIN_S), list[str]()
    first_may_go, alone_may_go = asyncio.Event(), asyncio.Event()

    async def in_company(name: str, may_go: asyncio.Event | None = None) -> None:
        async with solitude.in_company():
            told.append(f"{name} came")
            if may_go is not None:
                await may_go.wait()
            told.append(f"{name} went")

    async def alone() -> None:
        async with solitude.alone():
            told.append("alone")
            await alone_may_go.wait()

    async with asyncio.TaskGroup() as group:
        group.create_task(in_company("first", first_may_go))
        await asyncio.sleep(0)
        group.create_task(in_company("second"))
        group.create_task(alone())
        await _settled()
        group.create_task(in_company("third"))
        group.create_task(alone())
        await _settled()
        assert told == ["first came", "second came", "second went"]
        first_may_go.set()
        await _settled()
        assert told[3:] == ["first went", "alone"]
        alone_may_go.set()
    assert sorted(told[5:]) == ["alone", "third came", "third went"]


async def test_one_that_gives_up_waiting_leaves_nobody_waiting() -> None:
    solitude = Solitude(WITHIN_S, AGAIN_S)
    async with solitude.in_company():
        waiting = asyncio.create_task(_be_alone(solitude))
        await _settled()
        waiting.cancel()
        await asyncio.wait([waiting])
        async with asyncio.timeout(1), solitude.in_company():
            pass
    async with asyncio.timeout(1):
        await _be_alone(solitude)


async def test_whoever_is_not_alone_in_time_gives_up_and_holds_nobody_up_again_for_a_while() -> None:
    solitude = Solitude(within_s=0.05, again_s=0.3)
    clock = asyncio.get_running_loop().time
    async with solitude.in_company():
        waiting = asyncio.create_task(_be_alone(solitude))
        await _settled()
        async with asyncio.timeout(5), solitude.in_company():
            gave_up_at = clock()
            with pytest.raises(Crowded):
                await waiting
        with pytest.raises(Crowded):
            await _be_alone(solitude)
        assert clock() - gave_up_at < 0.05
    while True:
        try:
            await _be_alone(solitude)
        except Crowded:
            await asyncio.sleep(0.01)
        else:
            break
    assert clock() - gave_up_at >= 0.29


async def test_whoever_is_alone_may_let_others_in() -> None:
    solitude = Solitude(WITHIN_S, AGAIN_S)
    async with solitude.alone() as let_in:
        for _ in range(2):
            await let_in()
        async with asyncio.timeout(1), solitude.in_company():
            waiting = asyncio.create_task(_be_alone(solitude))
            await _settled()
        await _settled()
        assert not waiting.done()
    async with asyncio.timeout(1):
        await waiting


async def _be_alone(solitude: Solitude) -> None:
    async with solitude.alone():
        pass


async def _settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)
