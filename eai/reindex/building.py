"""Fills the next generation: some documents at a time, from what is stored of them.

A document goes over whole, in one transaction, so that a generation has either nothing of a version or all
of it. What is missing is found in the rows each time: an attempt that goes on
after another needs no other mark.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import Classification, highest
from eai.access.rights_class import generation_key
from eai.audit.service import Audit
from eai.gateway.calls import EmbeddingCall, Operation
from eai.gateway.ports import EmbeddingRole
from eai.gateway.service import Gateway
from eai.kernel.errors import Unavailable
from eai.kernel.ids import DocumentId, VersionId
from eai.knowledge.bases.handle import BuildingGeneration
from eai.knowledge.bases.repository import BaseRows
from eai.knowledge.chunks.alignment import apply_tallies
from eai.knowledge.documents.levels import found_level
from eai.knowledge.documents.overwritten import follow_anew
from eai.knowledge.documents.serving import MOVE_RIGHTS, Part, add_chunks, queue
from eai.knowledge.documents.span_rights import queue_recut
from eai.knowledge.models import KnowledgeDocument
from eai.knowledge.ports import Selector, Vectors, VectorStoreUnavailable
from eai.knowledge.statistics.drift import reweigh_if_stale
from eai.knowledge.statistics.tally import Tally
from eai.platform.database import Database
from eai.platform.finishing import finished
from eai.platform.jobs import JobRun, Jobs
from eai.reindex.coverage_rows import CoverageRows, Missing, Place
from eai.reindex.drafts import (
    Draft,
    cuts_of,
    drafts_of,
    level_of,
    numbered,
    points_of,
    respect,
    sources_of,
    with_rights,
)
from eai.reindex.errors import ReindexIncomplete
from eai.reindex.repository import GenerationRows, ReindexRows
from eai.reindex.task import BaseGone, Present, Task, present, require_built

POINTS_PER_WRITE = 64
DOCUMENTS_PER_BATCH = 256
CALLS_PER_BATCH = 4
"""What a batch costs besides its passages, about thirty statements, it costs once for all these calls."""
REST = 0.5
"""How long is rested after a batch, for each second of work on it: those who ask want the same processors,
and no nice value makes PostgreSQL and the engine give way. Waiting for a model is no work."""

MOST_IN_VAIN = 5
"""So often in a row what is missing is looked for and nothing of it brought."""


class Building:
    """Brings what is missing, until a look from the first document to the last finds nothing."""

    def __init__(
        self, database: Database, gateway: Gateway, vectors: Vectors, jobs: Jobs, audit: Audit
    ) -> None:
        self._database = database
        self._gateway = gateway
        self._vectors = vectors
        self._jobs = jobs
        self._audit = audit

    async def clear(self, run: JobRun, task: Task) -> None:
        """Remove what an attempt that died has written of versions that are not served any more."""
        begun = [(DocumentId(UUID(d)), VersionId(UUID(v))) for d, v in run.progress.get("writing", ())]
        async with self._database.transaction(run.tenant) as session:
            rows = CoverageRows(session, run.tenant, task.base)
            served = await rows.hold_documents([document for document, _ in begun])
        for document, version in begun:
            if document not in served or served[document].serving_version_id != version:
                await self._vectors.delete(task.target.space, task.target.selector(document, version))

    async def catch_up(self, run: JobRun, task: Task) -> None:
        """Return when nothing is missing.

        Raises BaseGone, Fenced, what refuses a call of the model, and ReindexIncomplete where something is
        missing time and again of which there is nothing to bring.
        """
        await self._vectors.ensure_space(task.target.space)
        in_vain = 0
        while (brought := await self._look_through(run, task)) is not None:
            # What is brought in vain was replaced or deleted meanwhile, and is not missing the next time.
            in_vain = 0 if brought else in_vain + 1
            if in_vain == MOST_IN_VAIN:
                raise ReindexIncomplete

    async def _look_through(self, run: JobRun, task: Task) -> int | None:
        """How many documents were brought from the first to the last; None when nothing was missing."""
        place, brought = None, 0
        while batch := await self._next(run, task, place):
            place = batch[-1].place
            brought += await self._bring(run, task, batch)
        return None if place is None else brought

    async def _next(self, run: JobRun, task: Task, after: Place | None) -> Sequence[Missing]:
        """The next documents, as many as make a few calls of the model, or one that is larger."""
        async with self._database.transaction(run.tenant) as session:
            await require_built(session, run, task)
            missing = await CoverageRows(session, run.tenant, task.base).missing(
                task.target.id, after, DOCUMENTS_PER_BATCH
            )
            passages = CALLS_PER_BATCH * self._gateway.batch_size
            batch = _cut(missing, passages * task.target.chunk_size)
            # Until they have rows, this alone tells where points may be.
            writing = [[str(each.document), str(each.version)] for each in batch]
            await self._jobs.confirm(session, run, {"writing": writing})
        return batch

    async def _bring(self, run: JobRun, task: Task, batch: Sequence[Missing]) -> int:
        """Tells how many were brought, once it has rested from it."""
        clock = asyncio.get_running_loop().time
        began = clock()
        drafts, now = await self._drafted(run, task, batch)
        if not drafts:
            return 0
        prepared = clock()
        drafts = await self._embedded(run, task, now, drafts)
        answered = clock()
        brought = await self._keep(run, task, now, drafts)
        await asyncio.sleep(REST * (prepared - began + clock() - answered))
        return brought

    async def _drafted(
        self, run: JobRun, task: Task, batch: Sequence[Missing]
    ) -> tuple[Sequence[Draft], Present]:
        async with self._database.transaction(run.tenant) as session:
            now = await present(session, run, task.base)
            sources = await sources_of(session, task, now.base, batch)
        drafts = await asyncio.to_thread(drafts_of, sources, now)
        async with self._database.transaction(run.tenant) as session:
            return await numbered(session, now.base, drafts), now

    async def _keep(self, run: JobRun, task: Task, now: Present, drafts: Sequence[Draft]) -> int:
        try:
            await self._write(now.target, drafts)
            unwanted = await self._store(run, task, now.target, drafts)
            await self._remove(task, unwanted)
        except BaseException:
            # However it ends, the job may be another's by now: then nobody else knows of these points.
            with suppress(Unavailable):
                await finished(self._clear_up(run, task, drafts))
            raise
        return len(drafts) - len(unwanted)

    async def _clear_up(self, run: JobRun, task: Task, drafts: Sequence[Draft]) -> None:
        in_vain = await self._in_vain(run, task, drafts)
        await self._remove(task, in_vain)
        gone = {draft.version for draft in in_vain}
        async with self._database.transaction(run.tenant) as session:
            if not await self._jobs.holds(session, run):
                await self._follow_anew(session, task, [each for each in drafts if each.version not in gone])

    async def _follow_anew(self, session: AsyncSession, task: Task, drafts: Iterable[Draft]) -> None:
        target = task.target
        for draft in drafts:
            await follow_anew(session, self._jobs, target.tenant, task.base, draft.document, [target.id])

    async def _remove(self, task: Task, drafts: Sequence[Draft]) -> None:
        for draft in drafts:
            await self._vectors.delete(task.target.space, task.target.selector(draft.document, draft.version))

    async def _embedded(
        self, run: JobRun, task: Task, now: Present, drafts: Sequence[Draft]
    ) -> Sequence[Draft]:
        """The drafts with their vectors: one call for all of a level."""
        by_level: dict[Classification, list[Draft]] = defaultdict(list)
        for draft in drafts:
            by_level[draft.level].append(draft)
        done: list[Draft] = []
        for level, alike in by_level.items():
            call = EmbeddingCall(
                caller=task.caller,
                model=now.target.embedding_model,
                inputs=[chunk.content for draft in alike for chunk in draft.chunks],
                role=EmbeddingRole.DOCUMENT,
                dimensions=now.target.space.dimensions,
                operation=Operation.REINDEX,
                level=level,
                base=task.base,
                labels=task.labels,
                before_batch=partial(self._level_now, run, task, alike),
            )
            answer = await self._gateway.embed(call)
            # Before anything is done with the vectors: what follows may fail, and the model was asked.
            await self._audit.flush(answer.evidence)
            vectors = iter(answer.vectors)
            for draft in alike:
                chunks = [replace(chunk, embedding=next(vectors)) for chunk in draft.chunks]
                done.append(replace(draft, chunks=chunks))
        return done

    async def _level_now(
        self, run: JobRun, task: Task, drafts: Sequence[Draft], _done: int
    ) -> Classification:
        """The highest level of what these say, as of now. Raises BaseGone, Fenced."""
        async with self._database.transaction(run.tenant) as session:
            await self._jobs.confirm(session, run)
            await require_built(session, run, task)
            rows = CoverageRows(session, run.tenant, task.base)
            rights = await rows.rights_now([draft.version for draft in drafts])
        known = [draft for draft in drafts if draft.version in rights]
        return highest(drafts[0].level, *(level_of(draft, rights[draft.version]) for draft in known))

    async def _write(self, target: BuildingGeneration, drafts: Sequence[Draft]) -> None:
        """Write the points, and count them there. Raises VectorStoreUnavailable, also when some are not."""
        points = [point for draft in drafts for point in points_of(target, draft)]
        for start in range(0, len(points), POINTS_PER_WRITE):
            written = points[start : start + POINTS_PER_WRITE]
            await self._vectors.upsert(target.space, written)
            ids = Selector(generation_key(target.tenant, target.id), ids=tuple(p.id for p in written))
            if await self._vectors.count(target.space, ids) < len(written):
                raise VectorStoreUnavailable

    async def _store(
        self, run: JobRun, task: Task, used: BuildingGeneration, drafts: Sequence[Draft]
    ) -> Sequence[Draft]:
        """Let the generation have them, with the rights of now; tells those that are not served any more."""
        async with self._database.transaction(run.tenant) as session:
            await self._jobs.confirm(session, run)
            coverage = CoverageRows(session, run.tenant, task.base)
            served = await coverage.hold_documents([draft.document for draft in drafts])
            wanted = [draft for draft in drafts if _is_served(draft, served)]
            now = await self._held(session, run, task)
            spans = await coverage.span_rights([draft.version for draft in wanted])
            parts = [
                Part(served[draft.document], draft.version, chunks)
                for draft in wanted
                for floor in (found_level(served[draft.document]),)
                for chunks in (with_rights(draft, spans[draft.version].spans, floor),)
            ]
            tally, begun = Tally(), run.progress.get("writing", ())
            for draft, added in zip(wanted, await add_chunks(session, now.base, used, parts), strict=True):
                tally.include(added.tally)
                if added.is_moved:
                    await queue(session, self._jobs, MOVE_RIGHTS, now.base, draft.document)
                if not respect(cuts_of(draft), spans[draft.version].spans):
                    # Rights came to change within a passage since it was read.
                    asker, row = run.parameters["submitter"], served[draft.document]
                    await queue_recut(session, self._jobs, run.tenant, task.base, row, asker, task.labels)
            await apply_tallies(session, run.tenant, {used.id: tally})
            # Whoever had the job before may have written its points over these.
            await self._follow_anew(session, task, [each for each in wanted if _name(each) in begun])
            documents = [draft.document for draft in wanted]
            await reweigh_if_stale(session, self._jobs, task.base, used, documents)
            done = await ReindexRows(session, run.tenant).count_done(run.job, len(wanted))
            stored = {draft.version for draft in wanted}
            unwanted = [draft for draft in drafts if draft.version not in stored]
            told = {"writing": [_name(draft) for draft in unwanted], **done}
            await self._jobs.confirm(session, run, told, is_further=bool(wanted))
        return unwanted

    async def _in_vain(self, run: JobRun, task: Task, drafts: Sequence[Draft]) -> Sequence[Draft]:
        """Of what was written when this attempt had lost its job already, what nobody will need."""
        async with self._database.transaction(run.tenant) as session:
            base = await BaseRows(session, run.tenant).find(str(task.base))
            generation = await GenerationRows(session, run.tenant).find(task.target.id)
            if base is None or generation is None or generation.state == "dropping":
                return drafts
            coverage = CoverageRows(session, run.tenant, task.base)
            served = await coverage.find_documents([draft.document for draft in drafts])
            stored = await coverage.stored_versions(task.target.id, [draft.version for draft in drafts])
        # Whoever builds it now may not have come to store them yet.
        is_open = generation.state == "building"
        return [d for d in drafts if not _is_served(d, served) or not (is_open or d.version in stored)]

    async def _held(self, session: AsyncSession, run: JobRun, task: Task) -> Present:
        """What there is, held so until the transaction ends. Raises BaseGone."""
        rows = BaseRows(session, run.tenant)
        await rows.hold_still(task.base)
        if await rows.held_state(task.target.id) != "building":
            raise BaseGone
        return await present(session, run, task.base)


def _is_served(draft: Draft, served: Mapping[UUID, KnowledgeDocument]) -> bool:
    return draft.document in served and served[draft.document].serving_version_id == draft.version


def _name(draft: Draft) -> list[str]:
    return [str(draft.document), str(draft.version)]


def _cut(missing: Sequence[Missing], length: int) -> Sequence[Missing]:
    """The first of them, as many as have no more text than that; one at least."""
    total = 0
    batch: list[Missing] = []
    for each in missing:
        total += each.length
        if batch and total > length:
            break
        batch.append(each)
    return batch
