"""Watches a process of the product wherever it passes something on to the outside, and names each passage.

Outside are PostgreSQL (commits, statements, and the carrier of jobs), the vector store and the models.
Nothing of this is in the product: the few functions that everything goes through are replaced in a process
of a test, before it works.
"""

import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from types import FrameType
from typing import Any, Protocol, TypeVar, cast
from uuid import UUID

from procrastinate.jobs import Job
from procrastinate.manager import JobManager
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncSession
from sqlalchemy.orm import Session

import eai
from eai.bootstrap import Platform
from eai.gateway.ports import Embedded, EmbeddingRole
from eai.integrations.local_models import HashEmbedder
from eai.integrations.qdrant.schedule import READS
from eai.kernel.ids import JobId, TenantId
from eai.knowledge.ports import Vectors
from eai.platform.database import Database
from eai.platform.outbound import Outbound
from eai.platform.worker import Worker

T = TypeVar("T")
ROOT = Path(eai.__file__).parents[1]
_PASSAGE = "passage"
_whose: ContextVar[str | None] = ContextVar("whose", default=None)
"""What the process is at: the name of a job, or of what else it does; None for what is not watched."""


class Moment(StrEnum):
    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, slots=True)
class Passage:
    """`what` is done at `site` in the course of `whose`. `is_effect`: it leaves something outside."""

    whose: str
    site: str
    line: int
    what: str
    is_effect: bool = True


class Watch(Protocol):
    """Is told of each passage."""

    needs_effects: bool
    """Whether it must be known of a commit if there is anything to commit."""

    def passes(self, passage: Passage, moment: Moment) -> None: ...


class WatchedVectors:
    """The vector store behind `inner`."""

    def __init__(self, inner: Vectors, watch: Watch) -> None:
        self._inner, self._watch = inner, watch

    def __getattr__(self, name: str) -> Callable[..., Awaitable[Any]]:
        call = getattr(self._inner, name)

        def passing(*arguments: Any, **named: Any) -> Awaitable[Any]:
            passage = _here(sys._getframe(1), name, is_effect=name not in READS)
            return _passed(self._watch, passage, call(*arguments, **named))

        return passing


class WatchedEmbedder(HashEmbedder):
    """The local model, which is outside as far as a kill is concerned."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    async def embed(self, texts: Sequence[str], role: EmbeddingRole) -> Embedded:
        passage = _here(sys._getframe(0).f_back, "embed")
        return await _passed(self._watch, passage, super().embed(texts, role))


def watch_all(platform: Platform, watch: Watch, mark: str) -> None:
    """Tell `watch` of all passages of jobs whose parameters hold `mark`, and of what is `at_work`."""
    names = _Names(platform, mark)
    _watch_transactions(watch)
    _watch_statements(watch)
    _watch_outbound(watch)
    _watch_jobs(watch, names)
    _watch_carrier(watch, names)


@asynccontextmanager
async def at_work(whose: str | None) -> AsyncIterator[None]:
    """What happens in the block, and in the tasks that begin there, is watched under this name."""
    token = _whose.set(whose)
    try:
        yield
    finally:
        _whose.reset(token)


class _Names:
    """The names of the jobs that are meant."""

    def __init__(self, platform: Platform, mark: str) -> None:
        self._platform, self._mark = platform, mark
        self._known: dict[str, str | None] = {}

    async def of(self, tenant: str, job: str) -> str | None:
        if job not in self._known:
            async with at_work(None):
                self._known[job] = await self._find(TenantId(UUID(tenant)), JobId(UUID(job)))
        return self._known[job]

    async def _find(self, tenant: TenantId, job: JobId) -> str | None:
        async with self._platform.database.transaction(tenant) as session:
            connection = await session.connection()
            found = await connection.exec_driver_sql(
                "SELECT name FROM eai.jobs WHERE tenant_id = %s AND id = %s"
                " AND strpos(id::text || parameters::text, %s) > 0",
                (tenant, job, self._mark),
            )
            return cast("str | None", found.scalar())


def _watch_transactions(watch: Watch) -> None:
    opened = Database.transaction

    def transaction(self: Database, tenant: TenantId) -> AbstractAsyncContextManager[AsyncSession]:
        return _known_to_its_session(opened(self, tenant), _here(sys._getframe(1), "commit"))

    def before_commit(session: Session) -> None:
        passage = session.info.get(_PASSAGE)
        if passage is None:
            return
        if watch.needs_effects:
            asked = session.connection().exec_driver_sql("SELECT pg_current_xact_id_if_assigned()")
            session.info[_PASSAGE] = passage = replace(passage, is_effect=asked.scalar() is not None)
        _tell(watch, passage, Moment.BEFORE)

    def after_commit(session: Session) -> None:
        if (passage := session.info.get(_PASSAGE)) is not None:
            _tell(watch, passage, Moment.AFTER)

    Database.transaction = transaction  # type: ignore[method-assign, assignment]
    event.listen(Session, "before_commit", before_commit)
    event.listen(Session, "after_commit", after_commit)


@asynccontextmanager
async def _known_to_its_session(
    opening: AbstractAsyncContextManager[AsyncSession], passage: Passage
) -> AsyncIterator[AsyncSession]:
    async with opening as session:
        session.sync_session.info[_PASSAGE] = passage
        yield session


def _watch_statements(watch: Watch) -> None:
    run = Database.statement

    def statement(self: Database, *arguments: Any, is_repeatable: bool = False) -> Awaitable[Any]:
        # What may be repeated leaves nothing, as the product itself says of it.
        passage = _here(sys._getframe(1), "statement", is_effect=not is_repeatable)
        return _passed(watch, passage, run(self, *arguments, is_repeatable=is_repeatable))

    Database.statement = statement  # type: ignore[method-assign, assignment]


def _watch_outbound(watch: Watch) -> None:
    post = Outbound.post

    def posting(self: Outbound, url: str, **how: Any) -> Awaitable[Any]:
        return _passed(watch, _here(sys._getframe(1), "post"), post(self, url, **how))

    Outbound.post = posting  # type: ignore[method-assign, assignment]


def _watch_jobs(watch: Watch, names: _Names) -> None:
    run_one = Worker.run_one

    async def running(self: Worker, tenant: TenantId, job: JobId) -> None:
        async with at_work(await names.of(str(tenant), str(job))):
            await run_one(self, tenant, job)

    Worker.run_one = running  # type: ignore[method-assign]


def _watch_carrier(watch: Watch, names: _Names) -> None:
    fetch, finish, retry = JobManager.fetch_job, JobManager.finish_job, JobManager.retry_job

    async def fetching(self: JobManager, *arguments: Any, **named: Any) -> Job | None:
        job = await fetch(self, *arguments, **named)
        if job is not None:
            async with at_work(await names.of(job.task_kwargs["tenant"], job.task_kwargs["job"])):
                _tell(watch, Passage("", "carrier", 0, "fetch_job"), Moment.BEFORE)
                _tell(watch, Passage("", "carrier", 0, "fetch_job"), Moment.AFTER)
        return job

    async def finishing(self: JobManager, job: Job, *arguments: Any, **named: Any) -> None:
        async with at_work(await names.of(job.task_kwargs["tenant"], job.task_kwargs["job"])):
            passage = Passage("", "carrier", 0, "finish_job")
            await _passed(watch, passage, finish(self, job, *arguments, **named))

    async def retrying(self: JobManager, *arguments: Any, **named: Any) -> None:
        await _passed(watch, Passage("", "carrier", 0, "retry_job"), retry(self, *arguments, **named))

    JobManager.retry_job = retrying  # type: ignore[method-assign]
    JobManager.fetch_job = fetching  # type: ignore[method-assign]
    JobManager.finish_job = finishing  # type: ignore[method-assign]


async def _passed(watch: Watch, passage: Passage, call: Awaitable[T]) -> T:
    _tell(watch, passage, Moment.BEFORE)
    answer = await call
    _tell(watch, passage, Moment.AFTER)
    return answer


def _tell(watch: Watch, passage: Passage, moment: Moment) -> None:
    whose = _whose.get()
    if whose is not None:
        watch.passes(replace(passage, whose=whose), moment)


def _here(frame: FrameType | None, what: str, *, is_effect: bool = True) -> Passage:
    """The passage at the nearest caller in the product that is not just on the way to the database."""
    while frame is not None and not _is_site(frame):
        frame = frame.f_back
    if frame is None:
        return Passage("", "nowhere", 0, what, is_effect)
    place = os.path.relpath(frame.f_code.co_filename, ROOT)
    function = frame.f_code.co_qualname.removesuffix(".<locals>.<listcomp>")
    return Passage("", f"{place} {function}", frame.f_lineno, what, is_effect)


def _is_site(frame: FrameType) -> bool:
    path = frame.f_code.co_filename
    return path.startswith(f"{ROOT}/eai/") and not path.endswith("/platform/database.py")
