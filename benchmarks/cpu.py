"""Processor time and memory of other processes, from /proc."""

import os
from collections.abc import Iterable
from pathlib import Path

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")


def tree(pid: int) -> list[int]:
    """A process and everything it started that still lives."""
    found = [pid]
    for parent in found:
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            found += map(int, task.read_text().split())
    return found


def cpu_s(pids: Iterable[int]) -> float:
    """Seconds of processor time that these processes, and children of theirs that ended, have used."""
    return sum(_ticks(pid) for pid in pids) * _TICK_S


def busy_s() -> float:
    """Seconds of processor time that everything on this machine has used."""
    user, nice, system, _idle, _waiting, *rest = Path("/proc/stat").read_text().split("\n")[0].split()[1:9]
    return sum(map(int, (user, nice, system, *rest))) * _TICK_S


def resident_mib(pid: int) -> float:
    """Memory that a process holds, in MiB."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE / 2**20


def _ticks(pid: int) -> int:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return 0
    # utime, stime, cutime, cstime, counted from behind the command's name, which may hold anything.
    fields = text.rpartition(")")[2].split()
    return sum(map(int, fields[11:15]))
