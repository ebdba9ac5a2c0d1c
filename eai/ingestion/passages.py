"""The immutable values that travel through the ingestion pipeline, stage by stage."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from eai.access.classification import Classification
from eai.gateway.calls import Caller
from eai.ingestion.screening import Screening
from eai.kernel.ids import BaseId, DocumentId, GenerationId, TenantId, VersionId
from eai.kernel.immutable import Immutable
from eai.knowledge.documents.drafts import SpanRights
from eai.knowledge.documents.fields import ShownFields
from eai.knowledge.lexical import Language
from eai.knowledge.ports import SpaceId
from eai.quarantine.judgement import Judgement


class Checkpoint(Protocol):
    """Notes how far the work is, and looks at it anew. Raises once it is not wanted any more."""

    async def __call__(self, stage: str, batches_done: int, batches_total: int) -> Classification:
        """`stage` has begun, or gone on, when so many batches were embedded; tells the level by then."""


@dataclass(frozen=True, slots=True)
class Manuscript(Immutable):
    """A version as it was accepted, and everything the stages need to know of where it goes.

    Once it was examined, `screening` says what is to be stored of its text; until then `spans` count in the
    text as it was extracted. `field_level` is what its fields are worth for what DLP found in them. Its
    passages are compared with those of its base where those are enough (`is_compared`).
    `level` is the highest of all that it says, `document_level` that of its document without stricter parts.
    """

    tenant: TenantId
    base: BaseId
    document: DocumentId
    version: VersionId
    source: bytes
    content_type: str
    fields: ShownFields
    language: str | None
    level: Classification
    document_level: Classification
    source_connector: str
    spans: tuple[SpanRights, ...]
    embedding_model: str
    space: SpaceId
    generation: GenerationId
    average_length: float
    class_number: int
    chunk_size: int
    chunk_overlap: int
    submitter: Caller
    labels: Mapping[str, str]
    is_compared: bool
    screening: Screening | None = None
    field_level: Classification | None = None


@dataclass(frozen=True, slots=True)
class Extract(Immutable):
    """The text that offsets count in, and the language it is written in."""

    text: str
    language: Language


@dataclass(frozen=True, slots=True)
class Examined(Immutable):
    """A text as it was extracted, which is what stewards see, and what was found in it before any model."""

    extract: Extract
    judgement: Judgement
    screening: Screening


@dataclass(frozen=True, slots=True)
class Passage(Immutable):
    """Characters `[start, end)` of the text, and the terms it is found by."""

    start: int
    end: int
    text: str
    terms: Counter[str]


@dataclass(frozen=True, slots=True)
class Passages(Immutable):
    """A version's passages in reading order; never empty."""

    extract: Extract
    items: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class EmbeddedPassages(Immutable):
    """Passages with their vectors, float32 of shape (passages, dimensions), made in so many batches.

    `noted` is why some are unlike those of their base, where that does not hold the text.
    """

    passages: Passages
    vectors: NDArray[np.float32]
    batches: int
    noted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Indexed(Immutable):
    """Passages whose points are in the vector store, counted there, and the manuscript as it was examined."""

    embedded: EmbeddedPassages
    manuscript: Manuscript
