"""Retention as clients write and read it."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import AfterValidator, Field

from eai.access.classification import Classification
from eai.tenants.names import clean_name
from eai.tenants.schemas import Schema

_MAX_REASON = 2_000


def _reason(text: str) -> str:
    return clean_name(text, limit=_MAX_REASON)


KeepDays = Annotated[int, Field(ge=1, le=36_500, strict=True)]
Reference = Annotated[str, Field(min_length=1, max_length=200)]
Reason = Annotated[
    str, AfterValidator(_reason), Field(json_schema_extra={"minLength": 1, "maxLength": _MAX_REASON})
]


class NewRetentionPolicy(Schema):
    """For how many days documents are kept: of a base, of a level, of both, or with neither of the tenant."""

    knowledge_base_id: Reference | None = None
    classification: Classification | None = None
    keep_days: KeepDays


class RetentionPolicyChange(Schema):
    """Another term for the same documents."""

    keep_days: KeepDays


class RetentionPolicyOut(Schema):
    """A policy. The most specific one that fits a document counts: base and level, base, level, tenant."""

    id: UUID
    knowledge_base_id: UUID | None
    classification: Classification | None
    keep_days: int
    created_at: datetime
    updated_at: datetime
    revision: int = Field(exclude=True)


class NewLegalHold(Schema):
    """What must not be removed, and why: one document of a base, or without one the whole base."""

    knowledge_base_id: Reference
    document_id: Reference | None = None
    reason: Reason


class Release(Schema):
    """Why a hold is no longer needed."""

    reason: Reason


class LegalHoldOut(Schema):
    """A legal hold, in force until `released_at`."""

    id: UUID
    knowledge_base_id: UUID
    document_id: UUID | None
    reason: str
    placed_by: UUID | None
    created_at: datetime
    released_at: datetime | None
    released_by: UUID | None
    revision: int = Field(exclude=True)


class DueDocument(Schema):
    """A document that a policy will have removed, and when; never while it is held."""

    document_id: UUID
    knowledge_base_id: UUID
    classification: Classification
    policy_id: UUID
    keep_days: int
    due_at: datetime
    is_held: bool


class ExpiredDocument(Schema):
    """A document that a policy had removed; its deletion receipt goes by the same id."""

    document_id: UUID
    knowledge_base_id: UUID
    classification: Classification
    policy_id: UUID
    keep_days: int
    due_at: datetime
    expired_at: datetime
    status: Literal["deleting", "deleted"]
