"""Held documents as stewards read them, and decisions as they write them."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, Field

from eai.access.classification import Classification
from eai.knowledge.documents.schemas import DocumentStatus
from eai.quarantine.judgement import Verdict
from eai.quarantine.schemas import FindingOut
from eai.quarantine.severity import Severity
from eai.tenants.names import clean_name
from eai.tenants.schemas import Schema

_MAX_COMMENT = 2_000


def _comment(text: str) -> str:
    return clean_name(text, limit=_MAX_COMMENT)


Comment = Annotated[
    str, AfterValidator(_comment), Field(json_schema_extra={"minLength": 1, "maxLength": _MAX_COMMENT})
]


class ReviewRequest(Schema):
    """A decision on the version of a document that the steward has read, as the quarantine names it.

    The `comment` says why, for whoever reads the audit.

    `release` lets the text be found; `redact` as well, with a block for every character of what held it;
    `reject` keeps it, and the same bytes again, out of the base.
    """

    version: Annotated[str, Field(pattern=r"^[1-9][0-9]{0,9}$")]
    decision: Verdict
    comment: Comment


class ReviewOut(Schema):
    """What was decided, and what the version is now."""

    id: UUID
    knowledge_base_id: UUID
    document_id: UUID
    version: str
    decision: Verdict
    comment: str
    decided_by: UUID
    decided_at: datetime
    status: DocumentStatus


class ContextOut(Schema):
    """The text around a finding, with whatever is invisible in it written out between ⟦ and ⟧.

    `start` and `end` are where the finding stands in `text`.
    """

    text: str
    start: int
    end: int


class FindingInContext(FindingOut):
    """A finding with what surrounds it; null where it is not about a part of the text."""

    context: ContextOut | None


class _Waiting(Schema):
    knowledge_base_id: UUID
    document_id: UUID
    version: str
    title: str
    content_type: str
    classification: Classification
    submitted_by: UUID | None
    held_at: datetime
    threshold: Severity
    findings_count: int


class HeldDocument(_Waiting):
    """A document that waits for a steward.

    `classification` is the level of its text; `findings` are the gravest of `findings_count`, `submitted_by`
    is whoever brought the text.
    """

    findings: list[FindingOut]


class HeldDocumentDetail(_Waiting):
    """A document that waits for a steward, with every finding in its context."""

    source_uri: str | None
    findings: list[FindingInContext]
