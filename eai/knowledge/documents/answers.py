"""Documents turned into what clients read."""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any
from uuid import UUID

from eai.access.subject import Subject
from eai.knowledge.bases.handle import BaseHandle
from eai.knowledge.chunks.spans import spans_from_rows
from eai.knowledge.documents.levels import effective_level
from eai.knowledge.documents.schemas import (
    DlpFound,
    DocumentError,
    DocumentOut,
    DocumentStatus,
    PendingVersion,
    VersionOut,
)
from eai.knowledge.documents.view_rows import DocumentView
from eai.knowledge.models import DocumentVersion, KnowledgeDocument
from eai.platform.i18n import words_of
from eai.tenants.dlp_rules import DlpEntity


def document_out(
    subject: Subject, base: BaseHandle, view: DocumentView, chunks: Mapping[UUID, int]
) -> DocumentOut:
    """The document, as `subject` with the rights of `base` may know it."""
    document, shown = view.document, view.serving or view.newest
    return DocumentOut(
        id=document.id,
        knowledge_base_id=document.base_id,
        title=document.title,
        status=DocumentStatus(shown.status),
        version=str(shown.number),
        pending_version=None if view.newest.id == shown.id else _pending(base, view.newest),
        job_id=view.newest.job_id if base.rights.can_write and view.newest.status != "ready" else None,
        error=_error_out(base, shown.error),
        classification=effective_level(base, document),
        readers=document.readers if base.rights.can_write else None,
        external_id=document.external_id,
        source_uri=document.source_uri,
        source_uri_verified=document.source_uri_verified,
        source_connector=document.source_connector,
        content_type=shown.content_type,
        source_hash=_source_hash(subject, base, document, shown) if view.is_shown else None,
        content_hash=content_hash_told(subject, base, document, shown) if view.is_shown else None,
        dlp=_found(subject, base, document, shown) if view.is_shown else None,
        language=shown.language,
        metadata=document.metadata_,
        labels=document.labels,
        chunks_count=chunks.get(document.id, 0),
        retrieval_count=view.retrieval_count,
        last_retrieved_at=view.last_retrieved_at,
        created_at=document.created_at,
        updated_at=document.updated_at,
        revision=document.revision,
    )


def version_out(
    subject: Subject,
    base: BaseHandle,
    document: KnowledgeDocument,
    version: DocumentVersion,
    *,
    is_shown: bool,
) -> VersionOut:
    """One version of the document, as `subject` may know it; `is_shown` as in the document's view."""
    return VersionOut(
        id=version.id,
        version=str(version.number),
        status=DocumentStatus(version.status),
        is_serving=version.id == document.serving_version_id,
        content_type=version.content_type,
        content_hash=content_hash_told(subject, base, document, version) if is_shown else None,
        language=version.language,
        error=_error_out(base, version.error),
        created_at=version.created_at,
        updated_at=version.updated_at,
    )


def content_hash_told(
    subject: Subject, base: BaseHandle, document: KnowledgeDocument, version: DocumentVersion
) -> str | None:
    """The digest of the text that answers, unless a part of it is hidden from the caller.

    Of no other version: rights and level are those that the document has now, and a former text may have been
    closed to whom they let in.
    """
    if version.content_hash is None or version.id != document.serving_version_id:
        return None
    return version.content_hash.hex() if _reads_all_of(subject, base, document, version) else None


def _pending(base: BaseHandle, version: DocumentVersion) -> PendingVersion:
    return PendingVersion(
        version=str(version.number),
        status=DocumentStatus(version.status),
        error=_error_out(base, version.error),
    )


def _error_out(base: BaseHandle, error: Mapping[str, Any] | None) -> DocumentError | None:
    """The error, with its details for who may write: they tell what was found in a text that nobody reads."""
    if error is None:
        return None
    code, details = error["code"], dict(error.get("details", {})) if base.rights.can_write else {}
    return DocumentError(
        code=code,
        details=details,
        message_i18n={each.value: text for each, text in words_of(code, details).items()},
        docs_url=f"/docs/errors/{code}",
    )


def _source_hash(
    subject: Subject, base: BaseHandle, document: KnowledgeDocument, version: DocumentVersion
) -> str | None:
    """The digest of what was given, to whoever gave it.

    To others who may write it is told where it is that of the text: they could guess what else was in it,
    and was taken out by DLP or a steward.
    """
    given = version.source_hash.hex()
    if base.rights.can_write and version.created_by == subject.principal:
        return given
    is_told = base.rights.can_write and given == content_hash_told(subject, base, document, version)
    return given if is_told else None


def _reads_all_of(
    subject: Subject, base: BaseHandle, document: KnowledgeDocument, version: DocumentVersion
) -> bool:
    """Whether the rights of parts hide none of the version from `subject`.

    To anybody else a digest, or what was found in the text, would confirm guesses at what is hidden.
    """
    if not base.rights.can_read_passages or not _is_named(subject, document.readers):
        return False  # who may configure a base is shown what is in it, and reads none of it
    return all(
        _is_named(subject, span.readers)
        and not effective_level(base, document, span.classification).exceeds(subject.clearance)
        for span in spans_from_rows(version.chunk_rights)
    )


def _found(
    subject: Subject, base: BaseHandle, document: KnowledgeDocument, version: DocumentVersion
) -> DlpFound | None:
    """What DLP found, to whoever may read all of it."""
    if not _reads_all_of(subject, base, document, version):
        return None
    entities: Counter[DlpEntity] = Counter()
    for part in (version.dlp, document.dlp):
        entities.update({DlpEntity(name): count for name, count in part.get("entities", {}).items()})
    is_redacted = any(part.get("redacted", False) for part in (version.dlp, document.dlp))
    return DlpFound(entities=dict(sorted(entities.items())), redacted=is_redacted)


def _is_named(subject: Subject, readers: Collection[str] | None) -> bool:
    return readers is None or not subject.references.isdisjoint(readers)
