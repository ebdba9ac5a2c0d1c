"""Everything that schedules share: one database, one loop, the processes, and the tenants to begin with."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any
from unittest import mock
from uuid import UUID, uuid4

import psycopg
import structlog

from eai.audit import details
from eai.ingestion.schemas import DocumentFields
from eai.ingestion.submission import Submission, Text
from eai.kernel.ids import BaseId, DocumentId, GenerationId, JobId, TenantId
from eai.knowledge.bases.schemas import EntrySchema, NewBase
from eai.knowledge.documents.schemas import SpanSchema
from eai.knowledge.ports import SpaceId
from eai.platform.conninfo import libpq_conninfo
from eai.reindex.schemas import ReindexRequest
from tests.conftest import DatabaseUrls
from tests.fakes.memory_vectors import MemoryVectors
from tests.simulation.clock import StandingLoop
from tests.simulation.connections import GatedConnection, GatedDatabase
from tests.simulation.outside import ONE, OTHER, GatedVectors
from tests.simulation.processes import Announcement, Process, Processes
from tests.simulation.scheduler import Scheduler
from tests.simulation.settling import settle
from tests.simulation.templates import Template, Tenant, entries, new_people

CHUNK_SIZE, CHUNK_OVERLAP = 100, 20
COLLECTED_AFTER = 50_000
"""Collecting as often as Python does by itself took a quarter of every schedule."""
_WAITING = "SELECT p FROM unnest(%s::int[]) p WHERE pg_blocking_pids(p) <> '{}'"


def text_of(marker: str, sentences: int) -> str:
    """A text that every question finds, in as many passages as it has sentences or so."""
    return " ".join(
        f"Refund {marker} of part {number} is paid to customers within a week of the claim."
        for number in range(sentences)
    )


class World:
    """One per test process. Close it."""

    def __init__(self, urls: DatabaseUrls, home: Path) -> None:
        self.admin = psycopg.connect(libpq_conninfo(urls.admin), autocommit=True, prepare_threshold=0)
        self.loop = StandingLoop(self._find_waiting, self._cancel_backend)
        self.loop.set_exception_handler(lambda _loop, _context: None)
        self.scheduler = Scheduler(self.loop)
        self.database = GatedDatabase(urls.app, self.scheduler)
        self.vectors = GatedVectors(self.scheduler)
        self.processes = Processes(self.database, self.vectors, self.scheduler, home)
        self.announced: list[Announcement] = []
        self.is_changed = False
        self._tenants: set[TenantId] = set()
        GatedConnection.on_commit = self._on_commit  # type: ignore[assignment]
        settle(self.admin)
        with quiet(self.loop), seeded_ids(Random("ids of templates").randbytes):
            self.loop.run_until_complete(self.database.open())
            self.templates = [self.loop.run_until_complete(make(self)) for make in MADE]
        gc.freeze()

    def close(self) -> None:
        self.loop.stop_nobody()
        self.loop.run_until_complete(self.database.close())
        self.loop.close()
        self.admin.close()

    def begin(self) -> MemoryVectors:
        """Nothing is left of the schedule before; the store of the next one."""
        self.scheduler.forget()
        self.processes.forget()
        self.announced.clear()
        self.is_changed = self.vectors.is_changed = False
        self.vectors.inner = MemoryVectors()
        return self.vectors.inner

    def remove(self, tenant: TenantId) -> None:
        """Make room for a tenant that was played on before."""
        if tenant in self._tenants:
            self.admin.execute("SELECT remove_tenant(%s)", [tenant])
        self._tenants.add(tenant)

    def _cancel_backend(self, backend: int) -> None:
        self.admin.execute("SELECT pg_cancel_backend(%s)", [backend])

    def _find_waiting(self, backends: list[int]) -> set[int]:
        return {backend for (backend,) in self.admin.execute(_WAITING, [backends])}

    def _on_commit(self, connection: GatedConnection) -> None:
        # No queue promises an order of what is announced at once.
        self.announced += sorted(connection.announced, key=lambda each: (each.name, each.job))
        self.is_changed |= connection.changes_knowledge

    # -- the tenants to begin with

    async def rest(self, process: Process, tenant: TenantId) -> None:
        """Run what was announced, and what that announces."""
        while self.announced:
            await process.worker.run_one(tenant, self.announced.pop(0).job)

    async def _tenant(self, process: Process) -> Tenant:
        id_ = TenantId(uuid4())
        people = new_people(self.admin, id_)
        base = BaseId(UUID(int=100))
        new = NewBase(
            name="base",
            chunk_size=CHUNK_SIZE,
            chunk_overlap=CHUNK_OVERLAP,
            embedding_model=ONE.name,
            acl=[
                EntrySchema(principal=entry.principal, permission=entry.permission)
                for entry in entries(people)
            ],
        )
        async with self.database.transaction(id_) as session:
            await process.platform.bases.create(session, people["admin"].subject, base, new)
        return Tenant(id_, base, people)

    async def _ingest(self, process: Process, tenant: Tenant, number: int, **fields: Any) -> DocumentId:
        document = DocumentId(UUID(int=200 + number))
        marker = f"first{number}"
        submission = submission_of(document, marker, sentences=1 + number % 2 * 2, **fields)
        await process.platform.ingestion.ingest(tenant.admin, str(tenant.base), submission, waits=True)
        await self.rest(process, tenant.id)
        return document

    def _template(self, tenant: Tenant) -> Template:
        generations = [
            (GenerationId(id_), SpaceId(name, size))
            for id_, name, size in self.admin.execute(
                "SELECT id, collection, dimensions FROM eai.kb_generations WHERE tenant_id = %s", [tenant.id]
            )
        ]
        points = {space: [*self.vectors.inner.points(space.name).values()] for _, space in generations}
        return Template(tenant, [id_ for id_, _ in generations], points)


def submission_of(document: DocumentId, marker: str, *, sentences: int, **fields: Any) -> Submission:
    """A document as the API hands it on."""
    given = DocumentFields(title=marker, language="en", **fields)
    text = Text(text_of(marker, sentences).encode(), "text/plain")
    return Submission(document, given, text, frozenset({"title", "language", *fields}))


async def two_documents(world: World, *, is_reindexed: bool = False) -> Template:
    """One that everybody reads, and one that only Ann does."""
    world.begin()
    process = world.processes.take()
    tenant = await world._tenant(process)
    ann = tenant.people["ann"].reference
    documents = [
        await world._ingest(process, tenant, 0),
        await world._ingest(process, tenant, 1, readers=[ann]),
    ]
    reindex = None
    if is_reindexed:
        reindex = JobId(UUID(int=300))
        async with world.database.transaction(tenant.id) as session:
            await process.platform.reindexes.request(
                session, tenant.admin, str(tenant.base), reindex, ReindexRequest(embedding_model=OTHER.name)
            )
        await world.rest(process, tenant.id)
    world.processes.give_back(process)
    made = Tenant(tenant.id, tenant.base, tenant.people, documents, reindex)
    return world._template(made)


async def reindexed(world: World) -> Template:
    """The same after a reindex to the other model, which may be taken back."""
    return await two_documents(world, is_reindexed=True)


async def partly_secret(world: World) -> Template:
    """One document, of which Ben alone reads the beginning."""
    world.begin()
    process = world.processes.take()
    tenant = await world._tenant(process)
    ben = tenant.people["ben"].reference
    spans = [SpanSchema(start=0, end=40, readers=[ben])]
    documents = [await world._ingest(process, tenant, 1, chunk_readers=spans)]
    world.processes.give_back(process)
    return world._template(Tenant(tenant.id, tenant.base, tenant.people, documents))


MADE = (two_documents, reindexed, partly_secret)


@contextmanager
def quiet(loop: StandingLoop) -> Iterator[None]:
    """Without logs, with threads that run at once, and by the clock of the loop: all is in one order."""

    async def at_once(function: Any, *arguments: Any, **options: Any) -> Any:
        return function(*arguments, **options)

    with (
        mock.patch("asyncio.to_thread", at_once),
        mock.patch.object(details, "time", SimpleNamespace(monotonic=loop.time)),
        structlog.testing.capture_logs(),
        _seldom_collected(),
    ):
        yield


@contextmanager
def _seldom_collected() -> Iterator[None]:
    usual = gc.get_threshold()
    gc.set_threshold(COLLECTED_AFTER)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


@contextmanager
def seeded_ids(random_bytes: Any) -> Iterator[None]:
    """Ids drawn by a schedule's own randomness: some things are done in their order."""
    with mock.patch("uuid.os", SimpleNamespace(urandom=random_bytes)):
        yield
