"""A record of the running processes, so that the next start can end those a killed one left behind.

Children die with their supervisor where the system can tie them to it; this is for where it cannot.
"""

import json
import os
import signal
from contextlib import suppress
from pathlib import Path

from eai.integrations.home import HomeFolder, write_private
from eai.integrations.processes import started_at, until

_GONE_WITHIN_S = 10.0


class ProcessRecord:
    """Which processes run for a home: name, id, and when each began, for ids are given again."""

    def __init__(self, home: HomeFolder) -> None:
        self._path: Path = home.run / "processes.json"
        self._known: dict[str, tuple[int, str | None]] = {}

    def note(self, name: str, pid: int) -> None:
        """Remember that `name` now runs as `pid`."""
        self._known[name] = (pid, started_at(pid))
        write_private(self._path, json.dumps(self._known))

    def forget(self) -> None:
        """All of them were stopped."""
        self._path.unlink(missing_ok=True)

    async def end_orphans(self) -> list[str]:
        """Kill what still lives of the record of an earlier start; the names of what was killed."""
        living = {name: pid for name, (pid, born) in self._read().items() if _is_the_same(pid, born)}
        for pid in living.values():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        await until(lambda: not any(started_at(pid) for pid in living.values()), _GONE_WITHIN_S)
        self.forget()
        return sorted(living)

    def _read(self) -> dict[str, tuple[int, str | None]]:
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return {}
        return {name: (pid, born) for name, (pid, born) in found.items()}


def _is_the_same(pid: int, born: str | None) -> bool:
    return born is not None and started_at(pid) == born
