"""What ingestion calls to store documents and versions, and to let a version answer.

Every function works inside the caller's transaction. Locks are taken in one order: document, base (for
a new rights class), generation (for statistics), so that concurrent writers wait and never deadlock.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import Classification
from eai.access.subject import Subject
from eai.kernel.ids import BaseId, DocumentId, TenantId, VersionId
from eai.knowledge.bases.handle import BaseHandle, ServingGeneration
from eai.knowledge.documents.drafts import (
    DocumentChanges,
    DocumentDraft,
    PreparedChunk,
    Readers,
    StoredVersion,
    VersionDraft,
)
from eai.platform.jobs import Jobs


class VersionOutdated(Exception):
    """The version may not answer any more: deleted, replaced by a newer one, or its source changed.

    Whoever prepared it removes the points it wrote and drops the rest.
    """


@dataclass(frozen=True, slots=True)
class Copy:
    """A document with the same content that the caller may read.

    `is_same` says that title, rights and metadata are equal too, where the draft gives them.
    """

    document: DocumentId
    version: VersionId
    is_same: bool


async def find_duplicate(
    session: AsyncSession, subject: Subject, base: BaseHandle, draft: DocumentDraft, source_hash: bytes
) -> Copy | None:
    """The caller's readable copy of this content in the same base and source, if there is one.

    Documents with an external id, failed ones, and those the caller may not read do not count. Holds a
    lock on the content until the transaction ends, so that of two equal uploads one sees the other.
    """
    raise NotImplementedError


async def create_document_with_version(
    session: AsyncSession, subject: Subject, base: BaseHandle, draft: DocumentDraft, version: VersionDraft
) -> StoredVersion:
    """Store a new document with its first version, `pending`; the same id again returns what is stored.

    Raises PrincipalUnknown, ClearanceExceeded, ExternalIdTaken.
    """
    raise NotImplementedError


async def add_version(
    session: AsyncSession,
    jobs: Jobs,
    subject: Subject,
    base: BaseHandle,
    document: DocumentId,
    version: VersionDraft,
    changes: DocumentChanges,
) -> StoredVersion:
    """Store a replacement, `pending`. Its changes take effect when it is served.

    New readers and level bind at once, as the stricter of old and new. Raises NotFound for a document
    that is gone.
    """
    raise NotImplementedError


async def set_version_status(
    session: AsyncSession,
    tenant: TenantId,
    version: VersionId,
    status: str,
    *,
    error: Mapping[str, Any] | None = None,
) -> None:
    """Record how far a version is: `processing`, `quarantined`, `rejected` or `failed`."""
    raise NotImplementedError


async def rights_class_number(
    session: AsyncSession,
    tenant: TenantId,
    base: BaseId,
    readers: Collection[str] | None,
    chunk_readers: Collection[str] | None,
    classification: Classification | None,
    chunk_classification: Classification | None,
    connector: str,
) -> int:
    """The number of the rights class with exactly these rights; made at first use, once."""
    raise NotImplementedError


async def insert_chunks(
    session: AsyncSession,
    base: BaseHandle,
    document: DocumentId,
    version: VersionId,
    chunks: Sequence[PreparedChunk],
) -> None:
    """Store chunks with their vectors in the base's serving generation."""
    raise NotImplementedError


async def swap_serving_version(
    session: AsyncSession, jobs: Jobs, base: BaseHandle, stored: StoredVersion, source_hash: bytes
) -> VersionId | None:
    """Let the version answer and its changes take effect; returns the version that answered before.

    The chunks of that one lose their statistics now, and their points and rows by a job. Raises
    VersionOutdated.
    """
    raise NotImplementedError


async def add_statistics(
    session: AsyncSession, generation: ServingGeneration, chunks: Sequence[PreparedChunk]
) -> None:
    """Count these serving chunks, as far as their classes have no readers."""
    raise NotImplementedError


@dataclass(frozen=True, slots=True)
class ExtractedText:
    """What a version says: the text that chunk offsets count in."""

    content: str
    content_hash: bytes
    language: str


async def serve_version(
    session: AsyncSession,
    jobs: Jobs,
    base: BaseHandle,
    stored: StoredVersion,
    source_hash: bytes,
    text: ExtractedText,
    chunks: Sequence[PreparedChunk],
) -> VersionId | None:
    """All of it in one call: lock, check, store text and chunks, swap, count, and queue what follows.

    `chunks` must not be empty. Points whose class is no longer right are moved by a job. Raises
    VersionOutdated. Call it last before audit and `Jobs.complete`.
    """
    raise NotImplementedError


__all__ = ["Readers"]
