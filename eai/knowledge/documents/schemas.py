"""Documents, versions, chunks and receipts as clients write and read them."""

from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, Field, StringConstraints, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from eai.access.classification import Classification
from eai.knowledge.bases.schemas import Reason, Reference
from eai.knowledge.documents.drafts import SpanRights
from eai.knowledge.provenance import Position, Provenance
from eai.tenants.dlp_rules import DlpEntity
from eai.tenants.names import clean_name
from eai.tenants.schemas import Schema

MAX_TITLE_LENGTH = 1_000
MAX_READERS = 500
MAX_SPANS = 1_000


class DocumentStatus(StrEnum):
    """How far a document's answering version is, or its newest where none answers yet."""

    PENDING = "pending"
    PROCESSING = "processing"
    READY = "ready"
    QUARANTINED = "quarantined"
    REJECTED = "rejected"
    FAILED = "failed"


Title = Annotated[
    str,
    AfterValidator(partial(clean_name, limit=MAX_TITLE_LENGTH)),
    Field(json_schema_extra={"minLength": 1, "maxLength": MAX_TITLE_LENGTH}),
]
MetadataKey = Annotated[str, StringConstraints(max_length=64, pattern=r"^[\w.-]+$")]
MetadataValue = Annotated[str, Field(max_length=1_000)] | bool | int | float
Metadata = Annotated[dict[MetadataKey, MetadataValue], Field(max_length=50)]
"""Flat, so that a query can filter by it."""
ReaderList = Annotated[list[Reference], Field(max_length=MAX_READERS)]


class SpanSchema(Schema):
    """Stricter rights of the characters `[start, end)` of the extracted text."""

    start: Annotated[int, Field(ge=0, strict=True)]
    end: Annotated[int, Field(ge=1, strict=True)]
    readers: ReaderList | None = None
    classification: Classification | None = None

    @field_validator("end")
    @classmethod
    def _is_after_start(cls, end: int, known: ValidationInfo) -> int:
        if end <= known.data.get("start", -1):
            raise PydanticCustomError("span_empty", "must be greater than start")
        return end

    def span(self) -> SpanRights:
        """The same as knowledge stores it."""
        readers = None if self.readers is None else frozenset(self.readers)
        return SpanRights(self.start, self.end, readers, self.classification)


ChunkReaders = Annotated[list[SpanSchema], Field(max_length=MAX_SPANS)]
"""Stricter rights of parts of a text; a passage takes the strictest of those it touches."""


class DocumentPatch(Schema):
    """What to change; what is not named keeps its value. `metadata` is replaced whole."""

    title: Title | None = None
    metadata: Metadata | None = None


class DocumentAcl(Schema):
    """Who may read a document. What is not named keeps its value.

    `readers` null is every reader of the base, an empty list nobody; `classification` null follows the
    base. Lowering a level wants a reason.
    """

    readers: ReaderList | None = None
    chunk_readers: ChunkReaders | None = None
    classification: Classification | None = None
    reason: Reason | None = None


class DocumentError(Schema):
    """Why a text was not taken in: the stable code, its values, and what to do in every language.

    The values are told to those who may write, and are left out otherwise.
    """

    code: str
    details: dict[str, Any]
    message_i18n: dict[str, str]
    docs_url: str


class PendingVersion(Schema):
    """A version newer than the one that answers."""

    version: str
    status: DocumentStatus
    error: DocumentError | None = None


class DlpFound(Schema):
    """How many of each entity were found in a document's text and in what is shown with it.

    `redacted` says that some were replaced by their names before anything was embedded or shown; what was
    submitted went when the text was served.
    """

    entities: dict[DlpEntity, int]
    redacted: bool


class DocumentOut(Schema):
    """A document. `classification` is its effective level.

    `readers` is told to those who may write, and is null otherwise; so is `job_id`, the job of the newest
    version while it does not answer, and `source_hash`, of the bytes that were submitted. `content_hash`, of
    the text, and `dlp` are null where a part of the text is hidden from the caller. `chunks_count` counts
    what the caller may read; everything for those who manage the base.
    """

    id: UUID
    knowledge_base_id: UUID
    title: str
    status: DocumentStatus
    version: str
    pending_version: PendingVersion | None
    job_id: UUID | None
    error: DocumentError | None
    classification: Classification
    readers: list[str] | None
    external_id: str | None
    source_uri: str | None
    source_uri_verified: bool
    source_connector: str
    content_type: str
    source_hash: str | None
    content_hash: str | None
    dlp: DlpFound | None
    language: str | None
    metadata: dict[str, Any]
    labels: dict[str, str]
    chunks_count: int
    retrieval_count: int
    last_retrieved_at: datetime | None
    created_at: datetime
    updated_at: datetime
    revision: int = Field(exclude=True)


class VersionOut(Schema):
    """One version of a document. `content_hash` is told of the one that answers, as the document tells it."""

    id: UUID
    version: str
    status: DocumentStatus
    is_serving: bool
    content_type: str
    content_hash: str | None
    language: str | None
    error: DocumentError | None
    created_at: datetime
    updated_at: datetime


class RedactionOut(Schema):
    """What was replaced: `[start, end)` of the text says so in place of `[source_start, source_end)`.

    The latter counts in the text as it was extracted from what was submitted.
    """

    entity: DlpEntity
    start: int
    end: int
    source_start: int
    source_end: int


class ContentOut(Schema):
    """The extracted text of the version that answers.

    Characters of passages that the caller may not read are spaces, so that offsets stay true. `redactions`
    are what was taken out before anything was stored, as far as the caller may read the text around.
    """

    document_id: UUID
    version: str
    title: str
    content_type: str
    language: str | None
    classification: Classification
    content: str
    redactions: list[RedactionOut]


class ChunkOut(Schema):
    """A passage of the version that answers."""

    chunk_id: UUID
    document_id: UUID
    knowledge_base_id: UUID
    title: str
    ordinal: int
    content: str
    language: str
    classification: Classification
    provenance: Provenance
    position: Position


class ReceiptOut(Schema):
    """What a deletion removed.

    `vectors_remaining` was counted by the engine after the removal; null until then. The receipt says
    that no read returns the ids any more, not that every byte has left every disk and backup.
    `chunks_removed` and `vectors_removed` are told to whoever asked for the deletion, manages the base or
    audits, and are null for others, who may not have been shown every passage.
    """

    id: UUID
    kind: Literal["document", "knowledge_base"]
    document_id: UUID | None
    knowledge_base_id: UUID
    status: Literal["deleting", "deleted"]
    documents_removed: int
    chunks_removed: int | None
    vectors_removed: int | None
    vectors_remaining: int | None
    generations: list[UUID]
    created_at: datetime
    completed_at: datetime | None
