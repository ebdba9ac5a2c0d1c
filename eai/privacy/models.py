"""The tables of privacy: erasures, and the documents they found."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import Integer, SmallInteger
from sqlalchemy.dialects.postgresql import ARRAY, JSONB
from sqlalchemy.orm import Mapped, mapped_column
from sqlalchemy.types import TEXT

from eai.platform.schema import Json, Row, TenantRow

_TEXTS = ARRAY(TEXT)


class Erasure(TenantRow):
    """A search for a person, with what is to follow. `identifiers` are sealed, and gone once it has ended.

    `submitter` is on whose behalf redacted texts are taken in.
    """

    __tablename__ = "privacy_erasures"

    action: Mapped[str]
    state: Mapped[str]
    identifiers: Mapped[bytes | None]
    entities: Mapped[list[str]] = mapped_column(_TEXTS)
    principal_id: Mapped[UUID | None]
    reason: Mapped[str]
    requested_by: Mapped[UUID]
    submitter: Mapped[Json] = mapped_column(JSONB)
    clearance: Mapped[int] = mapped_column(SmallInteger)
    details_erased: Mapped[bool | None]
    documents_searched: Mapped[int] = mapped_column(server_default="0")
    texts_unread: Mapped[int] = mapped_column(server_default="0")
    job_id: Mapped[UUID]
    completed_at: Mapped[datetime | None]


class FoundDocument(Row):
    """A document in which an erasure found the person, and what became of it; never what was found."""

    __tablename__ = "privacy_documents"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    erasure_id: Mapped[UUID] = mapped_column(primary_key=True)
    document_id: Mapped[UUID] = mapped_column(primary_key=True)
    base_id: Mapped[UUID]
    classification: Mapped[int] = mapped_column(SmallInteger)
    places: Mapped[list[str]] = mapped_column(_TEXTS)
    versions: Mapped[list[int]] = mapped_column(ARRAY(Integer))
    entities: Mapped[list[str]] = mapped_column(_TEXTS)
    occurrences: Mapped[int]
    by_identifier: Mapped[int]
    outcome: Mapped[str]
    code: Mapped[str | None]
