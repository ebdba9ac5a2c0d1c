"""Processes are told to stop while clients ask and jobs run, as when a version is rolled out (fault 33)."""

import asyncio
import socket
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import partial
from uuid import uuid4

import httpx2
import pytest

from tests.integration.faults.installations import serving, working
from tests.integration.faults.outages import documents, eventually, ingest, query
from tests.invariants import Judge
from tests.provider.steps import Step
from tests.stack import Caller, Company, Json, Stack

ENDED_WITHIN_S = 60.0
"""Of which five are the grace for what runs. A worker gives way to all else on a crowded machine."""
GOES_ON_WITHIN_S = 90.0
"""Beside the rest of the suite three clients and four processes keep a machine of two cores busy."""


@dataclass
class Insistent:
    """A client that sends again what was refused for now, or not answered, as it is told to."""

    caller: Caller
    base: str
    answered: Counter[int] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    made: list[str] = field(default_factory=list)
    is_over: asyncio.Event = field(default_factory=asyncio.Event)

    async def ask(self) -> None:
        while not self.is_over.is_set():
            self._count(await self._until_done(lambda: query(self.caller, self.base, "refunds")))

    async def submit(self) -> None:
        while not self.is_over.is_set():
            self._count(await self._submitted(""))

    async def submit_and_wait(self) -> None:
        """Have workers take in one text after the other: no more than one waits, however slow they are."""
        while not self.is_over.is_set():
            accepted = await self._submitted("respond-async")
            self._count(accepted)
            await eventually(partial(self._has_ended, accepted.json()["job_id"]), GOES_ON_WITHIN_S)

    async def goes_on(self, times: int = 3) -> None:
        """Return once so many more of each have been answered."""
        before = self.answered.copy()
        await eventually(
            lambda: all(self.answered[each] >= before[each] + times for each in (200, 201, 202)),
            GOES_ON_WITHIN_S,
        )

    def _count(self, answer: httpx2.Response) -> None:
        self.answered[answer.status_code] += 1

    async def _submitted(self, prefer: str) -> httpx2.Response:
        key = str(uuid4())
        answer = await self._until_done(partial(ingest, self.caller, self.base, key, prefer=prefer, key=key))
        self.made.append(answer.json()["id"])
        return answer

    async def _has_ended(self, job: str) -> bool:
        answer = await self._until_done(lambda: self.caller.get(f"/v1/jobs/{job}"))
        return answer.json()["state"] not in {"queued", "running"}

    async def _until_done(self, send: Callable[[], Awaitable[httpx2.Response]]) -> httpx2.Response:
        while True:
            try:
                answer = await send()
            except httpx2.TransportError as error:
                self.refused[type(error).__name__] += 1
                continue
            if answer.is_success:
                return answer
            self.refused[f"{answer.status_code} {answer.json()['error']['code']}"] += 1
            assert answer.json()["error"]["retryable"], answer.text


@pytest.mark.timeout(300)
async def test_whoever_is_told_to_stop_ends_what_it_began_and_hands_back_the_rest(
    workless: Stack, company: Company, judge: Judge
) -> None:
    provider, chosen = await workless.provider(), workless.platform.settings
    model = await company.model(await company.answering(), capability="embeddings", dimensions=[8])
    base, slow = await company.base(), await company.base(embedding_model=model)
    await provider.forget()
    await provider.say(Step(is_held=True))
    with socket.create_server(("127.0.0.1", 0), backlog=1024) as listener:
        async with AsyncExitStack() as others:
            async with (
                serving(chosen, listener) as api,
                working(chosen) as worker,
                Caller(api.url, company.admin.key) as caller,
                asyncio.TaskGroup() as group,
            ):
                held = (await ingest(caller, slow, "Held", prefer="respond-async")).json()
                await provider.has_come(within_s=60)
                client = Insistent(caller, base)
                for work in (client.ask(), client.submit(), client.submit_and_wait()):
                    group.create_task(work)
                await client.goes_on()
                await others.enter_async_context(working(chosen))
                await others.enter_async_context(serving(chosen, listener))
                ended = await asyncio.gather(api.stops(ENDED_WITHIN_S), worker.stops(ENDED_WITHIN_S))
                assert ended == [0, 0]
                # Nobody has to wait for its lease to be over.
                assert await is_handed_back(company.admin, held)
                await eventually(lambda: is_taken_up(company.admin, held), GOES_ON_WITHIN_S)
                await client.goes_on()
                client.is_over.set()
                await provider.go_on()
            await judge.judge(company.id)
    assert not [each for each in client.refused if not each.startswith(("503 ", "Remote", "Read", "Connect"))]
    shown = await documents(company.admin, base)
    assert {each["status"] for each in shown.values()} == {"ready"}
    assert sorted(client.made) == sorted(shown)
    assert (await documents(company.admin, slow))[held["id"]]["status"] == "ready"


async def is_handed_back(caller: Caller, document: Json) -> bool:
    """Whether whoever began with what the document needs holds it no more."""
    job = await caller.got(f"/v1/jobs/{document['job_id']}")
    return bool(job["state"] == "queued" or job["attempt"] >= 2)


async def is_taken_up(caller: Caller, document: Json) -> bool:
    """Whether somebody else has begun with what the document needs."""
    job = await caller.got(f"/v1/jobs/{document['job_id']}")
    return bool(job["attempt"] >= 2)
