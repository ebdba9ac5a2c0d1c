"""Makes processes of the product that die or freeze where a test wants it: see `dying.py`."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from eai.integrations.processes import started_at
from eai.platform.settings import Settings
from tests.integration.faults.outages import eventually
from tests.integration.kills.dying import FATED, PATIENT, Order


@dataclass(frozen=True)
class Mortal:
    """One process; `url` is where an API answers."""

    pid: int
    url: str

    @property
    def is_alive(self) -> bool:
        return started_at(self.pid) is not None

    @property
    def is_frozen(self) -> bool:
        state = Path(f"/proc/{self.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2]
        return state.split()[0] == "T"

    async def dies(self, within_s: float = 30.0) -> None:
        """Return once it is dead."""
        await eventually(lambda: not self.is_alive, within_s)

    async def freezes(self) -> None:
        """Return once it is stopped in the middle of something."""
        await eventually(lambda: self.is_frozen)

    def go_on(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def has_its_clock_jump(self) -> None:
        """By as much as its surroundings say."""
        os.kill(self.pid, signal.SIGUSR1)


class Mortals:
    """All of them come from one parent, which has paid the imports."""

    def __init__(self, parent: asyncio.subprocess.Process, log: Path) -> None:
        self._parent = parent
        self._log = log
        self._born: list[Mortal] = []
        self._turn = asyncio.Lock()

    def alive(self) -> list[Mortal]:
        """Those that live, frozen or not."""
        return [mortal for mortal in self._born if mortal.is_alive]

    def heard(self, word: str) -> int:
        """How often `word` is in what they all have logged."""
        return self._log.read_text(encoding="utf-8").count(word)

    def has_met_its_fate(self, mortal: Mortal) -> bool:
        """Whether it was ended where it was to end, and not by anything else."""
        return f"{FATED} {mortal.pid}\n" in self._log.read_text(encoding="utf-8")

    @classmethod
    @asynccontextmanager
    async def over(cls, chosen: Settings, *, is_patient: bool = False) -> AsyncIterator["Mortals"]:
        """With the settings of a running product; `is_patient` processes keep its leases too."""
        log = chosen.home / f"mortals-{uuid4().hex}.log"
        manner = [PATIENT] if is_patient else []
        with log.open("wb") as file:
            parent = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "tests.integration.kills.dying", *manner,
                env=environ_of(chosen),
                stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=file,
            )  # fmt: skip
        try:
            yield cls(parent, log)
        finally:
            parent.kill()
            await parent.communicate()

    @asynccontextmanager
    async def born(self, order: Order) -> AsyncIterator[Mortal]:
        """A process at work; the end of the block ends it."""
        assert self._parent.stdin is not None
        assert self._parent.stdout is not None
        async with self._turn:
            self._parent.stdin.write(order.as_line())
            line = await asyncio.wait_for(self._parent.stdout.readline(), 60)
        pid, url = line.decode().split()
        mortal = Mortal(int(pid), url)
        self._born.append(mortal)
        try:
            yield mortal
        finally:
            with suppress(ProcessLookupError):
                os.kill(mortal.pid, signal.SIGKILL)


def environ_of(chosen: Settings) -> dict[str, str]:
    assert chosen.database.url is not None
    assert chosen.keys.master_key is not None
    kept = {name: value for name, value in os.environ.items() if not name.startswith("EAI_")}
    return kept | {
        "EAI_ENV": "test",
        "EAI_HOME": str(chosen.home),
        "EAI_DATABASE_URL": chosen.database.url.get_secret_value(),
        "EAI_MASTER_KEY": chosen.keys.master_key.get_secret_value(),
        "EAI_RAG_EMBEDDING_MODEL": "local-hash-256",
        "EAI_EGRESS_ALLOW": ",".join(chosen.egress.allow),
    }
