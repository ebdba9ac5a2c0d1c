"""Takes documents in: accepted in one commit, indexed with no transaction open, served in another.

A text given as JSON is processed while the client waits, under the same job and fence as one that a
worker processes: if this process dies, a worker finishes the job. What is refused while the client
waits leaves no document behind, only the audit of the refusal.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from hashlib import sha256
from typing import Any
from uuid import UUID

import structlog
from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import Classification
from eai.access.subject import Subject
from eai.audit.actions import AuditAction
from eai.audit.entries import Decision, Resource
from eai.audit.service import Audit
from eai.dlp.errors import DlpBlocked
from eai.dlp.ports import Scanner
from eai.finops.holdings import KnowledgeQuotas
from eai.gateway.service import Gateway
from eai.ingestion.acceptance import Acceptance
from eai.ingestion.components import ComparePassages, version_selector
from eai.ingestion.examination import ExamineText, HeldBack
from eai.ingestion.fields import FieldExamination
from eai.ingestion.holding import hold
from eai.ingestion.passages import Checkpoint, Indexed, Manuscript
from eai.ingestion.pipeline import index, ingestion_pipeline
from eai.ingestion.replacement import Replacement
from eai.ingestion.repository import (
    Work,
    level_now,
    load_work,
    placements,
    placements_of,
    submitter_of,
    written_in_vain,
)
from eai.ingestion.screening import told
from eai.ingestion.submission import Accepted, Revision, Submission
from eai.kernel.canonical import Canonical
from eai.kernel.errors import EaiError, Unavailable
from eai.kernel.ids import BaseId, DocumentId, VersionId, chunk_id
from eai.knowledge.bases.handle import StoredGeneration
from eai.knowledge.chunks.spans import Strictest
from eai.knowledge.documents.access import hold_document
from eai.knowledge.documents.deletion import begin_deletion
from eai.knowledge.documents.drafts import PreparedChunk
from eai.knowledge.documents.intake import (
    discard_version,
    forget_text,
    is_overtaken,
    set_version_status,
)
from eai.knowledge.documents.kept import is_text_kept
from eai.knowledge.documents.overwritten import follow_anew
from eai.knowledge.documents.serving import (
    Beside,
    ExtractedText,
    GenerationMoved,
    VersionOutdated,
    serve_version,
)
from eai.knowledge.ports import Vectors
from eai.platform.database import Database
from eai.platform.finishing import finished
from eai.platform.jobs import Fenced, JobRun, Jobs
from eai.quarantine.service import Quarantine

PATIENCE_S = 30.0
"""How long a client waits for a text before a worker takes over."""

BESIDE_WITHIN_S = 10.0
"""How long a document waits for the generation that a reindex is building, which can do without it."""

log = structlog.get_logger(__name__)


class Ingestion:
    """Documents in, passages findable."""

    def __init__(  # noqa: PLR0917 - one call site, in the order of the layers
        self,
        database: Database,
        gateway: Gateway,
        vectors: Vectors,
        jobs: Jobs,
        audit: Audit,
        quotas: KnowledgeQuotas,
        quarantine: Quarantine,
        scanner: Scanner,
        fields: FieldExamination,
    ) -> None:
        self._database = database
        self._vectors = vectors
        self._jobs = jobs
        self._audit = audit
        self._replacement = Replacement(gateway, jobs, audit, quotas, fields)
        self._acceptance = Acceptance(gateway, jobs, audit, quotas, self._replacement, fields)
        self._quarantine = quarantine
        examine = ExamineText(database, scanner, quarantine, fields)
        compare = ComparePassages(database, scanner, quarantine)
        self._pipeline = ingestion_pipeline(examine, gateway, audit, compare, vectors)

    async def ingest(
        self, subject: Subject, base_ref: str, submission: Submission, *, waits: bool
    ) -> Accepted:
        """Take a document in; with `waits`, return once it is served, or with its job after PATIENCE_S.

        Raises what acceptance and the stages refuse; nothing but the audit of it is left then.
        """
        async with self._database.transaction(subject.tenant) as session:
            accepted = await self._acceptance.accept(session, subject, base_ref, submission, waits=waits)
        if accepted.run is None or accepted.work is None:
            return accepted
        try:
            async with asyncio.timeout(PATIENCE_S):
                await self._index_and_serve(accepted.run, accepted.work)
        except TimeoutError:
            await self._leave_to_a_worker(accepted.run)
            return accepted
        except Fenced:
            return accepted
        except VersionOutdated:
            await self._close_outdated(accepted.run)
        except EaiError as error:
            await self._withdraw(accepted.run, accepted.work, error)
            raise
        return Accepted(accepted.document, is_new=True)

    async def replace(
        self,
        subject: Subject,
        base_ref: str,
        document_ref: str,
        revision: Revision,
        *,
        expected: int | None = None,
    ) -> Accepted:
        """Give a document another text, or other fields; a text is always left to a worker.

        Raises NotFound, PermissionMissing, PreconditionFailed unless `expected`, when given, is the
        document's revision, and what `Replacement.replace` raises.
        """
        async with self._database.transaction(subject.tenant) as session:
            base, row = await hold_document(session, subject, base_ref, document_ref, expected)
            return await self._replacement.replace(session, subject, base, row, revision)

    async def retry(
        self, subject: Subject, base_ref: str, document_ref: str, *, expected: int | None = None
    ) -> Accepted:
        """Queue a text that failed again. Raises what `replace` raises, and NothingToRetry."""
        async with self._database.transaction(subject.tenant) as session:
            base, row = await hold_document(session, subject, base_ref, document_ref, expected)
            return await self._replacement.retry(session, subject, base, row)

    async def run(self, run: JobRun) -> None:
        """Process one accepted document, in a worker."""
        try:
            await self._index_and_serve(run, await self._load(run, run.progress))
        except VersionOutdated:
            await self._close_outdated(run)

    async def give_up(self, run: JobRun, error: EaiError) -> None:
        """Mark the version as failed, with the reason a user can act on."""
        parameters = run.parameters
        await self._remove_points(run)
        async with self._database.transaction(run.tenant) as session:
            await self._jobs.fail(session, run, error)
            told = {"code": error.code, "details": dict(error.details)}
            version = VersionId(UUID(parameters["version"]))
            is_forgotten = isinstance(error, DlpBlocked) and not await _is_kept(session, run)
            if not await set_version_status(session, run.tenant, version, "failed", error=told):
                return
            if is_forgotten:
                await forget_text(session, run.tenant, DocumentId(UUID(parameters["document"])), version)
            await self._audit.record(
                session,
                submitter_of(run.tenant, parameters).actor,
                AuditAction.DOCUMENT_FAILED,
                tenant=run.tenant,
                resource=Resource("document", parameters["document"]),
                facts={
                    "base": parameters["base"],
                    "version": parameters["version"],
                    "code": error.code,
                    **_reasons(error),
                },
            )

    async def _remove_points(self, run: JobRun) -> None:
        """Remove what any attempt at the job has written to the store. Raises Fenced."""
        async with self._database.transaction(run.tenant) as session:
            # The points may be those of whoever took the job over.
            progress = await self._jobs.confirm(session, run)
        await self._remove_from(run, placements(run, progress))

    async def _remove_from(self, run: JobRun, generations: Iterable[StoredGeneration]) -> None:
        document = DocumentId(UUID(run.parameters["document"]))
        version = VersionId(UUID(run.parameters["version"]))
        for generation in generations:
            await self._vectors.delete(generation.space, generation.selector(document, version))

    async def _load(self, run: JobRun, progress: Mapping[str, Any]) -> Work:
        """The work as it is now; points for generations that it does not go to any more are removed first.

        Raises VersionOutdated when the text is not wanted any more, once none of its points are left, and
        Fenced.
        """
        async with self._database.transaction(run.tenant) as session:
            work = await load_work(session, run.tenant, run.parameters)
        if work is None:
            # This attempt may have written some before it came here again, and so may one that died.
            await self._remove_points(run)
            raise VersionOutdated
        wanted = {manuscript.generation for manuscript in work.manuscripts}
        leaving = [each for each in placements(run, progress) if each.id not in wanted]
        async with self._database.transaction(run.tenant) as session:
            # Before they are removed: a frozen attempt knows from then on to remove its own.
            await self._jobs.confirm(session, run, {**placements_of(work, leaving), "stage": "reading"})
            await set_version_status(session, run.tenant, work.stored.version, "processing")
        if leaving:
            await self._remove_from(run, leaving)
            async with self._database.transaction(run.tenant) as session:
                await self._jobs.confirm(session, run, {"leaving": []})
        return work

    async def _index_and_serve(self, run: JobRun, work: Work) -> None:
        while True:
            try:
                return await self._attempt(run, work)
            except GenerationMoved:
                async with self._database.transaction(run.tenant) as session:
                    progress = await self._jobs.confirm(session, run)
                work = await self._load(run, progress)

    async def _attempt(self, run: JobRun, work: Work) -> None:
        try:
            indexed = await index(self._pipeline, work.manuscript, self._checkpoint(run))
            beside = await self._beside(run, work)
            await self._serve(run, work, indexed, beside)
        except HeldBack as held:
            await self._hold(run, work, held)
        except (VersionOutdated, Fenced, asyncio.CancelledError) as error:
            # Deleted, or a newer text won. Whoever took this job over needs the same points, unless the
            # document has gone since: then nobody else knows that they were written once more.
            await finished(self._clear_up(run, work, error))
            raise

    async def _hold(self, run: JobRun, work: Work, held: HeldBack) -> None:
        # An attempt before this one may have been let pass, under other settings.
        await self._remove_points(run)
        async with self._database.transaction(run.tenant) as session:
            await self._jobs.confirm(session, run)
            await hold(session, self._quarantine, self._audit, run, work, held)
            await self._jobs.complete(session, run)

    async def _clear_up(self, run: JobRun, work: Work, error: BaseException) -> None:
        in_vain = await self._written_in_vain(run, work, error)
        for manuscript in in_vain:
            await self._vectors.delete(manuscript.space, version_selector(manuscript))
        gone = {manuscript.generation for manuscript in in_vain}
        left = [each for each in work.manuscripts if each.generation not in gone]
        async with self._database.transaction(run.tenant) as session:
            if left and not await self._jobs.holds(session, run):
                await self._follow_anew(session, work, left)

    async def _follow_anew(
        self, session: AsyncSession, work: Work, manuscripts: Sequence[Manuscript]
    ) -> None:
        generations = [manuscript.generation for manuscript in manuscripts]
        base = work.base
        await follow_anew(session, self._jobs, base.tenant, base.id, work.stored.document, generations)

    async def _beside(self, run: JobRun, work: Work) -> Beside | None:
        """The chunks for the generation that a reindex is building; None when it has to fetch them itself."""
        manuscript, building = work.beside, work.building
        if manuscript is None or building is None:
            return None
        async with self._database.transaction(run.tenant) as session:
            await self._jobs.confirm(session, run, placements_of(work))
        try:
            async with asyncio.timeout(BESIDE_WITHIN_S):
                # What is told is how far the text is that will answer.
                indexed = await index(self._pipeline, manuscript, self._checkpoint(run, is_told=False))
        except (EaiError, TimeoutError, HeldBack) as error:
            # What was written of it stays: the reindex writes the same points, under the same ids.
            log.warning("ingestion.not_beside", document=str(work.stored.document), error=repr(error))
            return None
        return Beside(building, _chunks(indexed))

    async def _serve(self, run: JobRun, work: Work, indexed: Indexed, beside: Beside | None) -> None:
        text = _text(indexed)
        async with self._database.transaction(run.tenant) as session:
            await self._jobs.confirm(session, run)
            chunks = _chunks(indexed)
            await serve_version(
                session, self._jobs, work.base, work.stored, work.source_hash, text, chunks, beside
            )
            if run.attempt > 1:
                # Whoever had the job before may have written its points over these.
                await self._follow_anew(session, work, work.manuscripts)
            await self._jobs.complete(session, run, _all_of(indexed.embedded.batches))
            await self._audit.record(
                session,
                work.manuscript.submitter.actor,
                AuditAction.DOCUMENT_READY,
                tenant=run.tenant,
                resource=Resource("document", str(work.stored.document)),
                facts={
                    "base": str(work.base.id),
                    "version": work.stored.number,
                    "chunks": len(indexed.embedded.passages.items),
                    "content_hmac": self._audit.fingerprint(run.tenant, text.content_hash),
                    **({"dlp": text.dlp["entities"]} if text.dlp else {}),
                    **({"noted": list(noted)} if (noted := indexed.embedded.noted) else {}),
                },
            )

    def _checkpoint(self, run: JobRun, *, is_told: bool = True) -> Checkpoint:
        """Raises Fenced once another attempt has begun, and VersionOutdated once the document has gone."""

        async def checkpoint(stage: str, batches_done: int, batches_total: int) -> Classification:
            progress = {"stage": stage, "batches_done": batches_done, "batches_total": batches_total}
            async with self._database.transaction(run.tenant) as session:
                await self._jobs.confirm(session, run, progress if is_told else None)
                level = await level_now(session, run.tenant, run.parameters)
            if level is None:
                raise VersionOutdated
            return level

        return checkpoint

    async def _close_outdated(self, run: JobRun) -> None:
        """Close the job of a document that was changed or deleted while it was processed."""
        log.info("ingestion.outdated", document=run.parameters["document"])
        async with self._database.transaction(run.tenant) as session:
            await self._jobs.abandon(session, run)

    async def _written_in_vain(self, run: JobRun, work: Work, error: BaseException) -> Sequence[Manuscript]:
        if isinstance(error, VersionOutdated):
            return work.manuscripts
        async with self._database.transaction(run.tenant) as session:
            return await written_in_vain(session, self._jobs, run, work)

    async def _leave_to_a_worker(self, run: JobRun) -> None:
        # It may have ended at the last moment; and a lease that cannot be handed back runs out by itself.
        with suppress(Unavailable, Fenced):
            async with self._database.transaction(run.tenant) as session:
                await self._jobs.hand_back(session, run, after_s=0, counts_as_failure=False)

    async def _withdraw(self, run: JobRun, work: Work, error: EaiError) -> None:
        """Leave nothing of a refused document but the audit of it.

        Once a part does not answer, the store may hold some of its points. It is then deleted like any
        other document: out of sight at once, and for good when the store is back. Where a newer text has
        come meanwhile, the document stays for that one, and a worker clears up behind this one. Where a legal
        hold has come, the document stays for that, and a worker closes its text.
        """
        with suppress(Unavailable, Fenced):
            async with self._database.transaction(run.tenant) as session:
                if await is_overtaken(session, work.base, work.stored) or await _is_kept(session, run):
                    await self._jobs.hand_back(session, run, after_s=0, counts_as_failure=False)
                    return
                await self._jobs.fail(session, run, error)
                if isinstance(error, Unavailable):
                    await begin_deletion(session, self._jobs, work.base, work.stored.document, None)
                else:
                    await discard_version(session, work.base, work.stored)
                await self._audit.record(
                    session,
                    work.manuscript.submitter.actor,
                    AuditAction.DOCUMENT_FAILED,
                    tenant=run.tenant,
                    resource=Resource("document", str(work.stored.document)),
                    decision=Decision.DENY,
                    facts={
                        "base": str(work.base.id),
                        "code": error.code,
                        "source_hmac": self._audit.fingerprint(run.tenant, work.source_hash),
                        **_reasons(error),
                    },
                )


async def _is_kept(session: AsyncSession, run: JobRun) -> bool:
    base, document = BaseId(UUID(run.parameters["base"])), DocumentId(UUID(run.parameters["document"]))
    version = VersionId(UUID(run.parameters["version"]))
    return await is_text_kept(session, run.tenant, base, document, version)


def _all_of(batches: int) -> Mapping[str, Any]:
    return {"stage": "writing", "batches_done": batches, "batches_total": batches}


def _reasons(error: EaiError) -> Mapping[str, Canonical]:
    """What stood against a text: with its hash, all that is left of it."""
    noted: dict[str, Canonical] = {name: str(error.details[name]) for name in error.noted}
    entities = error.details.get("entities")
    return {**noted, "entities": [str(each) for each in entities]} if isinstance(entities, list) else noted


def _text(indexed: Indexed) -> ExtractedText:
    extract, manuscript = indexed.embedded.passages.extract, indexed.manuscript
    text = ExtractedText(extract.text, sha256(extract.text.encode()).digest(), extract.language)
    screening = manuscript.screening
    if screening is None:
        return text
    return replace(
        text,
        dlp=told(screening.findings, screening.level),
        dlp_spans=screening.spans,
        level=screening.level,
        field_level=manuscript.field_level,
        spans=manuscript.spans if screening.is_redacted else None,
    )


def _chunks(indexed: Indexed) -> list[PreparedChunk]:
    manuscript, passages = indexed.manuscript, indexed.embedded.passages
    strictest = Strictest(manuscript.spans)
    return [
        PreparedChunk(
            chunk=chunk_id(manuscript.document, manuscript.version, passage.start, passage.end),
            ordinal=ordinal,
            start=passage.start,
            end=passage.end,
            content=passage.text,
            readers=own.readers,
            classification=own.classification,
            class_number=manuscript.class_number,
            language=passages.extract.language,
            terms=passage.terms,
            embedding=vector,
        )
        for ordinal, (passage, vector) in enumerate(
            zip(passages.items, indexed.embedded.vectors, strict=True)
        )
        for own in (strictest.between(passage.start, passage.end),)
    ]
