"""What every table has in common. Tables themselves live in the slices' `models.py`."""

from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from sqlalchemy import DateTime, MetaData, Text, func
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

SCHEMA = "eai"


class Row(DeclarativeBase):
    """A table in schema `eai`. Only tables that belong to no tenant derive from it directly."""

    metadata = MetaData(schema=SCHEMA)
    type_annotation_map = {datetime: DateTime(timezone=True), str: Text()}  # noqa: RUF012 - SQLAlchemy reads it


class TenantRow(Row):
    """A table under row level security: the key starts with the tenant."""

    __abstract__ = True

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    id: Mapped[UUID] = mapped_column(primary_key=True, default=uuid4)
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())
    updated_at: Mapped[datetime] = mapped_column(server_default=func.now(), onupdate=func.now())


Json = dict[str, Any]
