"""What a benchmark needs running beside it, in a folder of its own that is gone afterwards."""

import asyncio
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from eai.integrations.home import HomeFolder
from eai.integrations.postgres import EmbeddedPostgres
from eai.integrations.processes import tether
from eai.platform.migrate import migrate


@dataclass(frozen=True)
class Postgres:
    """A migrated database with the product's own settings: every commit is on disk."""

    admin_url: str
    app_url: str
    pid: int


@contextmanager
def temporary_home() -> Iterator[Path]:
    """An empty folder, removed at the end with whatever lies in it, also when this process is told to end."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    home = Path(tempfile.mkdtemp(prefix="eai-bench-"))
    try:
        yield home
    finally:
        shutil.rmtree(HomeFolder(home).postgres.resolve(), ignore_errors=True)
        shutil.rmtree(home, ignore_errors=True)


@asynccontextmanager
async def running_postgres(home: Path) -> AsyncIterator[Postgres]:
    """The embedded server of `home`, migrated."""
    server = EmbeddedPostgres(home)
    await server.start()
    try:
        await migrate(server.admin_url, server.app_url)
        pid_file = HomeFolder(home).postgres.resolve() / "data" / "postmaster.pid"
        yield Postgres(server.admin_url, server.app_url, int(pid_file.read_text().split("\n")[0]))
    finally:
        await server.stop()


@asynccontextmanager
async def running_engine(folder: Path, socket: Path, *, graph: bool = False) -> AsyncIterator[int]:
    """The embedded engine in a process of its own on `folder`; gives its process id."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "eai.integrations.qdrant.engine", "--folder", folder, "--socket", socket),
        *(["--graph"] if graph else []),
        stdout=asyncio.subprocess.PIPE,
        preexec_fn=tether(),
    )
    try:
        assert process.stdout is not None
        line = await asyncio.wait_for(process.stdout.readline(), 120)
        if line != b"ready\n":
            raise RuntimeError("the engine did not start")
        yield process.pid
    finally:
        if process.returncode is None:
            process.terminate()
        await process.communicate()
