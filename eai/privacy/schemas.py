"""Erasures as clients ask for them and read them."""

from collections.abc import Sequence
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal
from uuid import UUID

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from eai.access.classification import Classification
from eai.privacy.identifiers import is_too_short
from eai.tenants.names import clean_name
from eai.tenants.schemas import Schema

_MAX_IDENTIFIER = 200
_MAX_REASON = 2_000


class ErasureAction(StrEnum):
    """What follows for a document in which the person is found: nothing, its removal, or its redaction."""

    FIND = "find"
    REMOVE = "remove"
    REDACT = "redact"


def _identifier(text: str) -> str:
    value = clean_name(text, limit=_MAX_IDENTIFIER)
    if is_too_short(value):
        raise PydanticCustomError("identifier_too_short", "Must have four letters or digits at least")
    return value


def _reason(text: str) -> str:
    return clean_name(text, limit=_MAX_REASON)


Identifier = Annotated[
    str,
    AfterValidator(_identifier),
    Field(json_schema_extra={"minLength": 4, "maxLength": _MAX_IDENTIFIER}),
]
Reason = Annotated[
    str, AfterValidator(_reason), Field(json_schema_extra={"minLength": 1, "maxLength": _MAX_REASON})
]


class NewErasure(Schema):
    """Whom to look for, and what is to follow.

    `identifiers` are what documents may call the person by: names, addresses, numbers. They are kept sealed,
    and for as long as the search takes. `principal_id` is the person as a user of the tenant: what the audit
    keeps of it as details becomes unreadable. Let `reason` be a case number and no name.
    """

    action: ErasureAction
    identifiers: Annotated[Sequence[Identifier], Field(max_length=20)] = ()
    principal_id: UUID | None = None
    reason: Reason

    @model_validator(mode="after")
    def _asks_for_something(self) -> "NewErasure":
        if not self.identifiers and self.principal_id is None:
            raise PydanticCustomError("nobody_named", "Needs identifiers or a principal")
        if self.action is ErasureAction.FIND and self.principal_id is not None:
            raise PydanticCustomError("find_erases_nothing", "The action find erases no details")
        return self


class RecallOut(Schema):
    """How many of the occurrences that were made up for it the search finds: `found` of `tried`.

    `low` and `high` bound the share that it finds, with 95 % confidence. `detected` of them DLP detects by
    itself. Null where it was never measured.
    """

    entity: str | None
    tried: int | None
    found: int | None
    detected: int | None
    low: float | None
    high: float | None


class ErasureOut(Schema):
    """An erasure, and how far it is. What was looked for is not told.

    `entities` are what DLP takes the identifiers for, in their order; null for what it does not detect.
    `documents` counts by outcome. Documents above `clearance`, or of which a part, a text that is to come or
    one that was held lies above it, were not searched, nor were `texts_unread`, nor is what comes in later.
    """

    id: UUID
    action: ErasureAction
    state: Literal["running", "completed", "failed", "cancelled"]
    entities: list[str | None]
    principal_id: UUID | None
    reason: str
    requested_by: UUID
    clearance: Classification
    documents_searched: int
    texts_unread: int
    documents: dict[str, int]
    audit_details_erased: bool | None
    recall: list[RecallOut]
    job_id: UUID
    created_at: datetime
    completed_at: datetime | None


class FoundDocumentOut(Schema):
    """A document in which the person was found, and what became of it.

    `removed`: `GET /v1/deletion-receipts/{document_id}` says what is left. `redacting`: a text without the
    person is on its way. `held`: a legal hold keeps it. `failed`: `code` says why; the document is as it was,
    but for `found_again`: what could be redacted is, and the person still stands there.
    `entities` are what DLP detected there; `by_identifier` counts places where it detected nothing. Without
    `occurrences` nobody knows whether the person is there: others went on changing it.
    """

    document_id: UUID
    knowledge_base_id: UUID
    classification: Classification
    outcome: Literal["found", "removed", "redacting", "redacted", "held", "failed"]
    code: str | None
    places: list[str]
    versions: list[str]
    entities: list[str]
    occurrences: int
    by_identifier: int
