"""Shows stewards what is held, and carries out what they decide."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID, uuid4

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.subject import Subject
from eai.audit.actions import AuditAction
from eai.audit.entries import Actor, AuditEntry, Evidence, Resource
from eai.audit.service import Audit
from eai.identity.secret_holders import SecretHolders
from eai.ingestion.repository import JOB_NAME, NO_RIGHTS, placement_of, submitter_of
from eai.kernel.canonical import Canonical
from eai.kernel.errors import NotFound
from eai.kernel.ids import DocumentId, JobId, VersionId
from eai.kernel.paging import Page, PageRequest
from eai.knowledge.bases.access import handle_of
from eai.knowledge.bases.handle import BaseHandle
from eai.knowledge.bases.repository import BaseRows
from eai.knowledge.documents.access import document_id
from eai.knowledge.documents.drafts import StoredVersion
from eai.knowledge.documents.fields import ShownFields
from eai.knowledge.documents.holding import keep_fields, reject_version, resume_version, take_newest
from eai.knowledge.documents.version_rows import HELD, VersionRows
from eai.knowledge.models import DocumentVersion, KnowledgeDocument
from eai.platform.jobs import Jobs
from eai.quarantine.examination import examine
from eai.quarantine.judgement import (
    Masks,
    Verdict,
    covered_rows,
    from_row,
    lacks_findings,
    masked,
    masks_of,
)
from eai.quarantine.models import Hold
from eai.quarantine.ports import Place, Specimen
from eai.quarantine.repository import QuarantineRows
from eai.quarantine.severity import Severity
from eai.review.answers import detail_out, held_out, review_out
from eai.review.errors import NotHeld, RedactionLeavesNothing, SelfReviewForbidden, TooManyFindings
from eai.review.repository import ReviewRows, next_key
from eai.review.schemas import HeldDocument, HeldDocumentDetail, ReviewOut, ReviewRequest

REPLACED = "replaced"
"""What is said of a version that another one has come after."""


@dataclass(frozen=True, slots=True)
class _Case:
    """A held version that one steward decides on; its document is locked."""

    session: AsyncSession
    subject: Subject
    base: BaseHandle
    version: DocumentVersion
    hold: Hold
    request: ReviewRequest
    id: UUID

    @property
    def submitter(self) -> Actor:
        """Who asked for the text to be taken in, the last time."""
        return submitter_of(self.base.tenant, self.hold.parameters).actor

    @property
    def stored(self) -> StoredVersion:
        return StoredVersion(
            DocumentId(self.version.document_id), VersionId(self.version.id), self.version.number
        )


class Reviews:
    """The held documents of a tenant, whatever its access lists say, within a steward's clearance."""

    def __init__(self, jobs: Jobs, audit: Audit) -> None:
        self._jobs = jobs
        self._audit = audit

    async def page(
        self, session: AsyncSession, subject: Subject, page: PageRequest, base_reference: str | None = None
    ) -> tuple[Page[HeldDocument], Evidence]:
        """What waits in one base or in all of them, the longest first, and the event that says who looked.

        End the transaction, flush the evidence, and only then show it. Raises NotFound.
        """
        base = None if base_reference is None else await _base(session, subject, base_reference)
        found = await _rows(session, subject).page(page, None if base is None else base.id)
        shown = found[: page.limit]
        of_tenant = Resource("tenant", str(subject.tenant))
        resource = of_tenant if base is None else Resource("knowledge_base", str(base.id))
        evidence = _look(subject, resource, {"documents": [str(held.document) for held in shown]})
        return Page([held_out(held) for held in shown], next_key(found, page)), evidence

    async def get(
        self, session: AsyncSession, subject: Subject, base_reference: str, reference: str
    ) -> tuple[HeldDocumentDetail, Evidence]:
        """A document that waits, with what was found in its context, and the event that says who looked.

        End the transaction, flush the evidence, and only then show it. Raises NotFound.
        """
        base = await _base(session, subject, base_reference)
        rows = _rows(session, subject)
        held = await rows.find(base.id, document_id(reference))
        if held is None:
            raise NotFound
        specimen = await rows.shown(held.version)
        resource = Resource("document", str(held.document))
        evidence = _look(subject, resource, {"base": str(base.id), "version": held.number})
        return detail_out(held, specimen), evidence

    async def review(  # noqa: PLR0917 - the parts of the sentence
        self,
        session: AsyncSession,
        subject: Subject,
        base_reference: str,
        reference: str,
        request: ReviewRequest,
        id_: UUID,
    ) -> ReviewOut:
        """Decide, under that id; the same id again returns what was decided.

        Raises NotFound for a document that was never held, or that the steward may not know of; NotHeld,
        SelfReviewForbidden, TooManyFindings, RedactionLeavesNothing.
        """
        base = await _base(session, subject, base_reference)
        rows, document = _rows(session, subject), document_id(reference)
        if not await rows.was_held(base.id, document):
            raise NotFound
        taken = await take_newest(session, subject.tenant, base.id, document)
        if taken is None:
            raise NotFound
        row, version = taken
        quarantine = QuarantineRows(session, subject.tenant)
        if await quarantine.find_decision(id_) is None:
            if int(request.version) > version.number:
                raise NotFound
            if int(request.version) < version.number:
                # Nobody decides on a text that came after the one they have read.
                raise NotHeld(status=REPLACED)
            if version.status != HELD:
                raise NotHeld(status=version.status)
            if await rows.find(base.id, document) is None:
                raise NotFound
            hold = await quarantine.get_hold(version.id)
            await self._decide(row, _Case(session, subject, base, version, hold, request, id_))
        return await _made(session, subject, id_)

    async def _decide(self, row: KnowledgeDocument, case: _Case) -> None:
        await _check_another(case, row.created_by)
        _check_all_is_known(case)
        await _keep(case, await self._masks(row, case))
        if case.request.decision is Verdict.REJECT:
            await reject_version(case.session, case.base.tenant, case.base.id, case.stored)
        else:
            await self._resume(case)
        await self._audit.record(
            case.session,
            case.subject,
            AuditAction.DOCUMENT_REVIEW,
            resource=Resource("document", str(case.stored.document)),
            facts={
                "base": str(case.base.id),
                "version": case.version.number,
                "review": str(case.id),
                "verdict": case.request.decision.value,
                "findings": len(case.hold.findings),
            },
            private={"comment": case.request.comment},
        )

    async def _masks(self, row: KnowledgeDocument, case: _Case) -> Masks:
        """What a redaction blackens of the text; it rewrites the fields.

        Raises TooManyFindings, RedactionLeavesNothing.
        """
        if case.request.decision is not Verdict.REDACT:
            return ()
        threshold = Severity(case.hold.threshold)
        masks = masks_of(map(from_row, case.hold.findings), threshold)
        specimen = await _rows(case.session, case.subject).specimen(case.version.id)
        fields = ShownFields.of(row, case.version.intended)
        # They may have been changed since the text was held: what is in them now is what counts.
        found = await asyncio.to_thread(examine, Specimen("", "", beside=specimen.beside))
        if lacks_findings(found, threshold):
            raise TooManyFindings
        parts = {
            place.value: [(start, end, "") for start, end in masks_of(found, threshold, place)]
            for place in Place
        }
        clean = fields.without(parts, lambda text, parts: masked(text, [part[:2] for part in parts]))
        if not all(any(map(str.isalnum, each)) for each in (masked(specimen.text, masks), clean.title)):
            raise RedactionLeavesNothing
        await keep_fields(case.session, case.base.tenant, row, case.version, fields, clean)
        return masks

    async def _resume(self, case: _Case) -> None:
        """Queue the version again, for whoever submitted it."""
        base, job = case.base, JobId(uuid4())
        await resume_version(case.session, base.tenant, base.id, case.stored, job)
        # The base may have moved to another generation since the document came.
        parameters = {**case.hold.parameters, "placement": placement_of(base.generation)}
        await self._jobs.create(
            case.session, base.tenant, job, JOB_NAME, parameters, principal=case.submitter.principal
        )


async def _check_another(case: _Case, author: UUID | None) -> None:
    """Raise SelfReviewForbidden where the steward is behind the document, its text or who submitted it."""
    named = (author, case.version.created_by, case.submitter.principal)
    brought_by = {each for each in named if each is not None}
    holders = SecretHolders(case.session, case.base.tenant)
    if await holders.is_behind(case.subject.principal, brought_by):
        raise SelfReviewForbidden


async def _keep(case: _Case, masks: Masks) -> None:
    await QuarantineRows(case.session, case.base.tenant).decide(
        {
            "id": case.id,
            "base_id": case.base.id,
            "document_id": case.stored.document,
            "version_id": case.stored.version,
            "decision": case.request.decision,
            "comment": case.request.comment,
            "decided_by": case.subject.principal,
            "source_hash": case.version.source_hash,
            "content_hash": case.version.content_hash,
            "signature": case.hold.signature,
            "findings": covered_rows(map(from_row, case.hold.findings)),
            "masks": [list(mask) for mask in masks],
        }
    )


def _check_all_is_known(case: _Case) -> None:
    """Raise TooManyFindings where a text is to go on that holds more than the steward was shown."""
    if case.request.decision is Verdict.REJECT:
        return
    if lacks_findings(map(from_row, case.hold.findings), Severity(case.hold.threshold)):
        raise TooManyFindings


async def _made(session: AsyncSession, subject: Subject, id_: UUID) -> ReviewOut:
    made = await QuarantineRows(session, subject.tenant).find_decision(id_)
    if made is None:
        raise NotFound
    versions = VersionRows(session, subject.tenant, DocumentId(made.document_id))
    version = await versions.find(VersionId(made.version_id))
    if version is None:
        raise NotFound
    return review_out(made, version)


def _look(subject: Subject, resource: Resource, facts: Mapping[str, Canonical]) -> Evidence:
    entry = AuditEntry(subject.tenant, AuditAction.QUARANTINE_READ, Actor.of(subject), resource, facts=facts)
    return Evidence(entries=(entry,))


def _rows(session: AsyncSession, subject: Subject) -> ReviewRows:
    return ReviewRows(session, subject.tenant, subject.clearance)


async def _base(session: AsyncSession, subject: Subject, reference: str) -> BaseHandle:
    """The live base of the tenant: what waits in it is a steward's, whoever else may know of it."""
    rows = BaseRows(session, subject.tenant)
    row = await rows.find(reference)
    if row is None:
        raise NotFound
    return handle_of(row, NO_RIGHTS, await rows.average_length(row))
