"""Where a passage comes from, as every answer that shows one says it."""

from typing import Literal
from uuid import UUID

from eai.access.classification import Classification
from eai.tenants.schemas import Schema


class Provenance(Schema):
    """Where a passage comes from: enough to find exactly this text again.

    `source_uri_verified` is true where the service that alone may stamp `source_connector` gave the address;
    false is what somebody says.
    """

    source_type: Literal["rag"]
    source_id: UUID
    version: str
    classification: Classification
    source_uri: str | None
    source_uri_verified: bool
    source_connector: str


class Position(Schema):
    """Characters `[start, end)` of the document's extracted text."""

    start: int
    end: int
