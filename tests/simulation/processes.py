"""The processes of the product: every service as it is composed, over the gated outside."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sqlalchemy.ext.asyncio import AsyncSession

from eai.bootstrap import Platform, job_handlers
from eai.bootstrap.composition import Outside, compose
from eai.integrations.cache import MemoryStore
from eai.kernel.errors import EaiError
from eai.kernel.ids import JobId, TenantId
from eai.platform.database import raw_connection
from eai.platform.handlers import JobHandler
from eai.platform.jobs import Fenced, JobRun
from eai.platform.outbound import Outbound
from eai.platform.worker import Worker
from tests.factories.retrieval import MASTER
from tests.simulation.connections import GatedConnection, GatedDatabase
from tests.simulation.outside import GatedVectors, models
from tests.simulation.remembered import Remembered
from tests.simulation.scheduler import Scheduler
from tests.stack import settings


@dataclass(frozen=True)
class Announcement:
    """What a queue would carry to a worker."""

    job: JobId
    name: str


@dataclass
class Process:
    """One process: its services, and a worker over them. `crashes` are errors that nobody foresaw."""

    platform: Platform
    worker: Worker
    crashes: list[BaseException]
    at_start: Remembered


class Processes:
    """Processes of one schedule at a time, each as it was composed; one that died is not used again in it."""

    def __init__(
        self, database: GatedDatabase, vectors: GatedVectors, scheduler: Scheduler, home: Path
    ) -> None:
        self._database = database
        self._vectors = vectors
        self._models = models(scheduler)
        self._settings = settings("postgresql://opened/already", home)
        self._all: list[Process] = []
        self._free: list[Process] = []

    def forget(self) -> None:
        """All are as new: what one of them learnt would be a statement less in the next schedule."""
        for process in self._all:
            process.at_start.put_back()
        self._free = [*self._all]

    def take(self) -> Process:
        return self._free.pop() if self._free else self._made()

    def give_back(self, process: Process) -> None:
        self._free.append(process)

    def _made(self) -> Process:
        opened = (self._database, self._vectors, Outbound(), MASTER, None, MemoryStore(10**6))
        outside = Outside(*opened)  # type: ignore[arg-type]
        platform = compose(self._settings, outside, self._models, None)
        platform.jobs._announce = _announce  # type: ignore[method-assign]
        # What is dropped is decided by the scheduler, which lets the time pass.
        platform.generation_dropping._grace_s = 0
        crashes: list[BaseException] = []
        handlers = {name: _watched(each, crashes) for name, each in job_handlers(platform).items()}
        worker = Worker(self._database, platform.jobs, handlers)
        shared = [self._database, self._vectors, self._settings, self._models]
        made = Process(platform, worker, crashes, Remembered([platform, worker, crashes], but=shared))
        self._all.append(made)
        return made


async def _announce(
    session: AsyncSession, tenant: TenantId, name: str, jobs: Sequence[JobId], *, after_s: float = 0
) -> None:
    connection = await raw_connection(session)
    assert isinstance(connection, GatedConnection)
    connection.announced.extend(Announcement(job, name) for job in jobs)


def _watched(handler: JobHandler, crashes: list[BaseException]) -> JobHandler:
    async def run(run: JobRun) -> None:
        try:
            await handler.run(run)
        except (EaiError, Fenced):
            raise
        except Exception as error:
            crashes.append(error)
            raise

    return replace(handler, run=run)
