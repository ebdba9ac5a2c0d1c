"""Bases and their access lists as clients write and read them."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import AfterValidator, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from eai.access.acl import Entry, Permission
from eai.access.classification import Classification
from eai.kernel.canonical import nfc
from eai.tenants.names import Name
from eai.tenants.schemas import Schema

DEFAULT_CHUNK_SIZE = 800
DEFAULT_CHUNK_OVERLAP = 100
MAX_CHUNK_SIZE = 8_000
MAX_ENTRIES = 500


Prose = Annotated[str, Field(max_length=2_000), AfterValidator(nfc)]
Reference = Annotated[str, Field(max_length=100)]
Reason = Annotated[str, Field(min_length=1, max_length=1_000), AfterValidator(nfc)]
ChunkSize = Annotated[int, Field(ge=100, le=MAX_CHUNK_SIZE, strict=True)]
ChunkOverlap = Annotated[int, Field(ge=0, le=MAX_CHUNK_SIZE // 2, strict=True)]


class EntrySchema(Schema):
    """One line of an access list."""

    principal: Reference
    permission: Permission
    effect: Literal["allow", "deny"] = "allow"

    def entry(self) -> Entry:
        """The same as the access algebra knows it."""
        return Entry(self.principal, self.permission, self.effect)


Entries = Annotated[list[EntrySchema], Field(max_length=MAX_ENTRIES)]


class NewBase(Schema):
    """A base to be made. Without `acl` its creator manages it; without a model it gets the default one.

    `chunk_size` and `chunk_overlap` count characters; the overlap is at most half the size.
    """

    name: Name
    description: Prose = ""
    classification: Classification = Classification.INTERNAL
    embedding_model: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    dimensions: Annotated[int, Field(ge=1, le=65_536, strict=True)] | None = None
    chunk_size: ChunkSize = DEFAULT_CHUNK_SIZE
    chunk_overlap: ChunkOverlap | None = None
    acl: Entries | None = None

    @property
    def overlap(self) -> int:
        """The overlap asked for, else the usual one as far as the size allows it."""
        if self.chunk_overlap is None:
            return min(DEFAULT_CHUNK_OVERLAP, self.chunk_size // 2)
        return self.chunk_overlap

    @field_validator("chunk_overlap")
    @classmethod
    def _overlap_is_at_most_half(cls, overlap: int | None, known: ValidationInfo) -> int | None:
        size = known.data.get("chunk_size")
        if overlap is not None and size is not None and 2 * overlap > size:
            raise PydanticCustomError("chunk_overlap_too_large", "is more than half of chunk_size")
        return overlap


class BasePatch(Schema):
    """What to change; what is not named keeps its value. Lowering the level wants a reason."""

    name: Name | None = None
    description: Prose | None = None
    classification: Classification | None = None
    reason: Reason | None = None


class BaseOut(Schema):
    """A knowledge base. The counts are null for those who do not manage it."""

    id: UUID
    alias: str
    name: str
    description: str
    classification: Classification
    embedding_model: str
    dimensions: int
    chunk_size: int
    chunk_overlap: int
    vector_generation: UUID
    vector_collection: str
    documents_count: int | None
    chunks_count: int | None
    created_at: datetime
    updated_at: datetime
    revision: int = Field(exclude=True)


class EntriesIn(Schema):
    """A whole access list."""

    entries: Entries


class EntriesOut(Schema):
    """A whole access list, in the order it was given."""

    entries: list[EntrySchema]
    revision: int = Field(exclude=True)


class Allowed(Schema):
    """The three rungs of the ladder."""

    read: bool
    write: bool
    manage: bool


class AccessOut(Schema):
    """What somebody may do with a base, and why.

    `decided_by` is the entry that settles the highest rung they have, or the one that denies them
    `read`; null when no entry names them. `by_scope` says that they administer every base.
    """

    principal: str
    allowed: Allowed
    decided_by: EntrySchema | None
    by_scope: str | None
