"""Workers and API processes that end themselves at a given passage to the outside.

`python -m tests.integration.kills.dying` makes one for each line that it reads, an `Order` as JSON. It is
forked, so that the imports are paid once: before a fork there is no event loop, no thread and no connection.
It tells its process id and its address. Settings come from the environment, as in production; with the
argument `patient`, what a process has claimed, jobs and calls, stays claimed as long as in production.
"""

import asyncio
import gc
import json
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, cast

import uvicorn

from eai.api.app import create_app
from eai.api.idempotency import repository as idempotency
from eai.api.server import server_config
from eai.bootstrap import Platform, build, job_handlers, maintain
from eai.gateway import ledger
from eai.gateway.catalogue import LOCAL_HASH_256
from eai.gateway.ports import Embedded, EmbeddingRole
from eai.gateway.service import RegisteredModel
from eai.integrations.local_models import HashEmbedder
from eai.integrations.qdrant.client import EngineVectors
from eai.knowledge.ports import Vectors
from eai.platform.jobs import Pace
from eai.platform.logging import configure_logging
from eai.platform.settings import load_settings, process_environ
from eai.platform.worker import Worker
from eai.reindex import building
from tests.integration.faults.outages import HASTE, PATIENCE
from tests.integration.kills.passages import (
    Moment,
    Passage,
    Watch,
    WatchedEmbedder,
    WatchedVectors,
    at_work,
    watch_all,
)
from tests.integration.kills.surroundings import Surroundings

SLOW = "SLOW"
"""A text that holds it takes a second to embed."""
SWEEP, REQUEST = "sweep", "request"
PATIENT = "patient"
FATED = "ended at its passage:"


@dataclass(frozen=True, slots=True)
class Fate:
    """The passage at which a process ends, by the signal `how`: the `nth` one of this kind."""

    whose: str
    site: str
    what: str
    moment: str = "after"
    nth: int = 1
    how: str = "SIGKILL"


@dataclass(frozen=True, slots=True)
class Order:
    """A process to be made. `mark` is in the parameters of the jobs that are meant.

    kind: `worker`, `api`, or `sweeper`, which does once what workers do now and then.
    record: the file to which every passage is written; fate: the one that ends it; neither: it lives.
    sweeps: it takes over what the dead have left. Those that live do.
    surroundings: what it finds where it runs.
    """

    kind: str
    mark: str = ""
    record: str | None = None
    fate: Fate | None = None
    sweeps: bool = False
    surroundings: Surroundings = field(default_factory=Surroundings)

    def as_line(self) -> bytes:
        return json.dumps(asdict(self)).encode() + b"\n"

    @classmethod
    def of_line(cls, line: str) -> "Order":
        read = json.loads(line)
        fate = Fate(**read["fate"]) if read["fate"] else None
        return cls(**{**read, "fate": fate, "surroundings": Surroundings(**read["surroundings"])})


class Unwatched(Watch):
    needs_effects = False

    def passes(self, passage: Passage, moment: Moment) -> None:
        pass


class Record(Watch):
    """Writes down what has passed."""

    needs_effects = True

    def __init__(self, path: str) -> None:
        self._file = Path(path).open("a", encoding="utf-8")  # noqa: SIM115, as long as the process

    def passes(self, passage: Passage, moment: Moment) -> None:
        if moment is Moment.AFTER:
            self._file.write(json.dumps(asdict(passage)) + "\n")
            self._file.flush()


class Doom(Watch):
    """Ends the process when its fate has come. A commit of nothing is none."""

    needs_effects = True

    def __init__(self, fate: Fate) -> None:
        self._fate = fate
        self._times = 0

    def passes(self, passage: Passage, moment: Moment) -> None:
        fate = self._fate
        met = (passage.whose, passage.site, passage.what, moment)
        is_empty = passage.what == "commit" and not passage.is_effect
        if is_empty or met != (fate.whose, fate.site, fate.what, fate.moment):
            return
        self._times += 1
        if self._times == fate.nth:
            sys.stderr.write(f"{FATED} {os.getpid()}\n")
            sys.stderr.flush()
            os.kill(os.getpid(), getattr(signal, fate.how))


class SlowEmbedder(WatchedEmbedder):
    async def embed(self, texts: Sequence[str], role: EmbeddingRole) -> Embedded:
        if any(SLOW in text for text in texts):
            await asyncio.sleep(1)
        return await super().embed(texts, role)


@asynccontextmanager
async def doomed(order: Order) -> AsyncIterator[Platform]:
    settings = load_settings(process_environ())
    watch = _watch(order)
    vectors = cast("Vectors", WatchedVectors(EngineVectors(settings.engine_socket), watch))
    models = {LOCAL_HASH_256.name: RegisteredModel(LOCAL_HASH_256, cast(HashEmbedder, SlowEmbedder(watch)))}
    async with build(settings, models=models, vectors=vectors, pace=_pace()) as platform:
        if not isinstance(watch, Unwatched):
            watch_all(platform, watch, order.mark)
        yield platform


def _pace() -> Pace:
    return PATIENCE if PATIENT in sys.argv else HASTE


def _watch(order: Order) -> Watch:
    if order.fate is not None:
        return Doom(order.fate)
    return Unwatched() if order.record is None else Record(order.record)


async def work(order: Order) -> None:
    """A worker. Unless it is to live, or told so, it leaves alone what the dead have left."""
    is_survivor = order.fate is None and order.record is None
    async with doomed(order) as platform, asyncio.TaskGroup() as group:
        worker = Worker(platform.database, platform.jobs, job_handlers(platform))
        if is_survivor:
            group.create_task(_maintain_forever(platform))
        elif not order.sweeps:
            worker.sweep = _nothing  # type: ignore[method-assign]
        _tell("-")
        await worker.run()


async def _maintain_forever(platform: Platform) -> None:
    while True:
        await maintain(platform)
        await asyncio.sleep(HASTE.sweep_interval_s)


async def _nothing() -> None:
    pass


async def sweep(order: Order) -> None:
    async with doomed(order) as platform, platform.jobs.app.open_async(), at_work(SWEEP):
        _tell("-")
        # As if the time had passed for which a generation that was left can be gone back to.
        platform.generation_dropping._grace_s = 0
        await Worker(platform.database, platform.jobs, job_handlers(platform)).sweep()
        await maintain(platform)


async def serve(order: Order) -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    async with doomed(order) as platform, at_work(REQUEST):
        _tell(f"http://127.0.0.1:{listener.getsockname()[1]}")
        await uvicorn.Server(server_config(create_app(platform), lifespan="off")).serve(sockets=[listener])


KINDS: dict[str, Callable[[Order], Coroutine[Any, Any, None]]] = {
    "worker": work,
    "sweeper": sweep,
    "api": serve,
}


def _tell(address: str) -> None:
    sys.stdout.write(f"{os.getpid()} {address}\n")
    sys.stdout.flush()


def _hurry() -> None:
    # So that a reindex of three documents has a middle.
    building.DOCUMENTS_PER_BATCH = 1
    # What a process has claimed is given up as soon as its jobs are.
    ledger.LEASE_S = HASTE.lease_s
    idempotency.LEASE = idempotency.LEASE * (HASTE.lease_s / idempotency.LEASE.total_seconds())


def main() -> None:
    configure_logging(show_messages=True)
    if PATIENT not in sys.argv:
        _hurry()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the dead are nobody's
    gc.collect()
    gc.freeze()  # so that the children do not copy what they only look at
    for line in sys.stdin:
        order = Order.of_line(line)
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            order.surroundings.enter()
            asyncio.run(KINDS[order.kind](order))
            os._exit(0)


if __name__ == "__main__":
    main()
