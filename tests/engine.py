"""A real engine process for tests."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path


class Engine:
    """One engine on `folder`, answering on `socket`, that can be stopped, killed and started again."""

    def __init__(self, folder: Path, socket: Path) -> None:
        self.folder = folder
        self.socket = socket
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    async def start(self, *module: str) -> None:
        """Return when it listens. `module` runs in place of the product's own."""
        self._process = await self.spawn(*module)
        assert self._process.stdout is not None
        line = await asyncio.wait_for(self._process.stdout.readline(), 30)
        assert line == b"ready\n", line

    async def spawn(self, *module: str) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", *(module or ("eai.integrations.qdrant.engine",))),
            *("--folder", self.folder, "--socket", self.socket),
            stdout=asyncio.subprocess.PIPE,
        )

    async def dies(self, within_s: float) -> None:
        """Return when it has been killed."""
        assert self._process is not None
        assert await asyncio.wait_for(self._process.wait(), within_s) == -signal.SIGKILL

    async def kill(self) -> None:
        await self._end(signal.SIGKILL)

    async def stop(self) -> int:
        """Stop it in good order; returns its exit code."""
        return await self._end(signal.SIGTERM)

    async def _end(self, number: signal.Signals) -> int:
        assert self._process is not None
        if self._process.returncode is None:
            self._process.send_signal(number)
        await self._process.communicate()
        assert self._process.returncode is not None
        return self._process.returncode


@asynccontextmanager
async def running_engine(home: Path) -> AsyncIterator[Engine]:
    """An engine with its folder and socket under `home`, gone at the end."""
    engine = Engine(home / "engine", home / "engine.sock")
    await engine.start()
    try:
        yield engine
    finally:
        await engine.stop()
