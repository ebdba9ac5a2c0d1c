"""Reindexes as clients ask for them and read of them."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from pydantic import ConfigDict, Field

from eai.gateway.schemas import Dimensions, Labels, ModelName
from eai.knowledge.bases.schemas import ChunkOverlap, ChunkSize
from eai.tenants.schemas import Schema


class ReindexRequest(Schema):
    """What to change; what is not named stays as it is, and `{}` makes the same generation anew.

    A model that is named without `dimensions` gets its default ones, unless it is the present model.
    """

    embedding_model: ModelName | None = None
    dimensions: Dimensions | None = None
    chunk_size: ChunkSize | None = None
    chunk_overlap: ChunkOverlap | None = None
    labels: Labels = Labels()


class ReindexStatus(StrEnum):
    """How far a reindex is."""

    QUEUED = "queued"
    RUNNING = "running"
    VERIFYING = "verifying"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Settings(Schema):
    """What a generation is made with."""

    embedding_model: str
    dimensions: int
    chunk_size: int
    chunk_overlap: int
    generation: UUID
    collection: str


class ReindexError(Schema):
    """Why a reindex failed: the stable code, its values, and what to do in every language."""

    code: str
    details: Mapping[str, Any]
    message_i18n: Mapping[str, str]


class ReindexOut(Schema):
    """A reindex. `rollback_of` names the one that it takes back."""

    model_config = ConfigDict(serialize_by_alias=True, validate_by_name=True)

    job_id: UUID
    knowledge_base_id: UUID
    status: ReindexStatus
    from_: Annotated[Settings, Field(alias="from")]
    to: Settings
    documents_total: int
    documents_done: int
    rollback_of: UUID | None
    error: ReindexError | None
    created_at: datetime
    updated_at: datetime
    completed_at: datetime | None
