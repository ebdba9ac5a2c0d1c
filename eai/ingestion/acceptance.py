"""The first commit of a document: checked, stored, with the job that will index it."""

from dataclasses import replace
from hashlib import sha256
from uuid import uuid4

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.acl import Permission
from eai.access.classification import highest
from eai.access.subject import Subject
from eai.audit.actions import AuditAction
from eai.audit.entries import Resource
from eai.audit.service import Audit
from eai.connectors.stamps import Stamp, stamp
from eai.finops.holdings import KnowledgeQuotas
from eai.gateway.calls import Caller, Operation
from eai.gateway.service import Gateway
from eai.ingestion.errors import DuplicateContent
from eai.ingestion.extraction import accepted_type, check_size
from eai.ingestion.replacement import Replacement
from eai.ingestion.repository import JOB_NAME, load_work, parameters_of, placed
from eai.ingestion.schemas import DocumentFields
from eai.ingestion.submission import Accepted, Submission
from eai.kernel.ids import DocumentId, JobId
from eai.knowledge.bases.access import authorise
from eai.knowledge.bases.handle import BaseHandle
from eai.knowledge.documents.drafts import DocumentDraft, StoredVersion, VersionDraft
from eai.knowledge.documents.fields import FieldScreen, ShownFields
from eai.knowledge.documents.intake import (
    COMPARED,
    create_document_with_version,
    find_duplicate,
    find_replacement,
    find_submitted,
    hold_external_document,
)
from eai.knowledge.documents.levels import levels_of
from eai.knowledge.documents.version_rows import ON_ITS_WAY
from eai.knowledge.receipts.service import id_of_repetition
from eai.platform.jobs import Jobs
from eai.quarantine.service import refuse_rejected

DEFAULT_TYPE = "text/plain"


class Acceptance:
    """Decides whether a document may come in, and commits to it."""

    def __init__(  # noqa: PLR0917 - one call site, in the order of the layers
        self,
        gateway: Gateway,
        jobs: Jobs,
        audit: Audit,
        quotas: KnowledgeQuotas,
        replacement: Replacement,
        screen: FieldScreen,
    ) -> None:
        self._screen = screen
        self._gateway = gateway
        self._jobs = jobs
        self._audit = audit
        self._quotas = quotas
        self._replacement = replacement

    async def accept(
        self, session: AsyncSession, subject: Subject, base_ref: str, submission: Submission, *, waits: bool
    ) -> Accepted:
        """Store the document and its job; with `waits` the caller itself runs the job's first attempt.

        An equal document that the caller may read is returned instead, and so is what a repeated
        submission has made before. Where the source has a document of this external id, its text is
        replaced, which is left to a worker. Raises NotFound, PermissionMissing, SourceConnectorUnknown,
        SourceConnectorRefused, DuplicateContent and what the checks of content, level and readers raise.
        """
        base = await authorise(session, subject, base_ref, Permission.WRITE)
        accepted_type(_declared(submission), submission.text.filename)
        check_size(len(submission.text.source))
        if submission.is_repeated:
            id_ = await id_of_repetition(session, subject.tenant, submission.id)
            submission = replace(submission, id=id_)
            if (earlier := await self._earlier(session, subject, base, submission, waits=waits)) is not None:
                return earlier
        source = await stamp(session, subject.tenant, submission.fields.source_connector, subject.principal)
        if (replaced := await self._replaced(session, subject, base, submission, source)) is not None:
            return replaced
        return await self._create(session, subject, base, submission, source, waits=waits)

    async def _replaced(
        self,
        session: AsyncSession,
        subject: Subject,
        base: BaseHandle,
        submission: Submission,
        source: Stamp,
    ) -> Accepted | None:
        if submission.external_id is None:
            return None
        row = await hold_external_document(session, subject, base, source.connector, submission.external_id)
        if row is None:
            return None
        return await self._replacement.replace(session, subject, base, row, submission.as_revision())

    async def _create(
        self,
        session: AsyncSession,
        subject: Subject,
        base: BaseHandle,
        submission: Submission,
        source: Stamp,
        *,
        waits: bool,
    ) -> Accepted:
        draft = await self._screened(session, subject, _draft(subject, submission, source))
        job = JobId(uuid4())
        version = _version(submission, job)
        levels = levels_of(base, draft.classification, version.span_rights, draft.level)
        source.require_levels(levels)
        level = highest(*levels)
        await self._gateway.check(Caller.of(subject), base.embedding_model, Operation.INGEST, level)
        await refuse_rejected(session, subject.tenant, base.id, version.source_hash)
        if draft.external_id is None and (
            copy := await find_duplicate(
                session, subject, base, draft, version, given=_given(submission.fields)
            )
        ):
            if not copy.is_same:
                raise DuplicateContent(document_id=str(copy.document))
            return Accepted(copy.document, is_new=False)
        await self._quotas.admit_text(session, placed(subject, base), None, len(submission.text.source))
        stored = await create_document_with_version(session, subject, base, draft, version)
        fields = submission.fields
        parameters = parameters_of(
            subject, base, stored, language=fields.language, labels=fields.labels.of(subject)
        )
        start = self._jobs.begin if waits else self._jobs.create
        run = await start(session, subject.tenant, job, JOB_NAME, parameters, principal=subject.principal)
        work = await load_work(session, subject.tenant, parameters) if run else None
        await self._record(session, subject, base, draft=draft, version=version, stored=stored)
        return Accepted(stored.document, is_new=True, job=job, run=run, work=work)

    async def _screened(self, session: AsyncSession, subject: Subject, draft: DocumentDraft) -> DocumentDraft:
        """The draft with what may be kept of its fields. Raises what stands against them."""
        given = ShownFields(draft.title, draft.external_id, draft.source_uri, draft.metadata)
        screened = await self._screen.screen(session, subject, given)
        kept = screened.fields
        return replace(
            draft,
            title=kept.title,
            source_uri=kept.source_uri,
            source_uri_verified=draft.source_uri_verified and kept.source_uri is not None,
            metadata=kept.metadata,
            dlp=screened.dlp,
            level=screened.level,
        )

    async def _earlier(
        self,
        session: AsyncSession,
        subject: Subject,
        base: BaseHandle,
        submission: Submission,
        *,
        waits: bool,
    ) -> Accepted | None:
        """What an earlier attempt has made; its job goes on here once nobody else is at it."""
        document = submission.id
        version = await find_submitted(session, subject, base, document, submission.version)
        if version is None:
            return await self._replaced_before(session, subject, base, submission)
        if version.job_id is None or version.status not in ON_ITS_WAY:
            return Accepted(document, is_new=True)
        job = JobId(version.job_id)
        run = await self._jobs.claim(session, subject.tenant, job, is_alone=False) if waits else None
        work = await load_work(session, subject.tenant, run.parameters) if run else None
        return Accepted(document, is_new=True, job=job, run=run, work=work)

    async def _replaced_before(
        self, session: AsyncSession, subject: Subject, base: BaseHandle, submission: Submission
    ) -> Accepted | None:
        version = await find_replacement(session, subject, base, submission.version)
        if version is None:
            return None
        job = JobId(version.job_id) if version.job_id and version.status in ON_ITS_WAY else None
        return Accepted(DocumentId(version.document_id), is_new=job is not None, job=job)

    async def _record(
        self,
        session: AsyncSession,
        subject: Subject,
        base: BaseHandle,
        *,
        draft: DocumentDraft,
        version: VersionDraft,
        stored: StoredVersion,
    ) -> None:
        await self._audit.record(
            session,
            subject,
            AuditAction.DOCUMENT_INGEST,
            resource=Resource("document", str(stored.document)),
            facts={
                "base": str(base.id),
                "version": stored.number,
                "level": str(highest(base.level_of(draft.classification), draft.level)),
                "source_hmac": self._audit.fingerprint(subject.tenant, version.source_hash),
                "source_connector": draft.source_connector,
            },
            private={"title": draft.title},
        )


def _given(fields: DocumentFields) -> frozenset[str]:
    """What a copy must agree with: a field that was left out agrees with anything."""
    return frozenset(name for name in COMPARED if name in fields.model_fields_set)


def _declared(submission: Submission) -> str:
    declared = submission.text.content_type
    return DEFAULT_TYPE if declared is None else declared


def _version(submission: Submission, job: JobId) -> VersionDraft:
    text, spans = submission.text, submission.fields.chunk_readers or ()
    return VersionDraft(
        id=submission.version,
        content_type=accepted_type(_declared(submission), text.filename),
        source_hash=sha256(text.source).digest(),
        source=text.source,
        span_rights=tuple(each.span() for each in spans),
        job=job,
    )


def _draft(subject: Subject, submission: Submission, source: Stamp) -> DocumentDraft:
    fields = submission.fields
    return DocumentDraft(
        id=submission.id,
        title=fields.title,
        external_id=submission.external_id,
        source_connector=source.connector,
        source_uri=fields.source_uri,
        source_uri_verified=source.vouches and fields.source_uri is not None,
        classification=fields.classification,
        readers=None if fields.readers is None else frozenset(fields.readers),
        metadata=fields.metadata,
        labels=fields.labels.of(subject),
    )
