"""The table of the last report of each tenant."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from eai.platform.schema import Json, Row


class IntegrityReport(Row):
    """What the last examination found and left, what it mended, and what it could not look at."""

    __tablename__ = "integrity_reports"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    checked_at: Mapped[datetime]
    findings: Mapped[list[Json]] = mapped_column(JSONB, server_default="[]")
    mended: Mapped[Json] = mapped_column(JSONB, server_default="{}")
    failed: Mapped[list[Any]] = mapped_column(JSONB, server_default="[]")
