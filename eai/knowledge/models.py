"""The tables of knowledge: bases, documents, versions, chunks, rights classes and statistics."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, SmallInteger, Uuid, func
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.orm import Mapped, mapped_column
from sqlalchemy.types import REAL, TEXT

from eai.identity.models import RevisedRow
from eai.platform.schema import Json, Row, TenantRow

Readers = list[str] | None
_TEXTS = ARRAY(TEXT)


class KnowledgeBase(TenantRow):
    """A set of documents with an access list; `vector_generation` is the generation searched."""

    __tablename__ = "knowledge_bases"

    alias: Mapped[str]
    name: Mapped[str]
    description: Mapped[str] = mapped_column(server_default="")
    classification: Mapped[int] = mapped_column(SmallInteger)
    embedding_model: Mapped[str]
    dimensions: Mapped[int]
    chunk_size: Mapped[int]
    chunk_overlap: Mapped[int]
    vector_generation: Mapped[UUID]
    vector_collection: Mapped[str]
    revision: Mapped[int] = mapped_column(server_default="1")
    deleting_since: Mapped[datetime | None]
    created_by: Mapped[UUID | None]


class KnowledgeBaseEntry(Row):
    """One line of a base's access list."""

    __tablename__ = "knowledge_base_entries"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    base_id: Mapped[UUID] = mapped_column(primary_key=True)
    position: Mapped[int] = mapped_column(primary_key=True)
    principal: Mapped[str]
    permission: Mapped[str]
    effect: Mapped[str]


class Generation(TenantRow):
    """One set of points of a base in one embedding space.

    `average_length` is the average chunk length, in terms, that the stored BM25 weights were made with.
    Chunk settings are null for generations that had none of their own: they have the base's.
    """

    __tablename__ = "kb_generations"

    base_id: Mapped[UUID]
    state: Mapped[str]
    embedding_model: Mapped[str]
    dimensions: Mapped[int]
    collection: Mapped[str]
    average_length: Mapped[float] = mapped_column(REAL)
    chunk_size: Mapped[int | None]
    chunk_overlap: Mapped[int | None]
    retired_at: Mapped[datetime | None]


class KnowledgeDocument(TenantRow):
    """A document; what it says is in its versions, of which `serving_version_id` answers queries.

    `classification` null follows the base live; `readers` null means every reader of the base. Whatever it
    is, the document is never below `text_level` and `field_level`: what DLP found in the serving text, and
    in what is shown with it; `dlp` tells what that was. The database itself says in `served_by` which
    transaction let the serving version answer.
    """

    __tablename__ = "kb_documents"

    base_id: Mapped[UUID]
    title: Mapped[str]
    external_id: Mapped[str | None]
    source_connector: Mapped[str] = mapped_column(server_default="direct")
    source_uri: Mapped[str | None]
    source_uri_verified: Mapped[bool] = mapped_column(server_default="false")
    classification: Mapped[int | None] = mapped_column(SmallInteger)
    readers: Mapped[Readers] = mapped_column(_TEXTS)
    metadata_: Mapped[Json] = mapped_column("metadata", JSONB, server_default="{}")
    labels: Mapped[Json] = mapped_column(JSONB, server_default="{}")
    dlp: Mapped[Json] = mapped_column(JSONB, server_default="{}")
    text_level: Mapped[int | None] = mapped_column(SmallInteger)
    field_level: Mapped[int | None] = mapped_column(SmallInteger)
    serving_version_id: Mapped[UUID | None]
    served_by: Mapped[int | None] = mapped_column(BigInteger)
    revision: Mapped[int] = mapped_column(server_default="1")
    deleting_since: Mapped[datetime | None]
    created_by: Mapped[UUID | None]


class DocumentVersion(TenantRow):
    """One text of a document.

    `chunk_rights` are the stricter spans given with the text (`[{start, end, readers?,
    classification?}]`); `intended` holds the document fields that take effect when it is served. `dlp` tells
    what was found in the text, `dlp_spans` where, and what was replaced there: then `source` is the text as
    it was redacted, and `source_hash` all that is left of what was given. While a text is held they tell what
    no steward reads of it.
    """

    __tablename__ = "kb_document_versions"

    document_id: Mapped[UUID]
    number: Mapped[int]
    status: Mapped[str]
    error: Mapped[Json | None] = mapped_column(JSONB(none_as_null=True))
    content_type: Mapped[str]
    source: Mapped[bytes | None]
    source_hash: Mapped[bytes]
    content: Mapped[str | None]
    content_hash: Mapped[bytes | None]
    language: Mapped[str | None]
    chunk_rights: Mapped[list[Json]] = mapped_column(JSONB, server_default="[]")
    intended: Mapped[Json] = mapped_column(JSONB, server_default="{}")
    dlp: Mapped[Json] = mapped_column(JSONB, server_default="{}")
    dlp_spans: Mapped[Json] = mapped_column(JSONB, server_default="{}")
    job_id: Mapped[UUID | None]
    created_by: Mapped[UUID | None]


class DocumentRetrievals(Row):
    """How often a document's chunks were answers; counted by the audit flush."""

    __tablename__ = "kb_document_retrievals"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    document_id: Mapped[UUID] = mapped_column(primary_key=True)
    retrieval_count: Mapped[int] = mapped_column(BigInteger)
    last_retrieved_at: Mapped[datetime]


class RightsClass(Row):
    """A distinct set of rights within a base; points carry its number."""

    __tablename__ = "kb_rights_classes"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    base_id: Mapped[UUID] = mapped_column(primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    digest: Mapped[bytes]
    readers: Mapped[Readers] = mapped_column(_TEXTS)
    chunk_readers: Mapped[Readers] = mapped_column(_TEXTS)
    classification: Mapped[int | None] = mapped_column(SmallInteger)
    chunk_classification: Mapped[int | None] = mapped_column(SmallInteger)
    source_connector: Mapped[str]


class Chunk(TenantRow):
    """A passage in one generation. `id` is the point's id, `chunk_id` the passage's in every generation."""

    __tablename__ = "kb_chunks"

    chunk_id: Mapped[UUID]
    base_id: Mapped[UUID]
    generation: Mapped[UUID]
    document_id: Mapped[UUID]
    version_id: Mapped[UUID]
    ordinal: Mapped[int]
    start_offset: Mapped[int]
    end_offset: Mapped[int]
    content: Mapped[str]
    readers: Mapped[Readers] = mapped_column(_TEXTS)
    classification: Mapped[int | None] = mapped_column(SmallInteger)
    class_number: Mapped[int]
    language: Mapped[str]
    token_count: Mapped[int]
    dimensions: Mapped[int]
    embedding: Mapped[bytes]


class TermStatistic(Row):
    """In how many serving chunks of a class a term occurs; classes without readers only."""

    __tablename__ = "kb_term_statistics"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    generation: Mapped[UUID] = mapped_column(primary_key=True)
    term: Mapped[str] = mapped_column(primary_key=True)
    class_number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    document_frequency: Mapped[int]


class LanguageStatistic(Row):
    """How many serving chunks of a class a language has, and their terms in all."""

    __tablename__ = "kb_language_statistics"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    generation: Mapped[UUID] = mapped_column(primary_key=True)
    language: Mapped[str] = mapped_column(primary_key=True)
    class_number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    chunks: Mapped[int]
    tokens: Mapped[int] = mapped_column(BigInteger)


class DeletionReceipt(Row):
    """What a deletion removed and what the engine still counted afterwards.

    `id` is the object's own; `readers` and `classification` (effective) are the rights that it had.
    """

    __tablename__ = "deletion_receipts"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    id: Mapped[UUID] = mapped_column(primary_key=True)
    kind: Mapped[str]
    base_id: Mapped[UUID]
    readers: Mapped[Readers] = mapped_column(_TEXTS)
    classification: Mapped[int] = mapped_column(SmallInteger)
    status: Mapped[str]
    documents_removed: Mapped[int] = mapped_column(server_default="0")
    chunks_removed: Mapped[int] = mapped_column(server_default="0")
    vectors_removed: Mapped[int] = mapped_column(server_default="0")
    vectors_remaining: Mapped[int | None]
    generations: Mapped[list[UUID]] = mapped_column(ARRAY(Uuid), server_default="{}")
    job_id: Mapped[UUID | None]
    requested_by: Mapped[UUID | None]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    completed_at: Mapped[datetime | None]


class LegalHold(RevisedRow):
    """What keeps a document, or with none named every document of a base, from being removed.

    In force until `released_at`.
    """

    __tablename__ = "legal_holds"

    base_id: Mapped[UUID]
    document_id: Mapped[UUID | None]
    reason: Mapped[str]
    released_at: Mapped[datetime | None]
    released_by: Mapped[UUID | None]
