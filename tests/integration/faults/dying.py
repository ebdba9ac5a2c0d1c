"""Workers and API processes that end themselves at a given point of taking a document in.

`python -m tests.integration.faults.dying` makes one for each line that it reads: `worker count KILL FATAL`
is SIGKILLed after it has written the points of a text that holds `FATAL`; with STOP it freezes there. It
is forked, so that the imports are paid once, and tells its process id and its address. Settings come from
the environment, as in production. Points: `embed`, the methods of the vector store, `commit` (of what is
served), `committed`, and `-` for none; `count@3` is the third call from the fatal text on, and `commit@3`
what is committed after it. `*` is met from the beginning: it ends work that reads no text. A text that holds
`SLOW` takes a second to embed.
"""

import asyncio
import os
import signal
import socket
import sys
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast

import uvicorn
from sqlalchemy import event
from sqlalchemy.orm import Session

from eai.api.app import create_app
from eai.api.server import server_config
from eai.bootstrap import Platform, build, job_handlers
from eai.gateway.catalogue import LOCAL_HASH_256
from eai.gateway.ports import Embedded, EmbeddingRole
from eai.gateway.service import RegisteredModel
from eai.integrations.local_models import HashEmbedder
from eai.integrations.qdrant.client import EngineVectors
from eai.knowledge.ports import Vectors
from eai.platform.logging import configure_logging
from eai.platform.settings import load_settings, process_environ
from eai.platform.worker import Worker
from eai.reindex import building
from tests.integration.faults.outages import HASTE

SLOW = "SLOW"


class Fate:
    """Whether the fatal text has come, and the end when its point is reached, by whichever text."""

    def __init__(self, point: str, how: str, fatal: str) -> None:
        self._point, self._fatal = point, fatal
        self._signal = signal.SIGKILL if how == "KILL" else signal.SIGSTOP
        self._is_met = fatal == "*"
        self._times: Counter[str] = Counter()

    def reads(self, texts: Sequence[str]) -> None:
        if not self._is_met and any(self._fatal in text for text in texts):
            self._is_met = True
            self._times.clear()

    def reaches(self, point: str) -> None:
        self._times[point] += 1
        self._ends(point, self._times[point])

    def commits(self, point: str) -> None:
        if counted := self._times["count"]:
            self._ends(point, counted)

    def _ends(self, point: str, times: int) -> None:
        wanted, _, after = self._point.partition("@")
        if self._is_met and point == wanted and times >= int(after or 1):
            self._is_met = False
            os.kill(os.getpid(), self._signal)


class FatalEmbedder(HashEmbedder):
    def __init__(self, fate: Fate) -> None:
        self._fate = fate

    async def embed(self, texts: Sequence[str], role: EmbeddingRole) -> Embedded:
        if any(SLOW in text for text in texts):
            await asyncio.sleep(1)
        self._fate.reads(texts)
        self._fate.reaches("embed")
        return await super().embed(texts, role)


class FatalVectors:
    def __init__(self, inner: Vectors, fate: Fate) -> None:
        self._inner, self._fate = inner, fate

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        self._fate.reaches(name)
        return cast("Callable[..., Awaitable[Any]]", getattr(self._inner, name))


@asynccontextmanager
async def doomed(fate: Fate) -> AsyncIterator[Platform]:
    settings = load_settings(process_environ())
    event.listen(Session, "before_commit", lambda _: fate.commits("commit"))
    event.listen(Session, "after_commit", lambda _: fate.commits("committed"))
    vectors = FatalVectors(EngineVectors(settings.engine_socket), fate)
    models = {LOCAL_HASH_256.name: RegisteredModel(LOCAL_HASH_256, FatalEmbedder(fate))}
    async with build(settings, models=models, vectors=cast("Vectors", vectors), pace=HASTE) as platform:
        yield platform


async def work(fate: Fate) -> None:
    async with doomed(fate) as platform:
        _tell("-")
        await Worker(platform.database, platform.jobs, job_handlers(platform)).run()


async def serve(fate: Fate) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    async with doomed(fate) as platform:
        _tell(f"http://127.0.0.1:{listener.getsockname()[1]}")
        await uvicorn.Server(server_config(create_app(platform), lifespan="off")).serve(sockets=[listener])


def _tell(address: str) -> None:
    sys.stdout.write(f"{os.getpid()} {address}\n")
    sys.stdout.flush()


def main() -> None:
    configure_logging(show_messages=True)
    # So that a reindex of three documents has a middle.
    building.DOCUMENTS_PER_BATCH = 1
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the dead are nobody's
    for line in sys.stdin:
        kind, *fate = line.split()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            asyncio.run({"worker": work, "api": serve}[kind](Fate(*fate)))
            os._exit(0)


if __name__ == "__main__":
    main()
