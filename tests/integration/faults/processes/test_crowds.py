"""More clients than an API process has files for, and ten times the usual load (faults 31 and 44)."""

import asyncio
import json
import socket
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import pytest

from tests.integration.faults.installations import Program, serving
from tests.integration.faults.outages import eventually, ingest, query
from tests.integration.kills.dying import Order
from tests.integration.kills.mortals import Mortals
from tests.invariants import Judge
from tests.stack import Caller, Company, Stack

OPEN_FILES = 64
SERVED = 16
"""Of so many files, those that are left for clients."""
RECOVERED_WITHIN_S = 60.0
SPIKE = 10 * SERVED
SURPLUS = 8
"""Those who are told to come again at a time; each holds a file until it was."""
DROPPED = 0
"""In place of a status: the connection was closed without an answer, as for those beyond the surplus."""


@dataclass
class Client:
    """One connection, on which one request after the other is sent."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @classmethod
    async def of(cls, api: Program) -> "Client":
        return cls(*await asyncio.open_connection("127.0.0.1", api.port))

    async def ask(self, key: str, method: str, path: str, body: object = None) -> tuple[int, dict[str, str]]:
        """Status and headers of the answer."""
        content = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {key}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
        )
        try:
            self.writer.write(head.encode() + content)
            first, *lines = (await self.reader.readuntil(b"\r\n\r\n")).decode().strip().split("\r\n")
            headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
            await self.reader.readexactly(int(headers["content-length"]))
        except (ConnectionError, asyncio.IncompleteReadError):
            return DROPPED, {}
        return int(first.split()[1]), headers

    async def is_dropped(self) -> bool:
        """Whether the connection is closed without a word on it."""
        try:
            return await self.reader.read() == b""
        except ConnectionError:
            return True

    async def close(self) -> None:
        self.writer.close()
        with suppress(ConnectionError):
            await self.writer.wait_closed()


@asynccontextmanager
async def crowd(api: Program, number: int) -> AsyncIterator[list[Client]]:
    """So many connections, all open before anybody speaks."""
    clients: list[Client] = []
    try:
        for _ in range(number):
            clients.append(await Client.of(api))  # noqa: PERF401, those that are open are closed whatever comes
        yield clients
    finally:
        for client in clients:
            await client.close()


async def who_am_i(client: Client, key: str) -> tuple[int, dict[str, str]]:
    return await client.ask(key, "GET", "/v1/me")


@pytest.fixture(scope="module")
async def starved(workless: Stack) -> AsyncIterator[Program]:
    """An API process that may have few files open."""
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        async with serving(workless.platform.settings, listener, open_files=OPEN_FILES) as api:
            yield api


async def test_whoever_comes_when_no_file_is_to_spare_is_told_to_come_again(
    starved: Program, mortals: Mortals, company: Company, judge: Judge
) -> None:
    key, base = company.admin.key or "", await company.base()
    await company.document(base, "Refunds are paid within a week.")
    async with Caller(starved.url, key) as caller:
        assert (await ingest(caller, base, "Before")).status_code == 201
        # One more is served: the caller's, which was there before.
        async with crowd(starved, SERVED - 1) as served:
            assert [(await who_am_i(client, key))[0] for client in served] == [200] * (SERVED - 1)
            async with crowd(starved, SURPLUS + 1) as (*surplus, beyond):
                # Before the others have spoken, who leave as soon as they were told.
                assert await beyond.is_dropped()
                answers = await asyncio.gather(*[who_am_i(client, key) for client in surplus])
            assert [status for status, _ in answers] == [503] * SURPLUS
            assert {headers["retry-after"] for _, headers in answers} == {"5"}
            async with crowd(starved, 1) as (probe,):
                assert (await probe.ask(key, "GET", "/healthz"))[0] == 200
            # Those who are served are served whole: there are files for the database and the engine.
            assert (await query(caller, base, "refunds")).status_code == 200
            path, question = f"/v1/knowledge-bases/{base}/query", {"query": "refunds"}
            asked = await asyncio.gather(*[client.ask(key, "POST", path, question) for client in served])
            assert [status for status, _ in asked] == [200] * (SERVED - 1)
        assert (await ingest(caller, base, "After")).status_code == 201
    await eventually(lambda: starved.open_files <= OPEN_FILES - SERVED)
    async with mortals.born(Order("worker")):
        await judge.judge(company.id)


async def test_ten_times_the_load_is_refused_for_what_is_too_much_and_forgotten(
    starved: Program, mortals: Mortals, company: Company, judge: Judge
) -> None:
    key, base = company.admin.key or "", await company.base()
    await company.document(base, "Refunds are paid within a week.")
    told: Counter[int] = Counter()
    unadvised: list[dict[str, str]] = []
    is_over = asyncio.Event()

    async def insist(number: int) -> None:
        while not is_over.is_set():
            async with crowd(starved, 1) as (client,):
                kind, body = ("query", {"query": "refunds"})
                if number % 4 == 0:
                    kind, body = ("documents", {"title": "Much", "content": f"Much of {number}."})
                status, headers = await client.ask(key, "POST", f"/v1/knowledge-bases/{base}/{kind}", body)
            told[status] += 1
            if status in {429, 503} and "retry-after" not in headers:
                unadvised.append(headers)

    async with asyncio.TaskGroup() as group:
        for number in range(SPIKE):
            group.create_task(insist(number))
        await eventually(lambda: told[503] >= SPIKE and told[200] >= SERVED)
        is_over.set()
    assert set(told) <= {200, 201, 429, 503, DROPPED}
    assert unadvised == []
    async with asyncio.timeout(RECOVERED_WITHIN_S), Caller(starved.url, key) as caller:
        await eventually(starved.is_ready)
        assert (await query(caller, base, "refunds")).status_code == 200
        assert (await ingest(caller, base, "After")).status_code == 201
        async with mortals.born(Order("worker")):
            await judge.judge(company.id)
