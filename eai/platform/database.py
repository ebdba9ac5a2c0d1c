"""Connections, and transactions that are bound to one tenant.

The tenant is bound inside each transaction and dies with it; a session-wide setting would travel
through the pool to the next borrower. Two pools serve one database: SQLAlchemy sessions for the
product at large, and single autocommitted statements for the few SQL functions of the hot path,
which bind the tenant themselves as their first step.
"""

import select
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from hashlib import blake2b
from typing import Any, LiteralString, cast

import orjson
import psycopg
from psycopg import sql
from psycopg.pq import TransactionStatus
from psycopg.rows import TupleRow
from psycopg.types.json import set_json_loads
from psycopg_pool import AsyncConnectionPool, PoolTimeout
from sqlalchemy import event, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError, DisconnectionError, InvalidatePoolError
from sqlalchemy.exc import TimeoutError as CheckoutTimeout
from sqlalchemy.ext.asyncio import (
    AsyncConnection,
    AsyncEngine,
    AsyncSession,
    async_sessionmaker,
    create_async_engine,
)
from sqlalchemy.pool import ConnectionPoolEntry

from eai.kernel.errors import Unavailable
from eai.kernel.ids import TenantId
from eai.platform.conninfo import libpq_conninfo
from eai.platform.shares import NoShare, Shares

# One round trip. Without parameters nothing is prepared, and only so may two statements travel together.
_IDENTITY = """
    SELECT system_identifier, (SELECT oid FROM pg_database WHERE datname = current_database())
      FROM pg_control_system()"""
_BEGIN = b"BEGIN; SELECT set_config('app.tenant_id', %s, true)"

# SQLSTATE classes and codes after which the same request may succeed: connection lost, server going
# down or full, lock or statement timeout, deadlock, serialization failure.
_PASSING_CLASSES = ("08", "53")
_PASSING_CODES = {"57P01", "57P02", "57P03", "57014", "55P03", "40001", "40P01", "25P03"}

RECONNECT_S = 5.0
"""How long a pool goes on trying by itself before it leaves the next try to whoever needs a connection.

Its pauses between tries double: left alone, it would stay away as long again as PostgreSQL was. So long
do callers wait for a connection, and those that wait make it try no more often.
"""

LARGEST_SHARE = 0.7
"""How much of the pool one tenant may hold: where all of it waits for one row, the others go on."""


class DatabaseUnavailable(Unavailable):
    """PostgreSQL does not answer, is full, or a lock was not to be had in time."""

    code = "database_unavailable"


class Database:
    """One PostgreSQL database, reached as the application role."""

    def __init__(
        self,
        url: str,
        *,
        pool_size: int = 10,
        checkout_timeout_s: float = 5.0,
        connect_timeout_s: int = 5,
    ) -> None:
        # A host that swallows packets would otherwise hold every request for two minutes.
        bounded = make_url(url).set(query={"connect_timeout": str(connect_timeout_s), **make_url(url).query})
        self._conninfo = libpq_conninfo(bounded)
        self._engine = create_async_engine(
            bounded.set(drivername="postgresql+psycopg"),
            pool_size=pool_size,
            max_overflow=0,
            pool_timeout=checkout_timeout_s,
            # What begins a transaction is `_begin`: a driver that began one by itself would take a round
            # trip more.
            connect_args={"autocommit": True},
            # What a statement was given may be a document or a key; it has no place in an error's text.
            hide_parameters=True,
            json_deserializer=orjson.loads,
            json_serializer=lambda value: orjson.dumps(value).decode(),
        )
        _pass_over_lost_connections(self._engine)
        self._sessions = async_sessionmaker(self._engine, expire_on_commit=False, autobegin=False)
        self._checkout_timeout_s = checkout_timeout_s
        largest_share = max(1, int(pool_size * LARGEST_SHARE))
        self._shares = Shares(largest_share)
        self._waiting = Shares(largest_share)
        self._statements = AsyncConnectionPool(
            self._conninfo,
            open=False,
            min_size=1,
            max_size=pool_size,
            timeout=checkout_timeout_s,
            reconnect_timeout=RECONNECT_S,
            kwargs={"autocommit": True, "prepare_threshold": 0},
            configure=_read_json_with_orjson,
        )

    @property
    def conninfo(self) -> str:
        """The libpq connection string of the application role, for libraries that bring their own pool."""
        return self._conninfo

    async def open(self) -> None:
        """Open the statement pool; connections are made as they are needed."""
        await self._statements.open()

    async def close(self) -> None:
        """Close both pools."""
        await self._statements.close()
        await self._engine.dispose()

    @asynccontextmanager
    async def transaction(self, tenant: TenantId) -> AsyncIterator[AsyncSession]:
        """One unit of work for one tenant: commit on success, roll back on error.

        Raises DatabaseUnavailable when PostgreSQL fails in a way that may pass; nothing is kept then.
        """
        try:
            async with (
                self._shares.one(tenant, self._checkout_timeout_s),
                self._transaction(tenant) as session,
            ):
                yield session
        except NoShare as error:
            raise DatabaseUnavailable from error

    @asynccontextmanager
    async def _transaction(self, tenant: TenantId) -> AsyncIterator[AsyncSession]:
        session = self._sessions()
        try:
            try:
                await _begin(session, tenant)
                yield session
                await session.commit()
            except BaseException:
                # A connection that was lost on the way cannot roll back, and that is not what went wrong:
                # whoever is cancelled twice while it waits has its connection closed under it.
                with suppress(DBAPIError, psycopg.Error):
                    await _close(session)
                raise
            await _close(session)
        except CheckoutTimeout as error:
            raise DatabaseUnavailable from error
        except DBAPIError as error:
            if error.connection_invalidated or _may_pass(error.orig):
                raise DatabaseUnavailable from error
            raise
        except psycopg.Error as error:
            raise _translated(error) from error  # of what used the connection itself

    async def statement(
        self, query: LiteralString, parameters: Mapping[str, Any], *, is_repeatable: bool = False
    ) -> list[TupleRow]:
        """Run one prepared statement in a transaction of its own and return its rows.

        The statement is a SQL function that binds the tenant itself, or one of the named cross-tenant
        steps. `is_repeatable` allows one more try on a fresh connection when the pooled one proves
        dead, as after a restart of PostgreSQL. Raises DatabaseUnavailable.
        """
        try:
            return await self._run(query, parameters)
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            if not is_repeatable or isinstance(error, PoolTimeout):
                raise _translated(error) from error
        try:
            await self._statements.check()
            return await self._run(query, parameters)
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            raise _translated(error) from error

    async def waiting_statement(
        self, tenant: TenantId, query: LiteralString, parameters: Mapping[str, Any]
    ) -> list[TupleRow]:
        """`statement` for one that may wait for a lock of `tenant`: those wait in the tenant's share."""
        try:
            async with self._waiting.one(tenant, self._checkout_timeout_s):
                return await self.statement(query, parameters)
        except NoShare as error:
            raise DatabaseUnavailable from error

    async def identity(self) -> str:
        """What tells this database from others, and from copies by a dump. Raises DatabaseUnavailable."""
        ((server, number),) = await self.statement(_IDENTITY, {}, is_repeatable=True)
        return blake2b(f"{server}:{number}".encode(), digest_size=16).hexdigest()

    async def now(self) -> datetime:
        """What time it is for every process alike. Raises DatabaseUnavailable."""
        ((now,),) = await self.statement("SELECT clock_timestamp()", {}, is_repeatable=True)
        return cast(datetime, now)

    async def check(self) -> None:
        """Return when PostgreSQL answers; raises DatabaseUnavailable."""
        await self.statement("SELECT 1", {}, is_repeatable=True)

    async def _run(self, query: LiteralString, parameters: Mapping[str, Any]) -> list[TupleRow]:
        async with self._statements.connection() as connection:
            cursor = await connection.execute(query, parameters, prepare=True)
            return await cursor.fetchall()


async def raw_connection(session: AsyncSession) -> psycopg.AsyncConnection:
    """The psycopg connection under `session`, inside its transaction."""
    return _driver(await session.connection())


async def _begin(session: AsyncSession, tenant: TenantId) -> None:
    session.sync_session.begin()
    connection = await session.connection()
    try:
        await _driver(connection).execute(_BEGIN % sql.quote(str(tenant)).encode())
    except psycopg.OperationalError as error:
        await connection.invalidate(error)
        raise


async def _close(session: AsyncSession) -> None:
    if session.in_transaction():
        async with session:
            pass  # rolls back to the end, also where the task is cancelled meanwhile
    else:
        session.sync_session.close()  # has nothing to wait for


def _driver(connection: AsyncConnection) -> psycopg.AsyncConnection:
    assert connection.sync_connection is not None
    return cast(psycopg.AsyncConnection, connection.sync_connection.connection.driver_connection)


def _pass_over_lost_connections(engine: AsyncEngine) -> None:
    """Look at a pooled connection before it is used, and ask the server only where there is reason to.

    One that is still in a transaction is let go of, which rolls it back.
    Of a server that went away the socket tells by itself: there is something to read, if only its end.
    """

    def look(connection: DBAPIConnection, entry: ConnectionPoolEntry, _: object) -> None:
        driver = cast(psycopg.AsyncConnection, entry.driver_connection)
        if driver.info.transaction_status not in {TransactionStatus.IDLE, TransactionStatus.UNKNOWN}:
            # Whatever was left open there must not end with the next tenant's commit.
            raise DisconnectionError
        try:
            if _has_something_to_read(driver):
                engine.dialect.do_ping(connection)
        except (psycopg.Error, OSError) as error:
            # Those that were opened before it are gone with it, more often than not.
            raise InvalidatePoolError from error

    event.listen(engine.sync_engine, "checkout", look)


def _has_something_to_read(connection: psycopg.AsyncConnection) -> bool:
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))


async def _read_json_with_orjson(connection: psycopg.AsyncConnection) -> None:
    set_json_loads(orjson.loads, connection)


def _may_pass(error: BaseException | None) -> bool:
    code = getattr(error, "sqlstate", None) or ""
    is_lost = isinstance(error, psycopg.OperationalError) and not code
    return is_lost or code[:2] in _PASSING_CLASSES or code in _PASSING_CODES


def _translated(error: psycopg.Error) -> Exception:
    return DatabaseUnavailable() if isinstance(error, PoolTimeout) or _may_pass(error) else error
