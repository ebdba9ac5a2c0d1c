"""Who runs beside whom."""

import asyncio

from eai.platform.solitude import Solitude


async def test_whoever_is_alone_waits_for_company_and_holds_up_newcomers() -> None:
    solitude, told = Solitude(), list[str]()
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
    solitude = Solitude()
    async with solitude.in_company():
        waiting = asyncio.create_task(_be_alone(solitude))
        await _settled()
        waiting.cancel()
        await asyncio.wait([waiting])
        async with asyncio.timeout(1), solitude.in_company():
            pass
    async with asyncio.timeout(1):
        await _be_alone(solitude)


async def _be_alone(solitude: Solitude) -> None:
    async with solitude.alone():
        pass


async def _settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)
