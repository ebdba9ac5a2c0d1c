"""Gives a document a text and fields without the person, and takes the former texts away once it answers."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, cast
from uuid import UUID, uuid4, uuid5

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import Classification
from eai.access.scopes import Role
from eai.access.subject import PrincipalKind, Subject
from eai.gateway.schemas import Labels
from eai.ingestion.repository import JOB_NAME, parameters_of
from eai.kernel.ids import ApiKeyId, DocumentId, GroupId, JobId, PrincipalId, TenantId, VersionId
from eai.knowledge.bases.handle import BaseHandle
from eai.knowledge.chunks.spans import spans_from_rows
from eai.knowledge.documents.drafts import DocumentChanges, VersionDraft
from eai.knowledge.documents.replacing import add_version, change_document
from eai.platform.jobs import Jobs
from eai.privacy.blackening import Blackening
from eai.privacy.review_rows import Reviewed, ReviewTextRows, without
from eai.privacy.text_rows import DocumentState, TextRows, Version, Written
from eai.privacy.texts import REVIEW, Search, Texts, decoded

PLAIN = "text/plain"
_ENDED_BADLY = frozenset({"failed", "rejected"})


@dataclass(frozen=True, slots=True)
class Redacted:
    """What a document is to become without the person, made before anybody holds it.

    Without `draft` only fields hold the person; `is_clean` says whether they hold nothing of it any more.
    `intended` is what each version is to bring that brings fields, by its id; `reviewed` what is to be kept
    of its reviews.
    """

    changes: DocumentChanges
    intended: Mapping[UUID, Mapping[str, Any]]
    reviewed: Reviewed
    draft: VersionDraft | None
    language: str | None
    is_clean: bool


async def redacted(texts: Texts, erasure: UUID, document: DocumentState, search: Search) -> Redacted | None:
    """The document without the person; None where nothing that can be read is stored of it."""
    newest = _newest(document)
    written = None if newest is None else await texts.written(newest.id)
    text = None if written is None else _text_of(written)
    if newest is None or written is None or text is None:
        return None
    blackening = Blackening(texts.identifiers)
    changes, intended, is_clean = await asyncio.to_thread(blackening.fields, document)
    reviewed = await reviewed_without(texts, document)
    is_clean = is_clean and not await asyncio.to_thread(blackening.is_in, reviewed.texts())
    if not search.versions:
        return Redacted(changes, intended, reviewed, None, newest.language, is_clean)
    source = (await asyncio.to_thread(blackening.masked, text)).encode()
    draft = VersionDraft(
        id=redacted_version(erasure, DocumentId(document.row.id)),
        content_type=PLAIN if written.content is not None else newest.content_type,
        source_hash=sha256(source).digest(),
        source=source,
        # Every character stands where it stood.
        span_rights=tuple(spans_from_rows(cast(Any, newest.chunk_rights))),
        job=JobId(uuid4()),
    )
    return Redacted(_besides(changes, document), intended, reviewed, draft, newest.language, is_clean)


async def reviewed_without(texts: Texts, document: DocumentState) -> Reviewed:
    """What of the reviews of a document is to be another one, without the person."""
    reviewed = await texts.reviewed(document)
    return await asyncio.to_thread(without, reviewed, Blackening(texts.identifiers).masked)


@dataclass(frozen=True, slots=True)
class Redaction:
    """A document that is to lose a person. The caller holds its row, which is as it was read."""

    session: AsyncSession
    jobs: Jobs
    subject: Subject
    base: BaseHandle
    document: DocumentState

    async def begin(self, redacted: Redacted) -> frozenset[str] | None:
        """Queue the text without the person; where only fields hold it they change now, and it tells which.

        Raises what stands against a replacement.
        """
        await ReviewTextRows(self.session, self.base.tenant).rewrite(redacted.reviewed)
        if redacted.draft is None:
            changed = await change_document(
                self.session, self.jobs, self.subject, self.base, self.document.row, changes=redacted.changes
            )
            # After the change, which has versions on their way forget their own.
            await self._intend(redacted.intended)
            fields = frozenset(field.rstrip("_") for field in changed) | self._intended_anew(redacted)
            return fields | ({REVIEW} if any(redacted.reviewed) else set())
        # Before the new version, which takes over what the newest one was to bring.
        await self._intend(redacted.intended)
        stored = await add_version(
            self.session,
            self.jobs,
            self.subject,
            self.base,
            DocumentId(self.document.row.id),
            redacted.draft,
            redacted.changes,
        )
        labels = Labels(**self.document.row.labels).of(self.subject)
        parameters = parameters_of(self.subject, self.base, stored, language=redacted.language, labels=labels)
        await self.jobs.create(
            self.session,
            self.base.tenant,
            cast(JobId, redacted.draft.job),
            JOB_NAME,
            parameters,
            principal=self.subject.principal,
        )
        return None

    def _intended_anew(self, redacted: Redacted) -> frozenset[str]:
        intended = {version.id: version.intended for version in self.document.versions}
        differs = any(fields != intended[version] for version, fields in redacted.intended.items())
        return frozenset({"intended"}) if differs else frozenset()

    async def _intend(self, intended: Mapping[UUID, Mapping[str, Any]]) -> None:
        rows = TextRows(self.session, self.base.tenant)
        for version, fields in intended.items():
            await rows.intend(version, fields)


def _besides(changes: DocumentChanges, document: DocumentState) -> DocumentChanges:
    """Without the fields that the newest version, which does not answer, was to change: the new one does."""
    newest = document.versions[-1]
    if newest.id == document.row.serving_version_id:
        return changes
    return replace(changes, given=changes.given - {name.rstrip("_") for name in newest.intended})


def redacted_version(erasure: UUID, document: DocumentId) -> VersionId:
    """The id of the text that an erasure gives a document, whichever attempt does."""
    return VersionId(uuid5(erasure, str(document)))


def subject_of(tenant: TenantId, given: Mapping[str, Any]) -> Subject:
    """On whose behalf a redacted text is taken in; it opens nothing."""
    return Subject(
        tenant=tenant,
        principal=PrincipalId(UUID(given["principal"])),
        kind=PrincipalKind(given["kind"]),
        name="",
        roles=tuple(Role(role) for role in given["roles"]),
        groups=frozenset(GroupId(UUID(group)) for group in given["groups"]),
        scopes=frozenset(),
        clearance=Classification(given["clearance"]),
        api_key=ApiKeyId(UUID(given["api_key"])),
    )


def _newest(document: DocumentState) -> Version | None:
    sound = [version for version in document.versions if version.status not in _ENDED_BADLY]
    return sound[-1] if sound else None


def _text_of(written: Written) -> str | None:
    return written.content if written.content is not None else decoded(written.source)
