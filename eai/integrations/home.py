"""The home folder: what lies where, with which owner and mode, and the secrets kept in it.

Everything is its owner's alone. Root's home is mode 0711, because the database server of root runs
as another user and must pass through it to its own folder.
"""

import fcntl
import json
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class HomeUnusable(Exception):
    """The home folder cannot be used; the text says what to do."""


class HomeInUse(Exception):
    """Another process holds this part of the home."""


class HomeFolder:
    """One home on disk. Making the object touches nothing."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.secrets = self.path / "secrets"
        self.run = self.path / "run"
        self.postgres = self.path / "pg"
        self.logs = self.path / "logs"

    def prepare(self) -> None:
        """Create what is missing and set the modes. Raises HomeUnusable."""
        try:
            self._prepare()
        except OSError as error:
            raise HomeUnusable(
                f"{self.path} cannot be used as home: {error.strerror}; name another with --home or EAI_HOME"
            ) from error

    def _prepare(self) -> None:
        self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._refuse_a_folder_that_is_not_ours()
        self._set_mode()
        for folder in (self.secrets, self.run, self.logs):
            folder.mkdir(mode=0o700, exist_ok=True)
            folder.chmod(0o700)

    def _refuse_a_folder_that_is_not_ours(self) -> None:
        found = self.path.stat()
        if found.st_uid != os.geteuid():
            raise HomeUnusable(
                f"{self.path} belongs to user id {found.st_uid}, this process runs as {os.geteuid()}; "
                "run as that user, or name another folder with --home or EAI_HOME"
            )
        if found.st_mode & stat.S_ISVTX or self.path == self.path.parent:
            raise HomeUnusable(f"{self.path} is shared by everyone; name a folder inside it")

    def _set_mode(self) -> None:
        wanted = 0o711 if os.geteuid() == 0 else 0o700
        present = stat.S_IMODE(self.path.stat().st_mode)
        is_new = self.secrets.is_dir() or not any(self.path.iterdir())
        # A folder that holds something else as well is only ever narrowed, never opened.
        self.path.chmod(wanted if is_new else present & wanted)

    def secret(self, name: str, make: Callable[[], str] = lambda: secrets.token_urlsafe(32)) -> str:
        """The secret kept under `name`, made at first use; the file is its owner's alone."""
        path = self.secrets / name
        with suppress(FileNotFoundError):
            return path.read_text(encoding="utf-8")
        write_private(path, make())
        return path.read_text(encoding="utf-8")

    @contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """Hold `name` until the block ends or this process dies. Raises HomeInUse."""
        descriptor = os.open(self.run / f"{name}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise HomeInUse(self._holder(name)) from error
            os.ftruncate(descriptor, 0)
            os.write(descriptor, json.dumps({"pid": os.getpid()}).encode())
            yield
        finally:
            os.close(descriptor)

    def tell_holder(self, name: str, url: str) -> None:
        """Let whoever finds the lock `name` held, by this process, read where that one answers."""
        (self.run / f"{name}.lock").write_text(json.dumps({"pid": os.getpid(), "url": url}), encoding="utf-8")

    def _holder(self, name: str) -> str:
        try:
            told = json.loads((self.run / f"{name}.lock").read_text(encoding="utf-8"))
        except ValueError:
            told = {}
        pid = f", as process {told['pid']}" if "pid" in told else ""
        place = f", and answers at {told['url']}" if "url" in told else ""
        return f"another process already runs the {name} of {self.path}{pid}{place}"


def write_private(path: Path, text: str) -> None:
    """Write `text` to `path` with mode 0600: whole and on disk, or not at all."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
