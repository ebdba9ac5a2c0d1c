"""The product's own programs as in production, each a process that may be starved and stopped."""

import asyncio
import os
import resource
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import httpx2

from eai.platform.settings import Settings
from tests.integration.faults.outages import eventually
from tests.integration.kills.mortals import environ_of


@dataclass(frozen=True)
class Program:
    """One process, where it answers if it does, and what it has said."""

    process: asyncio.subprocess.Process
    log: Path
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def open_files(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def has_said(self, words: str) -> bool:
        return words in self.log.read_text(encoding="utf-8")

    async def is_ready(self) -> bool:
        """Whether it answers, or somebody else does on the same socket."""
        async with httpx2.AsyncClient(trust_env=False, verify=False) as client:
            with suppress(httpx2.TransportError):
                return (await client.get(f"{self.url}/readyz")).is_success
        return False

    async def stops(self, within_s: float) -> int:
        """SIGTERM; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return await asyncio.wait_for(self.process.wait(), within_s)


@asynccontextmanager
async def serving(
    chosen: Settings, listener: socket.socket, *, open_files: int = 0, **environ: str
) -> AsyncIterator[Program]:
    """`eai serve` on a socket that others may answer on as well; with `open_files` as by `ulimit -n`."""
    number = listener.fileno()
    arguments = ("-m", "eai.cli", "serve", "--descriptor", str(number))
    port = listener.getsockname()[1]
    async with _running(
        chosen, *arguments, descriptors=(number,), open_files=open_files, environ=environ
    ) as (process, log):
        program = Program(process, log, port)
        await eventually(lambda: program.has_said("Application startup complete"), within_s=60)
        yield program


@asynccontextmanager
async def working(chosen: Settings, **environ: str) -> AsyncIterator[Program]:
    """`python -m workers.all`."""
    async with _running(chosen, "-m", "workers.all", environ=environ) as (process, log):
        program = Program(process, log)
        await eventually(lambda: program.has_said("platform.built"), within_s=60)
        yield program


@asynccontextmanager
async def _running(
    chosen: Settings,
    *arguments: str,
    descriptors: tuple[int, ...] = (),
    open_files: int = 0,
    environ: dict[str, str],
) -> AsyncIterator[tuple[asyncio.subprocess.Process, Path]]:
    def starve() -> None:
        if open_files:
            resource.setrlimit(resource.RLIMIT_NOFILE, (open_files, open_files))

    path = chosen.home / f"program-{uuid4().hex}.log"
    log = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        process = await asyncio.create_subprocess_exec(
            sys.executable, *arguments, env=environ_of(chosen) | environ,
            stdout=log, stderr=log, pass_fds=descriptors, preexec_fn=starve,
        )  # fmt: skip
    finally:
        os.close(log)
    try:
        yield process, path
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
