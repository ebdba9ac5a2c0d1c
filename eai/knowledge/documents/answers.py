"""Documents turned into what clients read."""

from collections.abc import Mapping
from uuid import UUID

from eai.access.classification import LEVELS, Classification
from eai.knowledge.bases.handle import BaseHandle
from eai.knowledge.documents.schemas import DocumentOut, DocumentStatus, PendingVersion, VersionOut
from eai.knowledge.documents.view_rows import DocumentView
from eai.knowledge.models import DocumentVersion, KnowledgeDocument


def level_of(document: KnowledgeDocument) -> Classification | None:
    """The document's own level; None where it follows the base."""
    return None if document.classification is None else LEVELS[document.classification]


def document_out(base: BaseHandle, view: DocumentView, chunks: Mapping[UUID, int]) -> DocumentOut:
    """The document, as one with the rights of `base` may know it."""
    document, shown = view.document, view.serving or view.newest
    return DocumentOut(
        id=document.id,
        knowledge_base_id=document.base_id,
        title=document.title,
        status=DocumentStatus(shown.status),
        version=str(shown.number),
        pending_version=None if view.newest.id == shown.id else _pending(view.newest),
        error=shown.error,
        classification=base.level_of(level_of(document)),
        readers=document.readers if base.rights.can_write else None,
        external_id=document.external_id,
        source_uri=document.source_uri,
        source_connector=document.source_connector,
        content_type=shown.content_type,
        content_hash=_hex(shown.content_hash),
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


def version_out(version: DocumentVersion, serving: UUID | None) -> VersionOut:
    """One version; `serving` is the one that answers."""
    return VersionOut(
        id=version.id,
        version=str(version.number),
        status=DocumentStatus(version.status),
        is_serving=version.id == serving,
        content_type=version.content_type,
        content_hash=_hex(version.content_hash),
        language=version.language,
        error=version.error,
        created_at=version.created_at,
        updated_at=version.updated_at,
    )


def _pending(version: DocumentVersion) -> PendingVersion:
    return PendingVersion(
        version=str(version.number), status=DocumentStatus(version.status), error=version.error
    )


def _hex(digest: bytes | None) -> str | None:
    return None if digest is None else digest.hex()
