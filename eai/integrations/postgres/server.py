"""Starts and stops the PostgreSQL server that lives in a home folder."""

import asyncio
import math
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg import sql

from eai.integrations.home import HomeFolder, write_private
from eai.integrations.postgres import binaries, leftovers
from eai.integrations.postgres.account import ServerAccount, server_account
from eai.integrations.processes import tether, until

ADMIN, APP, DATABASE = "eai_admin", "eai_app", "eai"
_SOCKET_NAME = ".s.PGSQL.5432"
# The kernel's limit for the path of a socket is 107 bytes on Linux, 103 elsewhere.
_LONGEST_SOCKET_PATH = 103
_POLL_S = 0.02
_START_S = 60.0
_STOP_S = 20.0
_LARGEST_LOG = 8 * 1024 * 1024
# Where clusters go when the server's account cannot enter root's home folder.
_ELSEWHERE = Path("/var/lib/eai-postgres")

_SETTINGS: Mapping[str, str] = {
    "port": "5432",
    "unix_socket_permissions": "0700",
    "password_encryption": "scram-sha-256",
    "max_connections": "200",
    "shared_buffers": "128MB",
    "jit": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "512MB",
    "timezone": "UTC",
    "log_timezone": "UTC",
    # Statements and keys may hold what is not for a log file.
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
}


class PostgresFailed(Exception):
    """The embedded server could not be started; the text ends with the last lines of its log."""


class EmbeddedPostgres:
    """One PostgreSQL server per home, owned by the process that started it.

    It answers on a private socket in the home, or on loopback TCP when the path is too long for a
    socket. It stops when the thread that called `start` ends, so call it from a thread that stays.
    `overrides` are server settings on top of ours; tests use them, the product does not.
    """

    def __init__(self, home: Path, *, overrides: Mapping[str, str] | None = None) -> None:
        self._home = HomeFolder(home)
        self._overrides = dict(overrides or {})
        self._account: ServerAccount | None = None
        self._programs = Path()
        self._process: subprocess.Popen[bytes] | None = None
        self._held = ExitStack()
        self._notes: list[str] = []

    @property
    def arrangements(self) -> tuple[str, ...]:
        """What `start` had to arrange that an operator may want to know, as sentences."""
        return tuple(self._notes)

    @property
    def admin_url(self) -> str:
        """URL of the database as its superuser; valid once the server was started in this home."""
        return self._url(ADMIN)

    @property
    def app_url(self) -> str:
        """URL of the database as the application's role, which `eai.platform.migrate` creates."""
        return self._url(APP)

    async def start(self) -> None:
        """Create the cluster if there is none, clear what a killed server left, start, await readiness.

        Raises PostgresFailed, HomeInUse when another process runs it, and HomeUnusable.
        """
        self._home.prepare()
        self._held.enter_context(self._home.lock("postgres"))
        try:
            await self._start()
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
    def _cluster(self) -> Path:
        # Resolved: the server's account can follow the path to where the cluster is, not the link to it.
        return self._home.postgres.resolve()

    @property
    def _data(self) -> Path:
        return self._cluster / "data"

    @property
    def _sockets(self) -> Path:
        return self._cluster / "run"

    async def _start(self) -> None:
        self._notes.clear()
        try:
            self._account = server_account()
            if self._account is not None:
                self._notes.append(f"PostgreSQL runs as {self._account.name}: it refuses to run as root")
            self._make_cluster_folder()
            self._programs = binaries.reachable(self._account, self._cluster)
        except LookupError as error:
            raise PostgresFailed(str(error)) from error
        if not (self._data / "PG_VERSION").exists():
            await self._create_cluster()
        try:
            await leftovers.clear(self._data, self._sockets)
        except TimeoutError as error:
            raise PostgresFailed(str(error)) from error
        self._write_settings()
        self._launch()
        await self._ready()
        await self._create_database()

    def _make_cluster_folder(self) -> None:
        folder = self._home.postgres
        if not folder.exists():
            if self._account is None or self._account.can_enter(self._home.path):
                folder.mkdir(mode=0o700)
            else:
                folder.unlink(missing_ok=True)
                folder.symlink_to(self._folder_elsewhere())
        for part in (folder, folder / "run"):
            part.mkdir(mode=0o700, exist_ok=True)
            self._give(part)
            part.chmod(0o700)
        if folder.is_symlink():
            self._notes.append(
                f"the database lies in {folder.resolve()}: {self._home.path} is inside a folder "
                "that only root can enter"
            )

    def _folder_elsewhere(self) -> Path:
        temporary = Path(tempfile.gettempdir()).resolve()
        if self._home.path.resolve().is_relative_to(temporary):
            return Path(tempfile.mkdtemp(prefix="eai-postgres-", dir=temporary))
        if not _ELSEWHERE.exists():
            _ELSEWHERE.mkdir(mode=0o711, parents=True)
            _ELSEWHERE.chmod(0o711)
        return Path(tempfile.mkdtemp(prefix="home-", dir=_ELSEWHERE))

    def _give(self, path: Path) -> None:
        if self._account is not None:
            os.chown(path, self._account.uid, self._account.gid)

    async def _create_cluster(self) -> None:
        # Built aside and renamed: a cluster that exists is a whole one.
        draft, words = self._cluster / "data.new", self._cluster / "password"
        shutil.rmtree(draft, ignore_errors=True)
        write_private(words, self._home.secret("postgres-admin"))
        self._give(words)
        try:
            await self._run(
                "initdb", "-D", draft, "-U", ADMIN, "--auth=scram-sha-256", f"--pwfile={words}",
                "--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C",
            )  # fmt: skip
        finally:
            words.unlink()
        with (draft / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.write("\ninclude_if_exists = 'eai.conf'\n")
        draft.rename(self._data)

    async def _run(self, program: str, *arguments: str | Path) -> None:
        child = await asyncio.create_subprocess_exec(
            self._programs / program,
            *arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            **self._spawn_options(),
        )
        output, _ = await child.communicate()
        if child.returncode != 0:
            raise PostgresFailed(f"{program} failed:\n{output.decode(errors='replace').strip()}")

    def _spawn_options(self) -> dict[str, Any]:
        options: dict[str, Any] = {"cwd": "/", "env": {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}}
        return options if self._account is None else options | self._account.spawn_options()

    def _write_settings(self) -> None:
        socket_path = self._sockets / _SOCKET_NAME
        if len(os.fsencode(socket_path)) > _LONGEST_SOCKET_PATH:
            place = {
                "listen_addresses": "127.0.0.1",
                "port": str(_free_port()),
                "unix_socket_directories": "",
            }
            self._notes.append(f"PostgreSQL answers on 127.0.0.1: {self._home.path} is too long for a socket")
        else:
            place = {"listen_addresses": "", "unix_socket_directories": str(self._sockets)}
        settings = {**_SETTINGS, **place, **self._overrides}
        lines = [f"{name} = '{value.replace(chr(39), chr(39) * 2)}'" for name, value in settings.items()]
        path = self._data / "eai.conf"
        write_private(path, "\n".join(lines) + "\n")
        self._give(path)

    def _launch(self) -> None:
        log = self._home.logs / "postgres.log"
        if log.exists() and log.stat().st_size > _LARGEST_LOG:
            log.replace(log.with_suffix(".log.1"))
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            # Not asyncio's own kind of child: the server must outlive the event loop that started it.
            self._process = subprocess.Popen(  # noqa: S603, the program is ours
                [self._programs / "postgres", "-D", self._data],
                stdin=subprocess.DEVNULL,
                stdout=descriptor,
                stderr=descriptor,
                start_new_session=True,  # a Ctrl-C at the terminal is the supervisor's to interpret
                preexec_fn=tether(signal.SIGINT),  # noqa: PLW1509, it calls one function looked up before
                **self._spawn_options(),
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
                    f"PostgreSQL did not start within {_START_S:.0f} s:\n{self._last_log_lines()}"
                )
            await asyncio.sleep(_POLL_S)

    async def _answers(self) -> bool:
        try:
            connection = await self._connect_to_maintenance()
        except psycopg.OperationalError:
            return False
        await connection.close()
        return True

    async def _create_database(self) -> None:
        async with await self._connect_to_maintenance() as connection:
            found = await connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE])
            if await found.fetchone() is None:
                await connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(DATABASE)))

    async def _connect_to_maintenance(self) -> psycopg.AsyncConnection:
        return await psycopg.AsyncConnection.connect(
            self._url(ADMIN, "postgres"), autocommit=True, connect_timeout=5
        )

    def _url(self, role: str, database: str = DATABASE) -> str:
        secret = self._home.secret("postgres-admin" if role == ADMIN else "postgres-app")
        settings = self._written_settings()
        folder, port = settings["unix_socket_directories"], settings["port"]
        if folder:
            return f"postgresql://{role}:{secret}@/{database}?host={quote(folder, safe='')}&port={port}"
        return f"postgresql://{role}:{secret}@127.0.0.1:{port}/{database}"

    def _written_settings(self) -> dict[str, str]:
        lines = (self._data / "eai.conf").read_text(encoding="utf-8").splitlines()
        pairs = (line.split(" = ", 1) for line in lines)
        return {name: value[1:-1].replace("''", "'") for name, value in pairs}

    def _last_log_lines(self) -> str:
        log = self._home.logs / "postgres.log"
        return "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-12:])


async def _stopped(process: subprocess.Popen[bytes]) -> None:
    for number, wait_s in ((signal.SIGINT, _STOP_S), (signal.SIGQUIT, 5.0), (signal.SIGKILL, 5.0)):
        if process.poll() is not None:
            return
        process.send_signal(number)
        await until(lambda: process.poll() is not None, wait_s)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
