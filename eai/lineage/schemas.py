"""Lineage as clients read it: ids, numbers and hashes, no text and no title."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from eai.knowledge.documents.schemas import DocumentStatus, ReceiptOut
from eai.tenants.schemas import Schema


class DocumentLineage(Schema):
    """A document as its lineage begins: `live`, or what is left of it once it was removed.

    `receipt` is there from its removal on. `answers_count` is how many answers cited it, whoever asked;
    null for a document that is gone.
    """

    document_id: UUID
    knowledge_base_id: UUID
    state: Literal["live", "deleting", "deleted"]
    source_connector: str | None
    versions_count: int
    serving_version: str | None
    answers_count: int | None
    last_answer_at: datetime | None
    receipt: ReceiptOut | None


class GenerationLineage(Schema):
    """A generation of the base that holds passages of a version; `chunks` counts those that you may read."""

    id: UUID
    state: Literal["building", "serving", "retired"]
    embedding_model: str
    dimensions: int
    chunks: int


class VersionLineage(Schema):
    """A text of the document, by what it was made of, and where its passages are.

    The hashes are told of the version that answers, to whoever may read all of it, and are null otherwise:
    they would confirm guesses at a text, and nobody knows any more who might read a former one.
    `source_sha256` is told only where it is the same as `content_sha256`: what a reader is not shown of a
    source has a hash as well.
    The audit has them for everybody who may read it, under a key: `source_hmac` and `content_hmac`.
    """

    id: UUID
    version: str
    status: DocumentStatus
    is_serving: bool
    source_sha256: str | None
    content_sha256: str | None
    created_at: datetime
    generations: list[GenerationLineage]


class ChunkLineage(Schema):
    """A passage: where it stands in its version, and in which generations it is."""

    chunk_id: UUID
    version: str
    ordinal: int
    start: int
    end: int
    generations: list[UUID]


class CitedPassage(Schema):
    """A passage of the document that an answer cited."""

    chunk_id: UUID
    version: str


class CitingAnswer(Schema):
    """An answer that cited the document: the entry of the audit at `seq` tells all of it.

    `results_sha256` is the hash of the results as they were sent.
    """

    seq: int
    occurred_at: datetime
    request_id: str | None
    asked_by: UUID | None
    generation: UUID
    passages: list[CitedPassage]
    results_sha256: str
