"""The tables of quarantine: what is held, and what was decided."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import BigInteger, SmallInteger, func
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from eai.platform.schema import Json, Row

_Findings = list[dict[str, Any]]


class Hold(Row):
    """A version that is, or was, held. `findings` are in the order of their gravity.

    `classification` is the level of its text when it was held; `parameters` are those of the job that the
    hold interrupted.
    """

    __tablename__ = "quarantine_holds"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    version_id: Mapped[UUID] = mapped_column(primary_key=True)
    document_id: Mapped[UUID]
    base_id: Mapped[UUID]
    held_at: Mapped[datetime] = mapped_column(server_default=func.now())
    threshold: Mapped[str]
    classification: Mapped[int] = mapped_column(SmallInteger)
    findings: Mapped[_Findings] = mapped_column(JSONB)
    signature: Mapped[int | None] = mapped_column(BigInteger)
    parameters: Mapped[Json] = mapped_column(JSONB)


class Decision(Row):
    """What a steward decided of a version.

    `findings` are fingerprints of what the steward saw, each with severity and version of its detector;
    `masks` are the parts of the text that a redaction blackens. Once the text was erased for a person's sake,
    no digest of it is left, and the comment names that person no more.
    """

    __tablename__ = "quarantine_decisions"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    id: Mapped[UUID] = mapped_column(primary_key=True)
    base_id: Mapped[UUID]
    document_id: Mapped[UUID]
    version_id: Mapped[UUID]
    decision: Mapped[str]
    comment: Mapped[str]
    decided_by: Mapped[UUID]
    decided_at: Mapped[datetime] = mapped_column(server_default=func.now())
    source_hash: Mapped[bytes]
    content_hash: Mapped[bytes]
    signature: Mapped[int | None] = mapped_column(BigInteger)
    findings: Mapped[_Findings] = mapped_column(JSONB)
    masks: Mapped[list[list[int]]] = mapped_column(JSONB, server_default="[]")
