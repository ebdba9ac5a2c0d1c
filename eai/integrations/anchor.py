"""Audit checkpoints in a file, best on another mount than the database: one line each, only ever added."""

import asyncio
import errno
import fcntl
import os
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from io import FileIO
from itertools import islice
from pathlib import Path
from typing import TypeVar

import orjson

from eai.audit.checkpoint import SignedCheckpoint
from eai.audit.export import checkpoint_fields, read_checkpoint
from eai.audit.ports import AnchorUnavailable
from eai.kernel.ids import TenantId

TIMEOUT_S = 10.0
"""A mount that hangs counts as unreachable after this long."""

_REPEATS_WITHIN = 1024
"""A crash repeats at most what one call appended, so a repeat lies near its first."""

_BATCH = 256

Result = TypeVar("Result")


class FileAnchor:
    """Appends to one file, from any number of processes. Making the object touches nothing."""

    def __init__(self, path: Path, *, timeout_s: float = TIMEOUT_S) -> None:
        self._path = path
        self._timeout_s = timeout_s
        # Its own threads: a mount that hangs must not take those that the rest of the process needs.
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="anchor")

    async def append(self, checkpoints: Sequence[SignedCheckpoint]) -> None:
        """Write and sync `checkpoints`. Raises AnchorUnavailable."""
        lines = b"".join(_line(signed) for signed in checkpoints)
        await self._within_time(lambda: _append(self._path, lines))

    async def latest(self, tenant: TenantId) -> SignedCheckpoint | None:
        """The last checkpoint of `tenant` in the file. Raises AnchorUnavailable."""
        kept = await self._within_time(lambda: deque(read_anchor(self._path, tenant), maxlen=1))
        return kept[0] if kept else None

    async def history(self, tenant: TenantId) -> AsyncIterator[SignedCheckpoint]:
        """The checkpoints of `tenant`, read piece by piece. Raises AnchorUnavailable."""
        checkpoints = read_anchor(self._path, tenant)
        while batch := await self._within_time(lambda: list(islice(checkpoints, _BATCH))):
            for signed in batch:
                yield signed

    async def _within_time(self, work: Callable[[], Result]) -> Result:
        try:
            async with asyncio.timeout(self._timeout_s):
                return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        except (OSError, TimeoutError) as error:
            raise AnchorUnavailable(str(self._path)) from error


def read_anchor(path: Path, tenant: TenantId) -> Iterator[SignedCheckpoint]:
    """The checkpoints of `tenant` in the file at `path`, in its order; repeats are left out.

    Lines that cannot be read are passed over: the last one may have been torn by a crash. A missing
    file holds nothing. Raises OSError.
    """
    recent: deque[bytes] = deque(maxlen=_REPEATS_WITHIN)
    owner = str(tenant).encode()
    if not path.exists():
        return
    with path.open("rb") as file:
        for line in file:
            signed = _read_line(line) if owner in line else None
            if signed is None or signed.signature in recent or signed.checkpoint.tenant != tenant:
                continue
            recent.append(signed.signature)
            yield signed


def _append(path: Path, lines: bytes) -> None:
    is_new = not path.exists()
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with FileIO(descriptor, "r+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        _write_whole(file, (b"\n" if _is_torn(file) else b"") + lines)
        os.fsync(file)
    if is_new:
        _sync_folder(path.parent)


def _write_whole(file: FileIO, content: bytes) -> None:
    """A full disk may take a part only; what was torn is told apart by its missing line end."""
    written = file.write(content)
    if written != len(content):
        raise OSError(errno.ENOSPC, "only a part could be written")


def _is_torn(file: FileIO) -> bool:
    """Whether the file ends inside a line."""
    if file.seek(0, os.SEEK_END) == 0:
        return False
    file.seek(-1, os.SEEK_END)
    return file.read(1) != b"\n"


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _line(signed: SignedCheckpoint) -> bytes:
    return orjson.dumps(checkpoint_fields(signed), option=orjson.OPT_APPEND_NEWLINE)


def _read_line(line: bytes) -> SignedCheckpoint | None:
    try:
        signed = read_checkpoint(orjson.loads(line))
        _ = signed.checkpoint
    except (ValueError, KeyError, TypeError):
        return None
    return signed
