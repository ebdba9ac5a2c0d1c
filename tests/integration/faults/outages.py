"""What may be done to a running product, and the load it is under meanwhile."""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from inspect import isawaitable
from itertools import count
from pathlib import Path
from typing import Any, TypeVar, overload

import httpx2
import psycopg

from eai.integrations.postgres import EmbeddedPostgres, leftovers
from eai.knowledge.ports import Vectors
from eai.platform.jobs import Pace
from tests.stack import Caller, Json

HASTE = Pace(lease_s=3, heartbeat_s=0.5, stalled_after_s=2, sweep_interval_s=0.5)
HURRY = Pace(lease_s=6, heartbeat_s=1, stalled_after_s=4, sweep_interval_s=1)
PATIENCE = Pace(sweep_interval_s=0.5)
"""Leases as long as in production, for who waits for a processor and must not lose what it holds."""
ENGINE_DEADLINE_S = 4.0
_POLL_S = 0.05
_ANSWERED_WITHIN_S = 90.0
"""Beside the rest of the suite six clients keep a machine of two cores busy."""
_T = TypeVar("_T")


@dataclass(frozen=True)
class Victim:
    """A PostgreSQL server that may be stopped in the middle of everything."""

    server: EmbeddedPostgres
    home: Path

    async def stop_immediately(self) -> None:
        """As `pg_ctl stop -m immediate`: no checkpoint, every connection cut; the next start recovers."""
        pid = leftovers.postmaster_pid(self.home / "pg" / "data")
        assert pid is not None
        os.kill(pid, signal.SIGQUIT)
        await self.server.wait()
        await self.server.stop()

    async def start(self) -> None:
        """Return when it answers again, where it did before."""
        await self.server.start()

    async def is_listened_to(self) -> bool:
        """Whether a worker hears of new jobs, and does not just look for them now and then."""
        async with await psycopg.AsyncConnection.connect(self.server.admin_url, autocommit=True) as admin:
            found = await admin.execute("SELECT 1 FROM pg_stat_activity WHERE query ILIKE 'LISTEN %%'")
            return await found.fetchone() is not None

    @asynccontextmanager
    async def exhausted(self) -> AsyncIterator[None]:
        """The product's connections are cut, and there is none to be had: SQLSTATE 53300."""
        async with await psycopg.AsyncConnection.connect(self.server.admin_url, autocommit=True) as admin:
            await admin.execute("ALTER ROLE eai_app CONNECTION LIMIT 0")
            await admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'eai_app'"
            )
            yield
            await admin.execute("ALTER ROLE eai_app CONNECTION LIMIT -1")


@dataclass
class Held:
    """A call that waits: `reached` tells that it came, `go_on` lets it pass, `ended` that it is over.

    Whoever makes it and `is_frozen` is told only after it that it was cancelled meanwhile.
    """

    method: str
    is_frozen: bool = False
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    go_on: asyncio.Event = field(default_factory=asyncio.Event)
    ended: asyncio.Event = field(default_factory=asyncio.Event)


class Turnstile:
    """The vector store behind `inner`, where single calls can be made to wait."""

    def __init__(self, inner: Vectors) -> None:
        self._inner = inner
        self._held: list[Held] = []

    @asynccontextmanager
    async def holding(self, method: str, *, is_frozen: bool = False) -> AsyncIterator[Held]:
        """Hold the next call of `method`; it goes on at the end of the block at the latest."""
        held = Held(method, is_frozen)
        self._held.append(held)
        try:
            yield held
        finally:
            held.go_on.set()
            self._held = [each for each in self._held if each is not held]

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        call: Callable[..., Awaitable[Any]] = getattr(self._inner, name)

        async def passing(*arguments: Any, **options: Any) -> Any:
            told = partial(call, **options)
            for held in self._held:
                if held.method == name and not held.reached.is_set():
                    held.reached.set()
                    return await _passed(held, told, arguments)
            return await told(*arguments)

        return passing


async def _passed(held: Held, call: Callable[..., Awaitable[Any]], arguments: tuple[Any, ...]) -> Any:
    try:
        try:
            await held.go_on.wait()
        except asyncio.CancelledError:
            if not held.is_frozen:
                raise
            await held.go_on.wait()
            await call(*arguments)
            raise
        return await call(*arguments)
    finally:
        held.ended.set()


@asynccontextmanager
async def chain_locked(admin_url: str, tenant: str) -> AsyncIterator[psycopg.AsyncConnection]:
    """Another session holds the head of the tenant's audit chain; rolling back lets it go."""
    async with await psycopg.AsyncConnection.connect(admin_url) as connection:
        await connection.execute("SELECT * FROM eai.audit_heads WHERE tenant_id = %s FOR UPDATE", [tenant])
        yield connection
        await connection.rollback()


async def somebody_waits(admin_url: str) -> bool:
    """Whether a session of this database waits for what another one holds."""
    return await how_many_wait(admin_url) > 0


async def how_many_wait(admin_url: str) -> int:
    """Of this database's sessions: tests that run at the same time share the server."""
    async with await psycopg.AsyncConnection.connect(admin_url, autocommit=True) as connection:
        found = await connection.execute(
            "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        return len(await found.fetchall())


async def let_leases_run_out(admin_url: str, tenant: str) -> None:
    """As if the time had passed after which whoever holds a job of the tenant counts as dead."""
    async with await psycopg.AsyncConnection.connect(admin_url) as connection:
        await connection.execute(
            "UPDATE eai.jobs SET lease_until = now() WHERE tenant_id = %s AND state = 'running'", [tenant]
        )


async def have_jobs_taken_over(admin_url: str, tenant: str) -> None:
    """Return once whoever holds a job of the tenant has lost it, and be it alive and renewing its lease.

    Only what is held now is lost, not what others have taken over meanwhile.
    """
    async with await psycopg.AsyncConnection.connect(admin_url, autocommit=True) as connection:
        held = await connection.execute(
            "SELECT id, attempt FROM eai.jobs WHERE tenant_id = %s AND state = 'running'", [tenant]
        )
        attempts = await held.fetchall()

        async def are_lost() -> bool:
            # A renewal may come before anybody has seen that the lease had run out.
            left = [await connection.execute(_RUN_OUT, attempt) for attempt in attempts]
            return not any(each.rowcount for each in left)

        await eventually(are_lost)


_RUN_OUT = "UPDATE eai.jobs SET lease_until = now() WHERE id = %s AND attempt = %s AND state = 'running'"


@dataclass
class Load:
    """What clients were answered while a fault came and went."""

    base: str
    questions: Counter[int] = field(default_factory=Counter)
    submissions: Counter[int] = field(default_factory=Counter)
    acknowledged: dict[str, str] = field(default_factory=dict)
    """Title of each document that was accepted, by id."""
    unforeseen: list[str] = field(default_factory=list)
    lost: int = 0
    """Clients whose connection was cut, and that asked no more."""

    @property
    def statuses(self) -> set[int]:
        return {*self.questions, *self.submissions}

    async def goes_on(self, times: int = 3) -> None:
        """Return once questions and texts have been answered so many times from now on."""
        asked, made = self.questions[200] + times, self.submissions[201] + times
        await eventually(
            lambda: self.questions[200] >= asked and self.submissions[201] >= made, _ANSWERED_WITHIN_S
        )

    async def is_refused(self, times: int = 3) -> None:
        """Return once both have been refused so many times from now on."""
        asked, made = self.questions[503] + times, self.submissions[503] + times
        await eventually(
            lambda: self.questions[503] >= asked and self.submissions[503] >= made, _ANSWERED_WITHIN_S
        )


@asynccontextmanager
async def under_load(caller: Caller, base: str, *, clients: int = 2) -> AsyncIterator[Load]:
    """Ask and submit from several clients at once until the block ends, or nobody listens any more."""
    load, titles = Load(base), count(1)
    is_over = asyncio.Event()

    async def ask() -> None:
        while not is_over.is_set():
            answer = await query(caller, base, "refunds")
            load.questions[answer.status_code] += 1
            _note(load, answer)

    async def submit(prefer: str) -> None:
        while not is_over.is_set():
            title = f"Note {next(titles)}"
            answer = await ingest(caller, base, title, prefer=prefer)
            load.submissions[answer.status_code] += 1
            _note(load, answer)
            if answer.is_success:
                load.acknowledged[answer.json()["id"]] = title

    async with asyncio.TaskGroup() as group:
        for _ in range(clients):
            group.create_task(_unless_lost(load, ask()))
            group.create_task(_unless_lost(load, submit("")))
            group.create_task(_unless_lost(load, submit("respond-async")))
        yield load
        is_over.set()


async def query(caller: Caller, base: str, text: str) -> httpx2.Response:
    return await caller.post(f"/v1/knowledge-bases/{base}/query", json={"query": text, "top_k": 20})


async def ingest(
    caller: Caller, base: str, title: str, *, prefer: str = "", key: str | None = None, content: str = ""
) -> httpx2.Response:
    """Submit a text that is found under its title."""
    text = content or f"{title}: refunds are paid within a week. {title.replace(' ', '')} says so."
    headers = {"prefer": prefer} | ({"idempotency-key": key} if key else {})
    return await caller.post(
        f"/v1/knowledge-bases/{base}/documents", json={"title": title, "content": text}, headers=headers
    )


@overload
async def eventually(holds: Callable[[], Awaitable[_T | None]], within_s: float = 30.0) -> _T: ...
@overload
async def eventually(holds: Callable[[], bool], within_s: float = 30.0) -> bool: ...
async def eventually(holds: Callable[[], Any], within_s: float = 30.0) -> Any:
    """What `holds` answers, as soon as that is something."""
    async with asyncio.timeout(within_s):
        while True:
            answer = holds()
            if found := (await answer if isawaitable(answer) else answer):
                return found
            await asyncio.sleep(_POLL_S)


async def documents(caller: Caller, base: str) -> dict[str, Json]:
    """Every document that the caller is shown, by id."""
    shown: dict[str, Json] = {}
    after: dict[str, str] = {}
    while True:
        page = await caller.got(f"/v1/knowledge-bases/{base}/documents", limit=200, **after)
        shown |= {each["id"]: each for each in page["data"]}
        if not page["has_more"]:
            return shown
        after = {"cursor": page["next_cursor"]}


async def _unless_lost(load: Load, client: Awaitable[None]) -> None:
    try:
        await client
    except httpx2.TransportError:
        load.lost += 1


def _note(load: Load, answer: httpx2.Response) -> None:
    if answer.status_code >= 400 and answer.status_code != 503:
        load.unforeseen.append(f"{answer.status_code} {answer.text}")
