"""Starts and stops the PostgreSQL server that lives in a home folder."""

import asyncio
import math
import os
import signal
import subprocess
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

import psycopg
from psycopg import sql

from eai.integrations.home import HomeFolder
from eai.integrations.postgres import leftovers
from eai.integrations.postgres.cluster import ADMIN, APP, DATABASE, Cluster, PostgresFailed
from eai.integrations.processes import tether, until
from eai.platform.conninfo import libpq_conninfo

_POLL_S = 0.02
_START_S = 60.0
_LARGEST_LOG_BYTES = 8 * 1024 * 1024
# An orderly stop, then one that rolls back by recovery at the next start, then none at all.
_STOPS = ((signal.SIGINT, 20.0), (signal.SIGQUIT, 5.0), (signal.SIGKILL, 5.0))


class EmbeddedPostgres:
    """One PostgreSQL server per home, owned by the process that started it.

    It answers on a private socket in the home, or on loopback TCP when the path is too long for a
    socket. It stops when the thread that called `start` ends, so call it from a thread that stays.
    `overrides` are server settings on top of ours; tests use them, the product does not.
    """

    def __init__(self, home: Path, *, overrides: Mapping[str, str] | None = None) -> None:
        self._home = HomeFolder(home)
        self._cluster = Cluster(self._home)
        self._overrides = dict(overrides or {})
        self._process: subprocess.Popen[bytes] | None = None
        self._held = ExitStack()

    @property
    def arrangements(self) -> tuple[str, ...]:
        """What `start` had to arrange that an operator may want to know, as sentences."""
        return tuple(self._cluster.notes)

    @property
    def admin_url(self) -> str:
        """URL of the database as its superuser; valid once the server was started in this home."""
        return self._cluster.url(ADMIN)

    @property
    def app_url(self) -> str:
        """URL of the database as the application's role, which `eai.platform.migrate` creates."""
        return self._cluster.url(APP)

    async def start(self) -> None:
        """Create the cluster if there is none, clear what a killed server left, start, await readiness.

        Raises PostgresFailed, HomeInUse when another process runs it, and HomeUnusable.
        """
        self._home.prepare()
        self._held.enter_context(self._home.lock("postgres"))
        try:
            await self._cluster.prepare(self._overrides)
            await self._clear_leftovers()
            self._launch()
            await self._ready()
            await self._create_database()
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Stop in order: running statements are cancelled, everything committed is kept."""
        process, self._process = self._process, None
        try:
            if process is not None:
                await _stopped(process)
        finally:
            self._held.close()

    async def wait(self) -> int:
        """Return the exit code when the server ends."""
        process = self._process
        if process is None:
            raise RuntimeError("the server was not started")
        await until(lambda: process.poll() is not None, math.inf)
        return process.returncode

    @property
    def _log(self) -> Path:
        return self._home.logs / "postgres.log"

    async def _clear_leftovers(self) -> None:
        try:
            await leftovers.clear(self._cluster.data, self._cluster.sockets)
        except TimeoutError as error:
            raise PostgresFailed(str(error)) from error

    def _launch(self) -> None:
        if self._log.exists() and self._log.stat().st_size > _LARGEST_LOG_BYTES:
            self._log.replace(self._log.with_suffix(".log.1"))
        descriptor = os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            # Not asyncio's own kind of child: the server must outlive the event loop that started it.
            self._process = subprocess.Popen(  # noqa: S603, the program is ours
                [self._cluster.program("postgres"), "-D", self._cluster.data],
                stdin=subprocess.DEVNULL,
                stdout=descriptor,
                stderr=descriptor,
                start_new_session=True,  # a Ctrl-C at the terminal is the supervisor's to interpret
                preexec_fn=tether(signal.SIGINT),  # noqa: PLW1509, it calls one function looked up before
                **self._cluster.spawn_options(),
            )
        finally:
            os.close(descriptor)

    async def _ready(self) -> None:
        deadline = asyncio.get_running_loop().time() + _START_S
        while not await self._answers():
            if self._process is None or self._process.poll() is not None:
                raise PostgresFailed(f"PostgreSQL ended while starting:\n{self._last_log_lines()}")
            if asyncio.get_running_loop().time() > deadline:
                raise PostgresFailed(
                    f"PostgreSQL did not start in {_START_S:.0f} s:\n{self._last_log_lines()}"
                )
            await asyncio.sleep(_POLL_S)

    async def _answers(self) -> bool:
        try:
            connection = await self._connect()
        except psycopg.OperationalError as error:
            if "password authentication failed" in str(error):
                where = f"{self._home.secrets}/postgres-admin"
                raise PostgresFailed(f"the database does not know the password in {where}") from error
            return False
        await connection.close()
        return True

    async def _create_database(self) -> None:
        async with await self._connect() as connection:
            found = await connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE])
            if await found.fetchone() is None:
                await connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))

    async def _connect(self) -> psycopg.AsyncConnection:
        conninfo = libpq_conninfo(self._cluster.url(ADMIN, "postgres"))
        return await psycopg.AsyncConnection.connect(conninfo, autocommit=True, connect_timeout=5)

    def _last_log_lines(self) -> str:
        return "\n".join(self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-12:])


async def _stopped(process: subprocess.Popen[bytes]) -> None:
    for number, within_s in _STOPS:
        if process.poll() is not None:
            return
        process.send_signal(number)
        await until(lambda: process.poll() is not None, within_s)
