"""A document's new text and fields: what becomes of them, in the one commit that says yes."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import sha256
from uuid import uuid4

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import Classification, highest, level_at
from eai.access.subject import Subject
from eai.audit.actions import AuditAction
from eai.audit.entries import Resource
from eai.audit.service import Audit
from eai.connectors.stamps import Stamp, is_meant, stamp
from eai.finops.holdings import KnowledgeQuotas
from eai.gateway.calls import Caller, Operation
from eai.gateway.schemas import Labels
from eai.gateway.service import Gateway
from eai.ingestion.errors import DuplicateContent, NothingToRetry
from eai.ingestion.extraction import accepted_type, check_size
from eai.ingestion.repository import JOB_NAME, parameters_of, placed
from eai.ingestion.screening import moved_by
from eai.ingestion.submission import Accepted, Revision, Text
from eai.kernel.canonical import Canonical
from eai.kernel.errors import InvalidInput, NotFound
from eai.kernel.ids import DocumentId, JobId, VersionId
from eai.knowledge.bases.handle import BaseHandle
from eai.knowledge.chunks.spans import spans_from_rows
from eai.knowledge.documents.drafts import DocumentChanges, SpanRights, StoredVersion, VersionDraft
from eai.knowledge.documents.fields import FieldScreen, ShownFields, screened_changes
from eai.knowledge.documents.intake import find_other_copy
from eai.knowledge.documents.kept import refuse_other_words
from eai.knowledge.documents.levels import effective_level, levels_of
from eai.knowledge.documents.replacing import add_version, amend_version, change_document
from eai.knowledge.documents.span_rights import change_spans
from eai.knowledge.documents.version_rows import BLOCKED, ON_ITS_WAY, VersionRows
from eai.knowledge.errors import ChunkReadersRequired, DocumentNotReady
from eai.knowledge.models import DocumentVersion, KnowledgeDocument
from eai.platform.jobs import Jobs
from eai.quarantine.service import refuse_rejected

_CHANGEABLE = frozenset({"title", "source_uri", "classification", "readers", "metadata", "labels"})
_NEVER_NULL = frozenset({"title", "metadata", "labels"})
_RIGHTS = frozenset({"classification", "readers", "chunk_readers"})


@dataclass(frozen=True, slots=True)
class _Held:
    """A document whose row the caller holds, with its newest version."""

    session: AsyncSession
    subject: Subject
    base: BaseHandle
    row: KnowledgeDocument
    newest: DocumentVersion

    @property
    def id(self) -> DocumentId:
        return DocumentId(self.row.id)

    @property
    def versions(self) -> VersionRows:
        return VersionRows(self.session, self.base.tenant, self.id)

    async def has_text(self) -> bool:
        """Whether what was submitted as the newest version may be taken up again.

        Of a blocked text nothing is kept, or, for a legal hold, never to be processed.
        """
        if (self.newest.error or {}).get("code") == BLOCKED:
            return False
        return await self.versions.size(VersionId(self.newest.id)) > 0

    @property
    def is_newest_serving(self) -> bool:
        return self.row.serving_version_id == self.newest.id


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a revision asks for. `text` None, and `spans` None, keep what is there."""

    text: VersionDraft | None
    changes: DocumentChanges
    spans: tuple[SpanRights, ...] | None
    language: str | None
    labels: dict[str, str]


class Replacement:
    """Decides what a document becomes, and commits to it."""

    def __init__(
        self, gateway: Gateway, jobs: Jobs, audit: Audit, quotas: KnowledgeQuotas, screen: FieldScreen
    ) -> None:
        self._screen = screen
        self._gateway = gateway
        self._jobs = jobs
        self._audit = audit
        self._quotas = quotas

    async def replace(
        self,
        session: AsyncSession,
        subject: Subject,
        base: BaseHandle,
        row: KnowledgeDocument,
        revision: Revision,
    ) -> Accepted:
        """Store a new text with its job; where the text is what it was, only apply the rest.

        A text that failed is queued again. The caller holds `row`. Raises InvalidInput,
        SourceConnectorRefused, ChunkReadersRequired, DuplicateContent, ContentRejected, UnderLegalHold, and
        what stands against the text, its level or its rights.
        """
        held = await self._held(session, subject, base, row)
        if revision.is_repeated and (made := await held.versions.find(revision.version)) is not None:
            return _as_accepted(held, made)
        await _check_unchanged(session, base, row, revision)
        source = await stamp(session, base.tenant, row.source_connector, subject.principal)
        wanted = _wanted(held, revision, source)
        if wanted.text is not None:
            await refuse_rejected(session, base.tenant, base.id, wanted.text.source_hash)
        if wanted.text is not None and not await self._is_stored(held, wanted, wanted.text):
            screened = await self._screened(held, wanted, source, with_another_text=True)
            return await self._add(held, screened, wanted.text)
        if wanted.text is not None and held.newest.status == "failed":
            return await self._queue_again(held, await self._screened(held, wanted, source))
        if wanted.text is not None:
            wanted = replace(wanted, text=None, spans=await _as_stored(held, wanted.spans))
        await self._change(held, await self._screened(held, wanted, source, is_alone=True))
        return Accepted(held.id, is_new=False)

    async def retry(
        self, session: AsyncSession, subject: Subject, base: BaseHandle, row: KnowledgeDocument
    ) -> Accepted:
        """Queue the newest text again, if it failed. The caller holds `row`.

        Its source has stamped it already, so anybody who may write may do it. Raises NothingToRetry,
        SourceConnectorRefused while the source is switched off, and ChunkReadersRequired where it failed
        because it says nothing of its parts.
        """
        held = await self._held(session, subject, base, row)
        source = await stamp(session, base.tenant, row.source_connector, by=None)
        if held.newest.status != "failed" or not await held.has_text():
            raise NothingToRetry(status=held.newest.status)
        await refuse_rejected(session, base.tenant, base.id, held.newest.source_hash)
        labels = Labels(**row.labels).of(subject)
        wanted = _Wanted(None, DocumentChanges(), None, None, labels)
        source.require_levels(_levels(held, wanted))
        return await self._queue_again(held, wanted)

    async def _is_stored(self, held: _Held, wanted: _Wanted, text: VersionDraft) -> bool:
        """Whether the newest version was made of this very text, would be read alike, and still has it."""
        return _is_same_text(held.newest, wanted, text) and await held.has_text()

    async def _screened(
        self,
        held: _Held,
        wanted: _Wanted,
        source: Stamp,
        *,
        is_alone: bool = False,
        with_another_text: bool = False,
    ) -> _Wanted:
        """What is wanted with what may be kept of its fields. Raises what stands against them or a level.

        Raises UnderLegalHold where they would be written over while the document is held.
        """
        fields = ShownFields.of(held.row, {} if held.is_newest_serving else held.newest.intended)
        changes = await screened_changes(
            self._screen, held.session, held.subject, fields, wanted.changes, is_alone=is_alone
        )
        wanted = replace(wanted, changes=changes)
        source.require_levels(_levels(held, wanted))
        await refuse_other_words(
            held.session, held.base, held.row, changes, with_another_text=with_another_text
        )
        return wanted

    async def _held(
        self, session: AsyncSession, subject: Subject, base: BaseHandle, row: KnowledgeDocument
    ) -> _Held:
        newest = await VersionRows(session, base.tenant, DocumentId(row.id)).newest()
        if newest is None:
            raise NotFound
        return _Held(session, subject, base, row, newest)

    async def _add(self, held: _Held, wanted: _Wanted, text: VersionDraft) -> Accepted:
        if wanted.spans is None and await self._has_spans(held):
            raise ChunkReadersRequired.field("chunk_readers", "chunk_readers_required", "")
        await self._check(held, wanted, text.source_hash, text.content_type)
        await self._admit(held, len(text.source or b""))
        job = JobId(uuid4())
        stored = await add_version(
            held.session, self._jobs, held.subject, held.base, held.id, _with_job(text, job), wanted.changes
        )
        await self._create_job(held, wanted, stored, job, wanted.language)
        await self._record(
            held,
            AuditAction.DOCUMENT_REPLACE,
            wanted,
            version=stored.number,
            source_hmac=self._audit.fingerprint(held.base.tenant, text.source_hash),
        )
        return Accepted(held.id, is_new=True, job=job)

    async def _queue_again(self, held: _Held, wanted: _Wanted) -> Accepted:
        newest = held.newest
        if wanted.spans is None and (newest.error or {}).get("code") == ChunkReadersRequired.code:
            raise ChunkReadersRequired.field("chunk_readers", "chunk_readers_required", "")
        await self._check(held, wanted, newest.source_hash, newest.content_type)
        await self._admit(held, await held.versions.size(VersionId(newest.id)))
        job, before = JobId(uuid4()), newest.job_id
        told = await self._jobs.parameters(held.session, held.base.tenant, JobId(before)) if before else None
        await amend_version(
            held.session,
            self._jobs,
            held.subject,
            held.base,
            held.row,
            newest=newest,
            changes=wanted.changes,
            again=job,
            spans=wanted.spans,
        )
        stored = StoredVersion(held.id, VersionId(newest.id), newest.number)
        await self._create_job(held, wanted, stored, job, wanted.language or (told or {}).get("language"))
        await self._record(held, AuditAction.DOCUMENT_RETRY, wanted, version=newest.number)
        return Accepted(held.id, is_new=True, job=job)

    async def _change(self, held: _Held, wanted: _Wanted) -> None:
        """Apply what needs no new text: now, or, where a newer text is on its way, together with it."""
        session, row = held.session, held.row
        parts = (session, self._jobs, held.subject, held.base, row)
        changed: set[str] = set()
        if held.is_newest_serving or row.serving_version_id is None:
            changed |= await change_document(*parts, changes=wanted.changes)
        elif wanted.changes.given:
            await amend_version(*parts, newest=held.newest, changes=wanted.changes)
            changed |= wanted.changes.given
        if wanted.spans is not None and wanted.spans != spans_from_rows(held.newest.chunk_rights):
            if not held.is_newest_serving:
                raise DocumentNotReady
            if await change_spans(*parts, wanted.spans, wanted.changes.reason):
                changed |= {"chunk_readers"}
        if changed:
            action = AuditAction.DOCUMENT_ACL_SET if changed & _RIGHTS else AuditAction.DOCUMENT_UPDATE
            await self._record(held, action, wanted, changed=sorted(name.rstrip("_") for name in changed))

    async def _check(self, held: _Held, wanted: _Wanted, source_hash: bytes, content_type: str) -> None:
        """Raise what stands against processing this text under these rights."""
        base, changes = held.base, wanted.changes
        own = level_at(held.row.classification)
        level = highest(
            base.level_of(own),
            base.level_of(changes.classification) if "classification" in changes.given else None,
            level_at(held.row.field_level),
            changes.level,
            *(span.classification for span in wanted.spans or ()),
        )
        await self._gateway.check(Caller.of(held.subject), base.embedding_model, Operation.INGEST, level)
        if held.row.external_id is not None:
            return  # what a source names is never recognised by its text
        copy = await find_other_copy(held.session, held.subject, base, held.row, source_hash, content_type)
        if copy is not None:
            raise DuplicateContent(document_id=str(copy))

    async def _admit(self, held: _Held, size: int) -> None:
        """Raise QuotaExceeded where a text of so many bytes does not fit in the place of the present one."""
        await self._quotas.admit_text(held.session, placed(held.subject, held.base), held.id, size)

    async def _has_spans(self, held: _Held) -> bool:
        if held.newest.chunk_rights or held.row.serving_version_id is None:
            return bool(held.newest.chunk_rights)
        serving = await held.versions.find(VersionId(held.row.serving_version_id))
        return serving is not None and bool(serving.chunk_rights)

    async def _create_job(
        self, held: _Held, wanted: _Wanted, stored: StoredVersion, job: JobId, language: str | None
    ) -> None:
        parameters = parameters_of(held.subject, held.base, stored, language=language, labels=wanted.labels)
        await self._jobs.create(
            held.session, held.base.tenant, job, JOB_NAME, parameters, principal=held.subject.principal
        )

    async def _record(self, held: _Held, action: AuditAction, wanted: _Wanted, **facts: Canonical) -> None:
        changes = wanted.changes
        private = {"title": changes.title or held.row.title}
        if changes.reason is not None:
            private["reason"] = changes.reason
        await self._audit.record(
            held.session,
            held.subject,
            action,
            resource=Resource("document", str(held.id)),
            facts={
                "base": str(held.base.id),
                "changed": sorted(changes.given),
                "classification": effective_level(held.base, held.row).value,
                "readers": held.row.readers,
                **facts,
            },
            private=private,
        )


def _wanted(held: _Held, revision: Revision, source: Stamp) -> _Wanted:
    fields = revision.fields
    changes = _changes(held.subject, revision, source)
    spans = None if fields.chunk_readers is None else tuple(each.span() for each in fields.chunk_readers)
    labels = (fields.labels if "labels" in changes.given else None) or Labels(**held.row.labels)
    text = None if revision.text is None else _draft(held, revision, revision.text, spans or ())
    return _Wanted(text, changes, spans, fields.language, labels.of(held.subject))


def _changes(subject: Subject, revision: Revision, source: Stamp) -> DocumentChanges:
    fields = revision.fields
    nulls = {name for name in _NEVER_NULL if getattr(fields, name) is None}
    return DocumentChanges(
        given=(revision.given & _CHANGEABLE) - nulls,
        title=fields.title,
        source_uri=fields.source_uri,
        source_uri_verified=source.vouches and fields.source_uri is not None,
        classification=fields.classification,
        readers=None if fields.readers is None else frozenset(fields.readers),
        metadata=fields.metadata or {},
        labels=fields.labels.of(subject) if fields.labels else {},
        reason=fields.reason,
    )


def _draft(held: _Held, revision: Revision, text: Text, spans: tuple[SpanRights, ...]) -> VersionDraft:
    declared = held.newest.content_type if text.content_type is None else text.content_type
    check_size(len(text.source))
    return VersionDraft(
        id=revision.version,
        content_type=accepted_type(declared, text.filename),
        source_hash=sha256(text.source).digest(),
        source=text.source,
        span_rights=spans,
    )


async def _as_stored(held: _Held, spans: tuple[SpanRights, ...] | None) -> tuple[SpanRights, ...] | None:
    """The parts of a text that came again, counted in what was stored of it."""
    if spans is None or not held.newest.dlp.get("redacted"):
        return spans
    _, found = await held.versions.text_of(VersionId(held.newest.id))
    return moved_by(found.get("redactions", ()), spans)


def _as_accepted(held: _Held, made: DocumentVersion) -> Accepted:
    """What an earlier attempt at the same request has made."""
    job = JobId(made.job_id) if made.job_id is not None and made.status in ON_ITS_WAY else None
    return Accepted(held.id, is_new=job is not None, job=job)


def _with_job(version: VersionDraft, job: JobId) -> VersionDraft:
    return VersionDraft(
        version.id, version.content_type, version.source_hash, version.source, version.span_rights, job
    )


def _is_same_text(newest: DocumentVersion, wanted: _Wanted, text: VersionDraft) -> bool:
    """Whether the newest version was made of this very text, and would be read alike."""
    if (newest.source_hash, newest.content_type) != (text.source_hash, text.content_type):
        return False
    return wanted.language is None or newest.language in {None, wanted.language}


async def _check_unchanged(
    session: AsyncSession, base: BaseHandle, row: KnowledgeDocument, revision: Revision
) -> None:
    external, source = revision.fields.external_id, revision.fields.source_connector
    if "external_id" in revision.given and external not in {None, row.external_id}:
        raise InvalidInput.field("external_id", "unchangeable", "cannot be changed")
    if "source_connector" not in revision.given or source is None:
        return
    if not await is_meant(session, base.tenant, row.source_connector, source):
        raise InvalidInput.field("source_connector", "unchangeable", "cannot be changed")


def _levels(held: _Held, wanted: _Wanted) -> Iterable[Classification]:
    """Every level that the document will have once all that it is to become has come to be."""
    own, changes = level_at(held.row.classification), wanted.changes
    if "classification" in changes.given:
        own = changes.classification
    elif not held.is_newest_serving and "classification" in held.newest.intended:
        own = level_at(held.newest.intended["classification"])
    spans = spans_from_rows(held.newest.chunk_rights) if wanted.spans is None else wanted.spans
    return levels_of(held.base, own, spans, _found(held, wanted))


def _found(held: _Held, wanted: _Wanted) -> Classification:
    """What DLP raises the document to by then, as far as it is known: a text on its way is yet to be read."""
    rank = held.row.field_level
    if not held.is_newest_serving:
        rank = held.newest.intended.get("field_level", rank)
    of_fields = level_at(rank) if wanted.changes.dlp is None else wanted.changes.level
    of_text = level_at(held.row.text_level) if wanted.text is None and held.is_newest_serving else None
    return highest(Classification.PUBLIC, of_fields, of_text)
