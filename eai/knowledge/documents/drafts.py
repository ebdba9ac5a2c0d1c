"""What ingestion hands over to be stored: documents, versions and prepared chunks."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from eai.access.classification import Classification
from eai.kernel.ids import ChunkId, DocumentId, JobId, VersionId

Readers = frozenset[str] | None
"""References of who may read; `None` is every reader of the base, an empty set nobody."""


@dataclass(frozen=True, slots=True)
class SpanRights:
    """Stricter rights of the characters `[start, end)` of a version's extracted text."""

    start: int
    end: int
    readers: Readers = None
    classification: Classification | None = None


@dataclass(frozen=True, slots=True)
class DocumentDraft:
    """A new document. `classification` None follows the base, live.

    `dlp` is what was found in its fields, and `level` what that raises it to.
    """

    id: DocumentId
    title: str
    external_id: str | None = None
    source_connector: str = "direct"
    source_uri: str | None = None
    source_uri_verified: bool = False
    classification: Classification | None = None
    readers: Readers = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    dlp: Mapping[str, Any] = field(default_factory=dict)
    level: Classification | None = None


@dataclass(frozen=True, slots=True)
class VersionDraft:
    """A new text of a document. `source_hash` identifies exactly what was given."""

    id: VersionId
    content_type: str
    source_hash: bytes
    source: bytes | None = None
    span_rights: tuple[SpanRights, ...] = ()
    job: JobId | None = None


@dataclass(frozen=True, slots=True)
class DocumentChanges:
    """Document fields to change; only those named in `given` count. `reason` says why a level falls.

    `source_uri_verified` says of a `source_uri` that is given whether its source vouches for it. `dlp` None:
    nobody has looked at the fields. Else what was found in all of them as they will be, and in `level` what
    that raises the document to.
    """

    given: frozenset[str] = frozenset()
    title: str | None = None
    source_uri: str | None = None
    source_uri_verified: bool = False
    classification: Classification | None = None
    readers: Readers = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    reason: str | None = None
    dlp: Mapping[str, Any] | None = None
    level: Classification | None = None


@dataclass(frozen=True, slots=True)
class StoredVersion:
    """Where a version was stored. `number` counts from 1 within the document."""

    document: DocumentId
    version: VersionId
    number: int


@dataclass(frozen=True, slots=True)
class PreparedChunk:
    """A passage ready to be stored.

    `start` and `end` are offsets into the extracted text; `readers` and `classification` are the
    chunk's own, beyond the document's. `class_number` is the class its point was written with. `terms`
    is what `lexical.analyse_document` gave, `language` its language code.
    """

    chunk: ChunkId
    ordinal: int
    start: int
    end: int
    content: str
    readers: Readers
    classification: Classification | None
    class_number: int
    language: str
    terms: Mapping[str, int]
    embedding: NDArray[np.float32]

    @property
    def token_count(self) -> int:
        """The chunk's length in terms."""
        return sum(self.terms.values())
