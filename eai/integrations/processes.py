"""Child processes: tied to their parent, and awaited."""

import asyncio
import ctypes
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_POLL_S = 0.02


def tether(number: signal.Signals = signal.SIGTERM) -> Callable[[], None] | None:
    """A `preexec_fn` after which the child receives `number` when the thread that started it ends.

    None where the system cannot do it. The library call is looked up here, before the fork: the
    child of a fork must not load anything.
    """
    if not sys.platform.startswith("linux"):
        return None
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    parent = os.getpid()

    def bind() -> None:
        prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)  # the parent died before the call could take effect

    return bind


async def until(condition: Callable[[], bool], within_s: float) -> bool:
    """Whether `condition` came true within the time; it is asked every 20 ms.

    For what no event tells of: the end of a process that is not the event loop's own child.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + within_s
    while not condition():
        if loop.time() > deadline:
            return False
        await asyncio.sleep(_POLL_S)
    return True


def started_at(pid: int) -> str | None:
    """When process `pid` began, in the system's own ticks; None when it does not live.

    With it an id can be told from a later process that was given the same one.
    """
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    # The command's name stands in brackets and may hold anything, brackets and spaces included.
    state, *fields = text.rpartition(")")[2].split()
    return None if state in {"Z", "X"} else fields[18]
