"""The product's own way into PostgreSQL, with a gate before every statement, commit and rollback."""

import asyncio
import re
from collections.abc import Callable, Coroutine, Mapping
from functools import cache
from typing import Any

import orjson
import psycopg
from psycopg.pq import TransactionStatus
from psycopg.rows import TupleRow
from psycopg.types.json import set_json_loads
from psycopg.waiting import Wait, wait_async
from sqlalchemy import event

from eai.platform.database import Database
from tests.simulation.clock import FIRST_LOOK_S, LAST_LOOK_S, NEVER_S, Operation
from tests.simulation.polling import new_poll, ready, resumed
from tests.simulation.scheduler import Died, Scheduler, current_actor

_KNOWLEDGE = re.compile(r"eai\.(kb_|knowledge_|deletion_)")
_BEGIN = re.compile(r"\s*BEGIN\b", re.IGNORECASE)

SESSIONS = 12
STATEMENTS = 6


class GatedCursor(psycopg.AsyncCursor[Any]):
    connection: "GatedConnection"

    async def execute(self, query: Any, params: Any = None, **options: Any) -> Any:
        if params is None:
            options["prepare"] = False  # it may be several statements
        await self.connection.comes(query)
        return await self.connection.answers(super().execute(query, params, **options))

    async def executemany(self, query: Any, params_seq: Any, **options: Any) -> None:
        await self.connection.comes(query)
        await self.connection.answers(super().executemany(query, params_seq, **options))


class GatedConnection(psycopg.AsyncConnection[Any]):
    """Belongs to whichever actor has it at the moment."""

    scheduler: Scheduler
    on_commit: Callable[["GatedConnection"], None] = lambda _: None
    operation: Operation | None = None

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.cursor_factory = GatedCursor
        self.announced: list[Any] = []
        self.changes_knowledge = False
        self.poll = new_poll()

    @classmethod
    async def opened(cls, *arguments: Any, **options: Any) -> "GatedConnection":
        operation = cls.scheduler.loop.begin(0)
        try:
            connection = await cls.connect(*arguments, **options)
        finally:
            cls.scheduler.loop.end(operation)
        # The same few statements by the hundred thousand: planning them would take most of the time.
        connection.prepare_threshold, connection.prepared_max = 0, 1_000
        return connection

    async def wait(self, gen: Any, interval: float = 0, timeout: float | None = None) -> Any:  # noqa: ASYNC109 - the library's
        """Here and now, unless for a lock: nobody else goes on meanwhile anyway."""
        try:
            wanted = self._waited_for(gen, next(gen))
        except StopIteration as end:
            return end.value
        try:
            # The library looks up from its wait now and then; here nothing happens meanwhile.
            return await wait_async(resumed(gen, wanted), self.pgconn.socket, NEVER_S)
        except asyncio.CancelledError:
            self._end(gen)
            raise

    def _end(self, gen: Any) -> None:
        """Leave nothing on its way: what waits for a lock is cancelled, anything else is done soon."""
        wanted, loop = Wait.R, self.scheduler.loop
        try:
            while True:
                if found := ready(self.poll, self.pgconn.socket, wanted, FIRST_LOOK_S):
                    wanted = gen.send(found)
                elif self.operation is not None and loop.is_waiting(self.operation):
                    loop.cancel({self.operation.backend})
        except (StopIteration, psycopg.errors.QueryCanceled):
            return

    def _waited_for(self, gen: Any, wanted: Wait) -> Wait:
        """What is to be waited for once a lock is known to be in the way. StopIteration has the answer."""
        pause = FIRST_LOOK_S
        while True:
            if found := ready(self.poll, self.pgconn.socket, wanted, pause):
                wanted = gen.send(found)
            elif self.operation is not None and self.scheduler.loop.is_waiting(self.operation):
                return wanted
            else:
                pause = min(2 * pause, LAST_LOOK_S)

    async def comes(self, query: Any) -> None:
        """Return when it is the turn of this statement."""
        text = query if isinstance(query, str) else query.decode() if isinstance(query, bytes) else str(query)
        if not _BEGIN.match(text):
            label, changes = _described(text)
            await self.scheduler.step(label)
            self.changes_knowledge |= changes
        elif (actor := current_actor()) is not None and actor.is_dead:
            raise Died

    async def answers(self, sent: Coroutine[Any, Any, Any]) -> Any:
        """What comes back; and whether a statement was a transaction of its own."""
        answer = await self._answered(sent, is_last=self.pgconn.transaction_status == TransactionStatus.IDLE)
        if self.pgconn.transaction_status == TransactionStatus.IDLE:
            self._is_committed()
        return answer

    async def commit(self) -> None:
        if self.pgconn.transaction_status == TransactionStatus.IDLE:
            return
        await self.scheduler.step("COMMIT")
        await self._answered(super().commit(), is_last=True)
        self._is_committed()

    async def rollback(self) -> None:
        actor = current_actor()
        if self.pgconn.transaction_status != TransactionStatus.IDLE:
            if actor is not None and not actor.is_dead:
                await self.scheduler.step("ROLLBACK")
            # The server does as much by itself for a process that died.
            await self._answered(super().rollback(), is_last=True)
        self.announced.clear()
        self.changes_knowledge = False
        self.scheduler.loop.locks_may_be_free()

    async def close(self) -> None:
        """What a process had begun is over when its connection is: the server would see to it in a moment."""
        if self.pgconn.transaction_status in {TransactionStatus.INTRANS, TransactionStatus.INERROR}:
            self.scheduler.loop.locks_may_become_free()
            self.pgconn.exec_(b"ROLLBACK")
            self.scheduler.loop.locks_may_be_free()
        await super().close()

    async def _answered(self, sent: Coroutine[Any, Any, Any], *, is_last: bool) -> Any:
        """What comes back of what was sent; `is_last` for what may end a transaction."""
        actor, backend = current_actor(), self.pgconn.backend_pid
        if actor is not None:
            actor.backends.add(backend)
        if is_last:
            self.scheduler.loop.locks_may_become_free()
        self.operation = self.scheduler.loop.begin(backend)
        try:
            return await sent
        except psycopg.Error:
            if actor is not None and actor.is_dead:
                raise Died from None
            raise
        finally:
            self.scheduler.loop.end(self.operation)
            self.operation = None

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


@cache
def _described(text: str) -> tuple[str, bool]:
    """What a statement is called, and whether it changes what the checker looks at."""
    return _label(text), bool(_KNOWLEDGE.search(text)) and not text.lstrip().startswith("SELECT")


def _label(text: str) -> str:
    words = " ".join(text.split())
    table = re.search(r"(?:FROM|INTO|UPDATE|DELETE FROM) (eai\.\w+)", words)
    locked = re.search(r"FOR (NO KEY UPDATE|UPDATE|KEY SHARE|SHARE)( SKIP LOCKED)?", words)
    called = re.search(r"(eai\.\w+)\(", words)
    named = table or called
    verb = words.split(" ", 1)[0]
    return " ".join(filter(None, [verb, named and named[1], locked and locked[0]]))
