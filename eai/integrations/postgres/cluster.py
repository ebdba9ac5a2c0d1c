"""The files of one PostgreSQL cluster: where they lie, who owns them, how it is made and reached."""

import asyncio
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from eai.integrations.home import HomeFolder, write_private
from eai.integrations.postgres import binaries
from eai.integrations.postgres.account import ServerAccount, server_account

ADMIN, APP, DATABASE = "eai_admin", "eai_app", "eai"
_PASSWORDS = {ADMIN: "postgres-admin", APP: "postgres-app"}
_SOCKET_NAME = ".s.PGSQL.5432"
# The kernel's limit for the path of a socket is 107 bytes on Linux, 103 elsewhere.
_LONGEST_SOCKET_PATH = 103
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
    """The embedded server could not be started; the text says why."""


class Cluster:
    """One cluster in one home. Making the object touches nothing."""

    def __init__(self, home: HomeFolder) -> None:
        self._home = home
        self._account: ServerAccount | None = None
        self._programs = Path()
        self._port: int | None = None
        self.notes: list[str] = []

    @property
    def data(self) -> Path:
        """The data folder. Resolved: the server may enter where it lies, not where the home's link is."""
        return self._folder / "data"

    @property
    def sockets(self) -> Path:
        """The folder of the server's socket."""
        return self._folder / "run"

    @property
    def _folder(self) -> Path:
        return self._home.postgres.resolve()

    def program(self, name: str) -> Path:
        """One of PostgreSQL's programs, where the server's account can run it."""
        return self._programs / name

    def spawn_options(self) -> dict[str, Any]:
        """What a child process needs to run as the server's account."""
        options: dict[str, Any] = {"cwd": "/", "env": {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}}
        return options if self._account is None else options | self._account.spawn_options()

    def url(self, role: str, database: str = DATABASE) -> str:
        """Where the server answers, as its settings file says."""
        password = self._home.secret(_PASSWORDS[role])
        settings = self._written_settings()
        folder, port = settings["unix_socket_directories"], settings["port"]
        if folder:
            return f"postgresql://{role}:{password}@/{database}?host={quote(folder, safe='')}&port={port}"
        return f"postgresql://{role}:{password}@127.0.0.1:{port}/{database}"

    async def prepare(self, overrides: Mapping[str, str]) -> None:
        """Make what is missing and write the settings. Raises PostgresFailed."""
        self.notes.clear()
        try:
            self._account = server_account()
            self._make_folders()
            self._programs = binaries.reachable(binaries.installed(), self._account, self._folder)
        except LookupError as error:
            raise PostgresFailed(str(error)) from error
        if not (self.data / "PG_VERSION").exists():
            await self._create()
        self._write_settings(overrides)

    def _make_folders(self) -> None:
        account, link = self._account, self._home.postgres
        if account is not None:
            self.notes.append(f"PostgreSQL runs as {account.name}: it refuses to run as root")
        if link.is_symlink() and not link.exists():
            raise PostgresFailed(
                f"the database of this home lay in {self._folder}, which is gone; restore that folder, "
                f"or remove {link} to begin with an empty database"
            )
        if not link.exists() and account is not None and not account.can_enter(self._home.path):
            link.symlink_to(self._folder_elsewhere())
        if link.is_symlink():
            self.notes.append(
                f"the database lies in {self._folder}: its account cannot enter the folders above the home"
            )
        for part in (self._folder, self.sockets):
            part.mkdir(mode=0o700, exist_ok=True)
            self._give(part)
            part.chmod(0o700)

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

    async def _create(self) -> None:
        # Built aside and renamed: a cluster that exists is a whole one.
        draft, password = self._folder / "data.new", self._folder / "password"
        shutil.rmtree(draft, ignore_errors=True)
        write_private(password, self._home.secret(_PASSWORDS[ADMIN]))
        self._give(password)
        try:
            await self._initdb("-D", draft, "-U", ADMIN, f"--pwfile={password}")
        finally:
            password.unlink()
        with (draft / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.write("\ninclude_if_exists = 'eai.conf'\n")
        draft.rename(self.data)

    async def _initdb(self, *arguments: str | Path) -> None:
        child = await asyncio.create_subprocess_exec(
            self.program("initdb"),
            *arguments,
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--locale=C",
            "--locale-provider=builtin",
            "--builtin-locale=C.UTF-8",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            **self.spawn_options(),
        )
        output, _ = await child.communicate()
        if child.returncode != 0:
            raise PostgresFailed(
                f"the database could not be created:\n{output.decode(errors='replace').strip()}"
            )

    def _write_settings(self, overrides: Mapping[str, str]) -> None:
        if len(os.fsencode(self.sockets / _SOCKET_NAME)) > _LONGEST_SOCKET_PATH:
            place = {
                "listen_addresses": "127.0.0.1",
                "port": str(self._free_port()),
                "unix_socket_directories": "",
            }
            self.notes.append(
                f"PostgreSQL answers on 127.0.0.1: {self._folder} is too long a path for a socket"
            )
        else:
            place = {"listen_addresses": "", "unix_socket_directories": str(self.sockets)}
        settings = {**_SETTINGS, **place, **overrides}
        lines = [f"{name} = '{value.replace(chr(39), chr(39) * 2)}'" for name, value in settings.items()]
        path = self.data / "eai.conf"
        write_private(path, "\n".join(lines) + "\n")
        self._give(path)

    def _free_port(self) -> int:
        # The same one as before where it can be had, and always within one life of this object:
        # clients of a restarted server are not told where it is.
        if self._port is None:
            try:
                self._port = _bound(int(self._written_settings()["port"]))
            except (OSError, KeyError):
                self._port = _bound(0)
        return self._port

    def _written_settings(self) -> dict[str, str]:
        lines = (self.data / "eai.conf").read_text(encoding="utf-8").splitlines()
        pairs = (line.split(" = ", 1) for line in lines)
        return {name: value[1:-1].replace("''", "'") for name, value in pairs}


def _bound(port: int) -> int:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))
        found: int = probe.getsockname()[1]
        return found
