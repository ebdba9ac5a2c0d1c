"""Stores documents and versions for ingestion, always inside the caller's transaction.

Locks are taken in one order, external id, then document, then its content, then what quotas bind it, then
base (for a new rights class), then generation (for statistics), so that concurrent writers wait for each
other and never deadlock.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, and_, func, literal, not_, or_
from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.subject import Subject
from eai.identity.grants import require_clearance
from eai.kernel.errors import NotFound
from eai.kernel.ids import DocumentId, TenantId, VersionId
from eai.kernel.masking import MASK
from eai.knowledge.bases.handle import BaseHandle
from eai.knowledge.chunks.spans import spans_to_rows
from eai.knowledge.directory import check_references
from eai.knowledge.documents.drafts import DocumentDraft, StoredVersion, VersionDraft
from eai.knowledge.documents.levels import effective_level
from eai.knowledge.documents.repository import DocumentRows
from eai.knowledge.documents.version_rows import HELD, VersionRows, find_live, set_status
from eai.knowledge.errors import ExternalIdExists
from eai.knowledge.models import DocumentVersion, KnowledgeDocument
from eai.knowledge.visibility import readable_documents, wholly_readable

COMPARED = frozenset({"title", "readers", "classification", "metadata"})
"""What of a document, besides its text, makes two of them the same."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A document with the same content that the caller may read.

    `is_same` says that its title, rights and metadata are equal too, as far as the draft gives them.
    """

    document: DocumentId
    version: VersionId
    is_same: bool


async def find_duplicate(
    session: AsyncSession,
    subject: Subject,
    base: BaseHandle,
    draft: DocumentDraft,
    version: VersionDraft,
    *,
    given: frozenset[str] = COMPARED,
) -> Copy | None:
    """The caller's readable copy of this content in the same base and source, if there is one.

    `given` names the fields of the draft that the caller wrote and that must be equal. Documents with
    an external id, failed ones, and those of which the caller may not read every part do not count.
    Holds a lock on the content until the transaction ends, so that of two equal uploads one sees the
    other.
    """
    copies = [
        Copy(DocumentId(document.id), last, _is_same(document, draft, given))
        for document, last in await _copies(
            session, subject, base, draft.source_connector, version.source_hash, version.content_type
        )
    ]
    return next((copy for copy in copies if copy.is_same), copies[0] if copies else None)


async def find_other_copy(  # noqa: PLR0917 - as they are stored
    session: AsyncSession,
    subject: Subject,
    base: BaseHandle,
    row: KnowledgeDocument,
    source_hash: bytes,
    content_type: str,
) -> DocumentId | None:
    """Another document that says what `row` is to say, found and held as `find_duplicate` does."""
    copies = await _copies(session, subject, base, row.source_connector, source_hash, content_type)
    return next((DocumentId(document.id) for document, _ in copies if document.id != row.id), None)


async def _copies(  # noqa: PLR0917 - as they are stored
    session: AsyncSession,
    subject: Subject,
    base: BaseHandle,
    connector: str,
    source_hash: bytes,
    content_type: str,
) -> Sequence[tuple[KnowledgeDocument, VersionId]]:
    rows = DocumentRows(session, subject.tenant, base.id)
    await rows.lock_content(connector, source_hash)
    # That a text is there is no news only to those who may read all of it.
    readable = and_(
        readable_documents(subject, base.rights, base.classification),
        wholly_readable(subject),
        _given_is_known(subject),
    )
    return await rows.copies(connector, source_hash, content_type, readable)


def _given_is_known(subject: Subject) -> ColumnElement[bool]:
    """Whether a reader may read what the version was given as: not while it is held, nor what was redacted.

    Whoever gave it knows it anyway.
    """
    is_redacted = func.coalesce(DocumentVersion.dlp["redacted"].as_boolean(), literal(value=False))
    is_blackened = func.coalesce(DocumentVersion.content, "").contains(MASK)
    return or_(
        DocumentVersion.created_by == subject.principal,
        and_(DocumentVersion.status != HELD, not_(is_redacted), not_(is_blackened)),
    )


async def create_document_with_version(
    session: AsyncSession, subject: Subject, base: BaseHandle, draft: DocumentDraft, version: VersionDraft
) -> StoredVersion:
    """Store a new document with its first version, `pending`.

    The same id again by its creator returns what is stored. Raises PrincipalUnknown,
    ClearanceExceeded, and ExternalIdExists when another live document of the source has that id.
    """
    await check_rights(session, subject, base, draft, version)
    rows = DocumentRows(session, subject.tenant, base.id)
    values = {
        "id": draft.id,
        "title": draft.title,
        "external_id": draft.external_id,
        "source_connector": draft.source_connector,
        "source_uri": draft.source_uri,
        "source_uri_verified": draft.source_uri_verified,
        "classification": draft.classification and draft.classification.rank,
        "readers": None if draft.readers is None else sorted(draft.readers),
        "metadata_": dict(draft.metadata),
        "labels": dict(draft.labels),
        "dlp": dict(draft.dlp),
        "field_level": draft.level and draft.level.rank,
        "created_by": subject.principal,
    }
    if not await rows.insert(values):
        return await _stored_before(session, subject, rows, draft, version)
    number = await VersionRows(session, subject.tenant, draft.id).insert(version_row(subject, version))
    return StoredVersion(draft.id, version.id, number)


async def find_submitted(
    session: AsyncSession, subject: Subject, base: BaseHandle, document: DocumentId, version: VersionId
) -> DocumentVersion | None:
    """The version, if `subject` itself made its document in this base and it lives; held from here on."""
    row = await DocumentRows(session, subject.tenant, base.id).lock(document)
    if row is None or row.created_by != subject.principal:
        return None
    return await VersionRows(session, subject.tenant, document).find(version)


async def find_replacement(
    session: AsyncSession, subject: Subject, base: BaseHandle, version: VersionId
) -> DocumentVersion | None:
    """The version, if `subject` itself brought it to a document of this base that lives."""
    found = await find_live(session, subject.tenant, base.id, version)
    return found if found is not None and found.created_by == subject.principal else None


async def hold_external_document(
    session: AsyncSession, subject: Subject, base: BaseHandle, connector: str, external_id: str
) -> KnowledgeDocument | None:
    """The live document that a source knows under `external_id`, whoever may read it; held from here on.

    Where there is none yet, others who bring it wait, and find that it is there.
    Whoever may write for a source replaces its documents, also those that name other readers: a
    connector that mirrors rights is not itself a reader. Raises ExternalIdExists for one above the
    caller's clearance, of which the answer would tell too much.
    """
    rows = DocumentRows(session, base.tenant, base.id)
    await rows.lock_external(connector, external_id)
    found = await rows.find_external(connector, external_id)
    row = None if found is None else await rows.lock(DocumentId(found.id))
    if row is not None and effective_level(base, row).exceeds(subject.clearance):
        raise ExternalIdExists
    return row


async def is_overtaken(session: AsyncSession, base: BaseHandle, stored: StoredVersion) -> bool:
    """Whether the document lives and a newer text has come for it; it is held from here on."""
    if await DocumentRows(session, base.tenant, base.id).lock(stored.document) is None:
        return False
    newest = await VersionRows(session, base.tenant, stored.document).newest()
    return newest is not None and newest.id != stored.version


async def discard_version(session: AsyncSession, base: BaseHandle, stored: StoredVersion) -> None:
    """Remove a version that was refused before it ever answered, and its document if it had no other."""
    rows = DocumentRows(session, base.tenant, base.id)
    document = await rows.lock(stored.document)
    if document is None or document.serving_version_id == stored.version:
        return
    versions = VersionRows(session, base.tenant, stored.document)
    is_only = await versions.is_only(stored.version)
    await versions.delete(stored.version)
    if is_only:
        await rows.delete(stored.document)


async def set_version_status(
    session: AsyncSession,
    tenant: TenantId,
    version: VersionId,
    status: str,
    *,
    error: Mapping[str, Any] | None = None,
) -> bool:
    """Record how far a version is: `processing`, `quarantined`, `rejected` or `failed`.

    Does nothing to one that is not on its way, and says so: it is gone, answers, or was overtaken by a
    newer text.
    """
    return await set_status(session, tenant, version, status, None if error is None else dict(error))


async def forget_text(
    session: AsyncSession, tenant: TenantId, document: DocumentId, version: VersionId
) -> None:
    """Leave nothing of what a version says but its hash."""
    await VersionRows(session, tenant, document).update(version, {"source": None, "content": None})


async def check_rights(
    session: AsyncSession, subject: Subject, base: BaseHandle, draft: DocumentDraft, version: VersionDraft
) -> None:
    """Raise PrincipalUnknown or ClearanceExceeded for rights that the caller may not give."""
    levels = [draft.classification, *(span.classification for span in version.span_rights)]
    for level in levels:
        require_clearance(subject, base.level_of(level))
    named = [(f"readers.{i}", reader) for i, reader in enumerate(sorted(draft.readers or ()))]
    for place, span in enumerate(version.span_rights):
        readers = sorted(span.readers or ())
        named += [(f"chunk_readers.{place}.readers.{i}", reader) for i, reader in enumerate(readers)]
    await check_references(session, subject.tenant, named)


def version_row(subject: Subject, version: VersionDraft) -> dict[str, Any]:
    """A version as it is first stored."""
    return {
        "id": version.id,
        "status": "pending",
        "content_type": version.content_type,
        "source": version.source,
        "source_hash": version.source_hash,
        "chunk_rights": spans_to_rows(version.span_rights),
        "job_id": version.job,
        "created_by": subject.principal,
    }


async def _stored_before(
    session: AsyncSession, subject: Subject, rows: DocumentRows, draft: DocumentDraft, version: VersionDraft
) -> StoredVersion:
    document = await rows.lock(draft.id)
    if document is not None and document.created_by == subject.principal:
        stored = await VersionRows(session, subject.tenant, draft.id).find(version.id)
        if stored is not None:
            return StoredVersion(draft.id, version.id, stored.number)
    if draft.external_id is not None:
        taken = await rows.find_external(draft.source_connector, draft.external_id)
        if taken is not None:
            # Which one it is may be nothing that the caller may know of.
            raise ExternalIdExists
    # The id is spent: it belonged to a document that is being deleted.
    raise NotFound


def _is_same(document: KnowledgeDocument, draft: DocumentDraft, given: frozenset[str]) -> bool:
    wanted = {
        "title": draft.title,
        "readers": None if draft.readers is None else sorted(draft.readers),
        "classification": draft.classification and draft.classification.rank,
        "metadata": dict(draft.metadata),
    }
    stored = {
        "title": document.title,
        "readers": None if document.readers is None else sorted(document.readers),
        "classification": document.classification,
        "metadata": document.metadata_,
    }
    return all(stored[field] == wanted[field] for field in given & wanted.keys())
