"""The product's own way into PostgreSQL, with a gate before every statement, commit and rollback."""

import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

import orjson
import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import TupleRow
from psycopg.types.json import set_json_loads
from sqlalchemy import event

from eai.platform.database import Database
from tests.simulation.clock import NEVER_S
from tests.simulation.scheduler import Actor, Died, Scheduler, current_actor

_KNOWLEDGE = re.compile(r"eai\.(kb_|knowledge_|deletion_)")
_BEGIN = re.compile(r"\s*BEGIN\b", re.IGNORECASE)

SESSIONS = 12
STATEMENTS = 6


class GatedCursor(psycopg.AsyncCursor[Any]):
    async def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
        if params is None:
            options["prepare"] = False  # it may be several statements
        async with self.connection.sending(query):  # type: ignore[attr-defined]
            return await super().execute(query, params, **options)

    async def executemany(self, query: Any, params_seq: Any, **options: Any) -> None:
        async with self.connection.sending(query):  # type: ignore[attr-defined]
            await super().executemany(query, params_seq, **options)


class GatedConnection(psycopg.AsyncConnection[Any]):
    """Belongs to whichever actor has it at the moment."""

    scheduler: Scheduler
    on_commit: Callable[["GatedConnection"], None] = lambda _: None
    holder: Actor | None = None

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.cursor_factory = GatedCursor
        self.announced: list[Any] = []
        self.changes_knowledge = False

    @classmethod
    async def opened(cls, *arguments: Any, **options: Any) -> "GatedConnection":
        with cls.scheduler.loop.operation(0):
            connection = await cls.connect(*arguments, **options)
        # The same few statements by the hundred thousand: planning them would take most of the time.
        connection.prepare_threshold, connection.prepared_max = 0, 1_000
        return connection

    async def wait(self, gen: Any, interval: float = 0, timeout: float | None = None) -> Any:  # noqa: ASYNC109 - the library's
        # The library looks up from its wait now and then; here nothing happens meanwhile.
        return await super().wait(gen, NEVER_S, timeout)

    @asynccontextmanager
    async def sending(self, query: Any) -> AsyncIterator[None]:
        text = query if isinstance(query, str) else query.decode() if isinstance(query, bytes) else str(query)
        actor = current_actor()
        if not _BEGIN.match(text):
            await self.scheduler.step(_label(text))
        elif actor is not None and actor.is_dead:
            raise Died
        self.changes_knowledge |= bool(_KNOWLEDGE.search(text)) and not text.lstrip().startswith("SELECT")
        async with self._answered(actor):
            yield
        if self.pgconn.transaction_status == TransactionStatus.IDLE:
            self._is_committed()

    async def commit(self) -> None:
        if self.pgconn.transaction_status == TransactionStatus.IDLE:
            return
        await self.scheduler.step("COMMIT")
        async with self._answered(current_actor()):
            await super().commit()
        self._is_committed()

    async def rollback(self) -> None:
        actor = current_actor()
        if self.pgconn.transaction_status != TransactionStatus.IDLE:
            if actor is not None and not actor.is_dead:
                await self.scheduler.step("ROLLBACK")
            # The server does as much by itself for a process that died.
            with self.scheduler.loop.operation(self.info.backend_pid):
                await super().rollback()
        self.announced.clear()
        self.changes_knowledge = False
        self.scheduler.loop.locks_may_be_free()

    @asynccontextmanager
    async def _answered(self, actor: Actor | None) -> AsyncIterator[None]:
        backend = self.info.backend_pid
        if actor is not None:
            actor.backends.add(backend)
        self.holder = actor
        try:
            with self.scheduler.loop.operation(backend):
                yield
        except psycopg.Error:
            if actor is not None and actor.is_dead:
                raise Died from None
            raise

    def _is_committed(self) -> None:
        self.scheduler.loop.locks_may_be_free()
        type(self).on_commit(self)
        self.announced.clear()
        self.changes_knowledge = False


class GatedDatabase(Database):
    """One for all actors: what a dead one leaves in it is rolled back."""

    def __init__(self, url: str, scheduler: Scheduler) -> None:
        super().__init__(url, pool_size=SESSIONS)
        GatedConnection.scheduler = scheduler
        self._scheduler = scheduler
        self._free: list[GatedConnection] = []

        @event.listens_for(self._engine.sync_engine, "do_connect")
        def gated(_dialect: Any, _record: Any, _arguments: Any, options: dict[str, Any]) -> None:
            options["async_creator_fn"] = GatedConnection.opened

    async def open(self) -> None:
        """Make every connection beforehand: those made later would be steps that no other run has."""
        sessions = [await self._engine.connect() for _ in range(SESSIONS)]
        for session in sessions:
            await session.close()
        for _ in range(STATEMENTS):
            connection = await GatedConnection.opened(self.conninfo, autocommit=True, prepare_threshold=0)
            set_json_loads(orjson.loads, connection)
            self._free.append(connection)

    async def close(self) -> None:
        for connection in self._free:
            await connection.close()
        await self._engine.dispose()

    async def _run(self, query: Any, parameters: Mapping[str, Any]) -> list[TupleRow]:
        connection = self._free.pop()
        try:
            cursor = await connection.execute(query, parameters, prepare=True)
            return await cursor.fetchall()
        finally:
            self._free.append(connection)


def _label(text: str) -> str:
    words = " ".join(text.split())
    table = re.search(r"(?:FROM|INTO|UPDATE|DELETE FROM) (eai\.\w+)", words)
    locked = re.search(r"FOR (NO KEY UPDATE|UPDATE|KEY SHARE|SHARE)( SKIP LOCKED)?", words)
    called = re.search(r"(eai\.\w+)\(", words)
    named = table or called
    verb = words.split(" ", 1)[0]
    return " ".join(filter(None, [verb, named and named[1], locked and locked[0]]))
