"""A hundred calls wait in two processes while a switch is flipped: none is admitted after the answer."""

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from eai.access.subject import Subject
from tests.conftest import DatabaseUrls
from tests.factories.identity import OPERATOR
from tests.factories.registry import Registry

ROOT = Path(__file__).parents[3]
CALLS_EACH = 50

Run = Callable[..., Awaitable[list[Any]]]


async def _line(process: asyncio.subprocess.Process) -> str:
    assert process.stdout is not None
    return (await asyncio.wait_for(process.stdout.readline(), 60)).decode().strip()


@pytest.mark.parametrize("scope", ["tenant", "provider"])
async def test_no_reservation_commits_after_a_flip_is_acknowledged(
    registry: Registry,
    officer: Subject,
    run: Run,
    database_urls: DatabaseUrls,
    scope: str,
) -> None:
    endpoint = await registry.endpoint()
    switch, by = ("tenant", officer) if scope == "tenant" else (f"provider:{endpoint.name}", OPERATOR)
    arguments = [database_urls.app, str(officer.tenant), endpoint.name, str(CALLS_EACH)]
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.integration.registry.reserving", *arguments,
            cwd=ROOT, stdout=asyncio.subprocess.PIPE,
        )
        for _ in range(2)
    ]  # fmt: skip
    try:
        for process in processes:
            assert await _line(process) == "queued"
        held = "SELECT id FROM eai.model_reservations"
        while len(await run(officer.tenant, held)) < 2 * CALLS_EACH:  # noqa: ASYNC110 others write the rows
            await asyncio.sleep(0.01)
        flipped = await registry.flip(by, switch)
        told = [await _line(process) for process in processes]
    finally:
        for process in processes:
            if process.returncode is None:
                process.kill()
            await process.wait()
        await registry.flip(by, switch, engaged=False)
    assert told == [f"{switch} {CALLS_EACH}"] * 2
    admitted = {call for (call,) in await run(officer.tenant, held)}
    assert {call.id for call in flipped.in_flight} == admitted
    assert len(admitted) >= 2 * CALLS_EACH
