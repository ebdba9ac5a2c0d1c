"""Where a passage comes from, as every answer that shows one says it."""

from typing import Literal
from uuid import UUID

from eai.access.classification import Classification
from eai.tenants.schemas import Schema


class Provenance(Schema):
    """Where a passage comes from: enough to find exactly this text again."""

    source_type: Literal["rag"]
    source_id: UUID
    version: str
    classification: Classification
    source_uri: str | None
    source_connector: str


class Position(Schema):
    """Characters `[start, end)` of the document's extracted text."""

    start: int
    end: int
