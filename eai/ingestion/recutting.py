"""Cuts passages of a served text anew where rights have come to change within them.

A change of rights binds at once: a passage takes the strictest of what its parts have, and is kept from more
people than need be. Here it gives way to pieces that have one kind of rights each. Every piece is embedded by
itself, for the vector of the whole tells of the part that is hidden. Passages that no change runs through
stay as they are, and so do citations of them.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from uuid import UUID, uuid4

import structlog
from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import Classification
from eai.access.rights_class import generation_key
from eai.audit.actions import AuditAction
from eai.audit.entries import Resource
from eai.audit.service import Audit
from eai.gateway.calls import EmbeddingCall, Operation
from eai.gateway.ports import EmbeddingRole
from eai.gateway.service import Gateway
from eai.ingestion.leftovers import REWRITES, Leftovers, Traces, traces_of
from eai.ingestion.pieces import Recut, Served, points_of, prepared, recut_of, touched_by
from eai.ingestion.recut_rows import load_served, touched_points
from eai.ingestion.repository import is_recut_by_another, placement_of, submitter_of
from eai.kernel.canonical import Canonical
from eai.kernel.errors import EaiError, Unavailable
from eai.kernel.ids import BaseId, DocumentId, JobId
from eai.knowledge.bases.repository import BaseRows
from eai.knowledge.chunks.alignment import apply_tallies, uncounted_chunks
from eai.knowledge.chunks.repository import ChunkRows
from eai.knowledge.documents.drafts import PreparedChunk
from eai.knowledge.documents.repository import DocumentRows
from eai.knowledge.documents.serving import MOVE_RIGHTS, Part, VersionOutdated, add_chunks, queue
from eai.knowledge.ports import Selector, Vectors, VectorStoreUnavailable
from eai.knowledge.statistics.drift import reweigh_if_stale
from eai.knowledge.statistics.tally import Tally
from eai.platform.database import Database
from eai.platform.finishing import finished
from eai.platform.jobs import JobRun, Jobs

POINTS_PER_WRITE = 64

log = structlog.get_logger(__name__)


class Recutting:
    """Runs the job that a change of rights leaves behind; all of it may be repeated."""

    def __init__(
        self, database: Database, gateway: Gateway, vectors: Vectors, jobs: Jobs, audit: Audit
    ) -> None:
        self._database = database
        self._gateway = gateway
        self._vectors = vectors
        self._jobs = jobs
        self._audit = audit
        self._leftovers = Leftovers(database, vectors, jobs)

    async def run(self, run: JobRun) -> None:
        """Cut until no passage of the version has two kinds of rights. Raises what refuses a model's call."""
        try:
            while (recut := await self._next(run)) is not None:
                # Then the next look finds nothing to cut: the text is gone, or another answers.
                with suppress(VersionOutdated):
                    await self._recut(run, recut)
            await self._close(run)
        except BaseException:
            # However it ends: if the job is another's by now, nobody else knows of the points written last.
            with suppress(Unavailable):
                await finished(self._leave_to_another(run))
            raise

    async def give_up(self, run: JobRun, error: EaiError) -> None:
        """Leave the passages as they are: whole, and under the strictest of their rights."""
        log.warning("ingestion.recut_given_up", document=run.parameters["document"], code=error.code)
        await self._close(run, error)

    async def _next(self, run: JobRun) -> Recut | None:
        """What is to be cut in one generation; None when nothing is, or the version does not answer."""
        async with self._database.transaction(run.tenant) as session:
            progress = await self._jobs.confirm(session, run)
            # Else a generation that comes to be searched between two statements is in neither.
            await BaseRows(session, run.tenant).hold_still(BaseId(UUID(run.parameters["base"])))
            served = await load_served(session, run)
            if served is None:
                return None
            recut = await asyncio.to_thread(recut_of, served)
            if recut is not None:
                # Until the pieces have rows, this alone tells which points are theirs, and where.
                place = "placement" if recut.target.id == served.base.generation.id else "beside"
                touched = sorted({*progress.get("touched", ()), *map(str, touched_by(recut))})
                told = {place: placement_of(recut.target), "touched": touched}
                await self._jobs.confirm(session, run, told)
        return recut

    async def _recut(self, run: JobRun, recut: Recut) -> None:
        pieces = await self._embedded(run, recut)
        points = points_of(recut, pieces)
        for start in range(0, len(points), POINTS_PER_WRITE):
            await self._vectors.upsert(recut.target.space, points[start : start + POINTS_PER_WRITE])
        ids = Selector(generation_key(run.tenant, recut.target.id), ids=tuple(p.id for p in points))
        if points and await self._vectors.count(recut.target.space, ids) < len(points):
            raise VectorStoreUnavailable
        await self._store(run, recut, pieces)

    async def _embedded(self, run: JobRun, recut: Recut) -> Sequence[PreparedChunk]:
        """The pieces with their vectors: one call for all of a level."""
        by_level: dict[Classification, list[PreparedChunk]] = defaultdict(list)
        for piece, level in zip(recut.pieces, recut.levels, strict=True):
            by_level[level].append(piece)
        done: list[PreparedChunk] = []
        for level, alike in by_level.items():
            call = EmbeddingCall(
                caller=submitter_of(run.tenant, run.parameters),
                model=recut.target.embedding_model,
                inputs=[piece.content for piece in alike],
                role=EmbeddingRole.DOCUMENT,
                dimensions=recut.target.space.dimensions,
                # It answers already: what a steward has let pass stays.
                operation=Operation.REINDEX,
                level=level,
                base=recut.served.base.id,
                labels=run.parameters["labels"],
                before_batch=partial(self._level_now, run, alike),
            )
            answer = await self._gateway.embed(call)
            # Before anything is done with the vectors: what follows may fail, and the model was asked.
            await self._audit.flush(answer.evidence)
            done += [
                replace(piece, embedding=vector) for piece, vector in zip(alike, answer.vectors, strict=True)
            ]
        return sorted(done, key=lambda piece: piece.start)

    async def _level_now(self, run: JobRun, pieces: Sequence[PreparedChunk], _done: int) -> Classification:
        """The highest level of what these say, as of now. Raises VersionOutdated, Fenced."""
        async with self._database.transaction(run.tenant) as session:
            await self._jobs.confirm(session, run)
            served = await load_served(session, run, with_text=False)
        if served is None:
            raise VersionOutdated
        return served.level_of(pieces)

    async def _store(self, run: JobRun, recut: Recut, pieces: Sequence[PreparedChunk]) -> None:
        """Let the pieces take the passages' place, with the rights of now. Raises VersionOutdated, Fenced."""
        async with self._database.transaction(run.tenant) as session:
            await self._jobs.confirm(session, run)
            served = await self._held(session, run, recut)
            rows = ChunkRows(session, run.tenant)
            wanted = [chunk for chunk in served.chunks if chunk.point in recut.divided]
            divided = [chunk for chunk in wanted if served.strictest.divides(chunk.start, chunk.end)]
            if len(divided) < len(recut.divided):
                return  # Somebody else was faster, or the ranges are others by now: the next look tells.
            tally = Tally()
            for lost in (await uncounted_chunks(session, run.tenant, served.base.id, divided)).values():
                tally.include(lost)
            await rows.delete_chunks([chunk.point for chunk in divided])
            part = Part(served.document, served.version, prepared(served, pieces))
            (added,) = await add_chunks(session, served.base, recut.target, [part])
            tally.include(added.tally)
            await apply_tallies(session, run.tenant, {recut.target.id: tally})
            document = DocumentId(served.document.id)
            await rows.number_anew(document, served.version, recut.target.id)
            await reweigh_if_stale(session, self._jobs, served.base.id, recut.target, [document])
            if added.is_moved:
                await queue(session, self._jobs, MOVE_RIGHTS, served.base, document)
            await DocumentRows(session, run.tenant, served.base.id).update(document, {})
            await BaseRows(session, run.tenant).begin_content_epoch(served.base.id)
            facts: Mapping[str, Canonical] = {
                "passages": len(divided),
                "pieces": len(pieces),
                "generation": str(recut.target.id),
            }
            await self._record(session, run, facts)

    async def _held(self, session: AsyncSession, run: JobRun, recut: Recut) -> Served:
        """What is served, held so until the transaction ends."""
        base = recut.served.base.id
        row = await DocumentRows(session, run.tenant, base).lock(DocumentId(recut.served.document.id))
        rows = BaseRows(session, run.tenant)
        await rows.hold_still(base)
        if row is None or await rows.held_state(recut.target.id) not in {"serving", "building"}:
            raise VersionOutdated
        # Statements of their own, after the locks: what the wait for them made visible must be seen.
        served = await load_served(session, run, with_text=False)
        if served is None:
            raise VersionOutdated
        return served

    async def _record(self, session: AsyncSession, run: JobRun, facts: Mapping[str, Canonical]) -> None:
        parameters = run.parameters
        await self._audit.record(
            session,
            submitter_of(run.tenant, parameters).actor,
            AuditAction.DOCUMENT_RECUT,
            tenant=run.tenant,
            resource=Resource("document", parameters["document"]),
            facts={"base": parameters["base"], "version": parameters["version"], **facts},
        )

    async def _close(self, run: JobRun, error: EaiError | None = None) -> None:
        """Close the job once the store has of the points that were cut or written here what rows have.

        No transaction waits for the store. What is removed meanwhile another job may just have written, to
        give it rows, so these are read again before the job is closed, and it is done again unless they say
        what they said. Where another job is to cut the document, that one does it.
        """
        cleared: Traces | None = None
        while (traces := await self._closed_unless_left(run, error, cleared)) is not None:
            cleared = await self._leftovers.clear(run, traces)

    async def _closed_unless_left(
        self, run: JobRun, error: EaiError | None, cleared: Traces | None
    ) -> Traces | None:
        """Close the job, or tell what the store has to be made like first. Raises Fenced."""
        base, document = BaseId(UUID(run.parameters["base"])), DocumentId(UUID(run.parameters["document"]))
        async with self._database.transaction(run.tenant) as session:
            progress = await self._jobs.confirm(session, run)
            # While it is held, nobody has it cut by another job.
            await DocumentRows(session, run.tenant, base).lock_any(document)
            traces = await traces_of(session, run, base, progress)
            await self._jobs.confirm(session, run, {"touched": sorted(map(str, traces.touched))})
            is_done = not traces.touched or traces == cleared
            # What was written from rows only this job knows of.
            if not is_done and (traces.rewrites or not await is_recut_by_another(session, run)):
                return traces
            if error is None:
                await self._jobs.complete(session, run)
            else:
                await self._jobs.fail(session, run, error)
        return None

    async def _leave_to_another(self, run: JobRun) -> None:
        async with self._database.transaction(run.tenant) as session:
            if not await self._jobs.holds(session, run):
                touched = sorted(map(str, await touched_points(session, run)))
                # It may have removed or overwritten what has rows by now.
                parameters = {**run.parameters, "touched": touched, REWRITES: True}
                await self._jobs.create(session, run.tenant, JobId(uuid4()), run.name, parameters)
