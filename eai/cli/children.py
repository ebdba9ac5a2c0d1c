"""One child process of `eai up`: started, restarted when it ends by itself, and stopped in order."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from eai.integrations.processes import tether

_SHORTEST_PAUSE_S, _LONGEST_PAUSE_S = 0.25, 10.0
# A child that lived this long is not failing at its start: the next pause is the shortest again.
_HEALTHY_S = 30.0
_LARGEST_LOG_BYTES = 8 * 1024 * 1024


class Pauses:
    """How long to wait before each restart: doubling, bounded, forgotten after a healthy life."""

    def __init__(self) -> None:
        self._next_s = _SHORTEST_PAUSE_S

    def after(self, lived_s: float) -> float:
        """Seconds to wait now that the child has ended after `lived_s`."""
        if lived_s >= _HEALTHY_S:
            self._next_s = _SHORTEST_PAUSE_S
        pause_s, self._next_s = self._next_s, min(self._next_s * 2, _LONGEST_PAUSE_S)
        return pause_s


class Child:
    """One program under supervision. Its output goes to a log file; it dies with its parent."""

    def __init__(
        self,
        name: str,
        arguments: Sequence[str | Path],
        *,
        environ: Mapping[str, str],
        log: Path,
        inherited: Sequence[int] = (),
        report: Callable[[str], None],
        started: Callable[[str, int], None],
    ) -> None:
        self.name = name
        self.deaths = 0
        self._arguments = [str(argument) for argument in arguments]
        self._environ = dict(environ)
        self._log = log
        self._inherited = tuple(inherited)
        self._report = report
        self._started = started
        self._process: asyncio.subprocess.Process | None = None
        self._born_s = 0.0

    async def start(self) -> None:
        """Start it once."""
        self._born_s = asyncio.get_running_loop().time()
        log = self._open_log()
        try:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                *self._arguments,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=self._environ,
                pass_fds=self._inherited,
                start_new_session=True,  # a Ctrl-C at the terminal is the supervisor's to interpret
                preexec_fn=tether(signal.SIGKILL),
            )
        finally:
            os.close(log)
        self._started(self.name, self._process.pid)

    async def keep_running(self) -> None:
        """Start it again whenever it ends, until cancelled."""
        pauses = Pauses()
        while self._process is not None:
            code = await self._process.wait()
            self.deaths += 1
            pause_s = pauses.after(asyncio.get_running_loop().time() - self._born_s)
            self._report(f"{self.name} ended ({_meaning(code)}); starting it again in {pause_s:g} s")
            await asyncio.sleep(pause_s)
            await self.start()

    async def stop(self, within_s: float) -> None:
        """End it in order, or by force when it takes longer than `within_s`."""
        process = self._process
        if process is None or process.returncode is not None:
            return
        process.terminate()
        try:
            await asyncio.wait_for(process.wait(), within_s)
        except TimeoutError:
            self._report(f"{self.name} did not stop within {within_s:g} s and is killed")
            process.kill()
            await process.wait()

    def last_log_lines(self, count: int = 12) -> str:
        """The end of its log."""
        return "\n".join(self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-count:])

    def _open_log(self) -> int:
        if self._log.exists() and self._log.stat().st_size > _LARGEST_LOG_BYTES:
            self._log.replace(self._log.with_suffix(".log.1"))
        return os.open(self._log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)


def _meaning(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"signal {signal.Signals(-code).name}"
