"""What a killed server leaves behind: living processes in its folder, and lock files of the dead.

PostgreSQL judges its lock file by whether the process id in it exists. A zombie that nobody reaps and
an id that was given to another process both look alive to it, and it would never start again.
Here a process counts as the server's only when it lives and works in the data folder.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from eai.integrations.processes import started_at, until

_PROCESSES = Path("/proc")
# How long a server may take for an orderly stop, then for an immediate one.
_FAST_S, _IMMEDIATE_S = 20.0, 5.0
# Backends notice within moments that their postmaster died; a busy one only at its next wait.
_ORPHANS_S = 1.0


def is_known_here() -> bool:
    """Whether this system tells which processes work in a folder."""
    return (_PROCESSES / "self" / "cwd").exists()


def living(folder: Path) -> list[int]:
    """Ids of the processes that live and have `folder` as their working directory."""
    resolved = str(folder.resolve())
    return [pid for pid in _process_ids() if _works_in(pid, resolved)]


def _process_ids() -> Iterator[int]:
    for entry in _PROCESSES.iterdir():
        if entry.name.isdigit():
            yield int(entry.name)


def _works_in(pid: int, folder: str) -> bool:
    try:
        if str((_PROCESSES / str(pid) / "cwd").readlink()) != folder:
            return False
    except OSError:
        return False
    return started_at(pid) is not None


def postmaster_pid(folder: Path) -> int | None:
    """The process id the lock file of `folder` names."""
    try:
        return int((folder / "postmaster.pid").read_text().splitlines()[0])
    except (OSError, ValueError, IndexError):
        return None


async def clear(data: Path, sockets: Path) -> None:
    """Stop whatever still serves `data`, then remove the lock files. Raises TimeoutError."""
    if not is_known_here():
        return
    pid = postmaster_pid(data)
    found = living(data)
    if pid in found:
        _signal([pid], signal.SIGINT)
        await _gone(data, _FAST_S)
    else:
        await _gone(data, _ORPHANS_S)
    for last, wait_s in ((signal.SIGQUIT, _IMMEDIATE_S), (signal.SIGKILL, _IMMEDIATE_S)):
        _signal(living(data), last)
        await _gone(data, wait_s)
    left = living(data)
    if left:
        raise TimeoutError(f"processes {left} still use {data} and cannot be stopped")
    _remove_locks(data, sockets)


def _remove_locks(data: Path, sockets: Path) -> None:
    for lock in (data / "postmaster.pid", *sockets.glob(".s.PGSQL.*")):
        lock.unlink(missing_ok=True)


def _signal(pids: list[int], number: signal.Signals) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


async def _gone(data: Path, within_s: float) -> None:
    await until(lambda: not living(data), within_s)
