"""The first commit of a document: checked, stored, with the job that will index it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any
from uuid import UUID, uuid4, uuid5

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.acl import Permission
from eai.access.subject import Subject
from eai.audit.actions import AuditAction
from eai.audit.entries import Resource
from eai.audit.service import Audit
from eai.gateway.calls import Caller, Operation
from eai.gateway.service import Gateway
from eai.ingestion.errors import DuplicateContent
from eai.ingestion.extraction import accepted_type, check_size
from eai.ingestion.repository import Work, load_work, placement_of, submitter
from eai.ingestion.schemas import DocumentFields
from eai.kernel.ids import DocumentId, JobId, VersionId
from eai.knowledge.bases.access import authorise
from eai.knowledge.bases.handle import BaseHandle
from eai.knowledge.documents.drafts import DocumentDraft, StoredVersion, VersionDraft
from eai.knowledge.documents.intake import (
    COMPARED,
    create_document_with_version,
    find_duplicate,
    find_submitted,
)
from eai.knowledge.receipts.service import id_of_repetition
from eai.platform.jobs import JobRun, Jobs

JOB_NAME = "ingestion.run"
_VERSIONS = UUID("0e7a0c53-5d5c-5b5e-9a34-0c4c3f3a7d10")


@dataclass(frozen=True, slots=True)
class Submission:
    """A document as it came in: `id` is the one it will have, `source` its bytes.

    `is_repeated` says that an attempt under the same id may have come before.
    """

    id: DocumentId
    fields: DocumentFields
    source: bytes
    content_type: str
    filename: str | None = None
    is_repeated: bool = False


@dataclass(frozen=True, slots=True)
class Accepted:
    """What a submission became. Without `run` there is nothing left to do for the caller now."""

    document: DocumentId
    is_new: bool
    job: JobId | None = None
    run: JobRun | None = None
    work: Work | None = None


class Acceptance:
    """Decides whether a document may come in, and commits to it."""

    def __init__(self, gateway: Gateway, jobs: Jobs, audit: Audit) -> None:
        self._gateway = gateway
        self._jobs = jobs
        self._audit = audit

    async def accept(
        self, session: AsyncSession, subject: Subject, base_ref: str, submission: Submission, *, waits: bool
    ) -> Accepted:
        """Store the document and its job; with `waits` the caller itself runs the job's first attempt.

        An equal document that the caller may read is returned instead, and so is what a repeated
        submission has made before. Raises NotFound, PermissionMissing, DuplicateContent and what the
        checks of content, level and readers raise.
        """
        base = await authorise(session, subject, base_ref, Permission.WRITE)
        content_type = accepted_type(submission.content_type, submission.filename)
        check_size(len(submission.source))
        if submission.is_repeated:
            id_ = await id_of_repetition(session, subject.tenant, submission.id)
            submission = replace(submission, id=id_)
            if (earlier := await self._earlier(session, subject, base, id_, waits=waits)) is not None:
                return earlier
        draft = _draft(subject, submission)
        await self._gateway.check(
            Caller.of(subject), base.embedding_model, Operation.INGEST, base.level_of(draft.classification)
        )
        job = JobId(uuid4())
        version = VersionDraft(
            id=_first_version(draft.id),
            content_type=content_type,
            source_hash=sha256(submission.source).digest(),
            source=submission.source,
            job=job,
        )
        if draft.external_id is None and (
            copy := await find_duplicate(
                session, subject, base, draft, version, given=_given(submission.fields)
            )
        ):
            if not copy.is_same:
                raise DuplicateContent(document_id=str(copy.document))
            return Accepted(copy.document, is_new=False)
        stored = await create_document_with_version(session, subject, base, draft, version)
        parameters = _parameters(subject, base, stored, submission)
        start = self._jobs.begin if waits else self._jobs.create
        run = await start(session, subject.tenant, job, JOB_NAME, parameters, principal=subject.principal)
        work = await load_work(session, subject.tenant, parameters) if run else None
        await self._record(session, subject, base, draft=draft, version=version, stored=stored)
        return Accepted(stored.document, is_new=True, job=job, run=run, work=work)

    async def _earlier(
        self, session: AsyncSession, subject: Subject, base: BaseHandle, document: DocumentId, *, waits: bool
    ) -> Accepted | None:
        """What an earlier attempt has made; its job goes on here once nobody else is at it."""
        version = await find_submitted(session, subject, base, document, _first_version(document))
        if version is None:
            return None
        if version.job_id is None or version.status not in {"pending", "processing"}:
            return Accepted(document, is_new=True)
        job = JobId(version.job_id)
        run = await self._jobs.claim(session, subject.tenant, job) if waits else None
        work = await load_work(session, subject.tenant, run.parameters) if run else None
        return Accepted(document, is_new=True, job=job, run=run, work=work)

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
                "level": str(base.level_of(draft.classification)),
                "source_sha256": version.source_hash.hex(),
            },
            private={"title": draft.title},
        )


def _first_version(document: DocumentId) -> VersionId:
    return VersionId(uuid5(_VERSIONS, str(document)))


def _given(fields: DocumentFields) -> frozenset[str]:
    """What a copy must agree with: a field that was left out agrees with anything."""
    return frozenset(name for name in COMPARED if name in fields.model_fields_set)


def _draft(subject: Subject, submission: Submission) -> DocumentDraft:
    fields = submission.fields
    return DocumentDraft(
        id=submission.id,
        title=fields.title,
        external_id=fields.external_id or submission.filename,
        source_uri=fields.source_uri,
        classification=fields.classification,
        readers=None if fields.readers is None else frozenset(fields.readers),
        metadata=fields.metadata,
        labels=fields.labels.of(subject),
    )


def _parameters(
    subject: Subject, base: BaseHandle, stored: StoredVersion, submission: Submission
) -> Mapping[str, Any]:
    return {
        "base": str(base.id),
        "document": str(stored.document),
        "version": str(stored.version),
        "language": submission.fields.language,
        "labels": submission.fields.labels.of(subject),
        "placement": placement_of(base.generation),
        "submitter": submitter(subject),
    }
