"""The tables of the audit. The application only reads them, but for the keys of details."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, Text
from sqlalchemy.orm import Mapped, mapped_column

from eai.platform.schema import Row


class AuditEvent(Row):
    """An entry of a chain: the bytes that were hashed, and columns that say part of them again."""

    __tablename__ = "audit_events"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    seq: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    occurred_at: Mapped[datetime]
    action: Mapped[str]
    decision: Mapped[str]
    actor_principal: Mapped[UUID | None]
    resource_kind: Mapped[str | None]
    resource_id: Mapped[str | None]
    body: Mapped[bytes]
    hash: Mapped[bytes]


class AuditHead(Row):
    """Where a chain ends."""

    __tablename__ = "audit_heads"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    seq: Mapped[int] = mapped_column(BigInteger)
    hash: Mapped[bytes]


class AuditDetail(Row):
    """The sealed private values of an entry."""

    __tablename__ = "audit_details"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    seq: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    subject: Mapped[UUID]
    key_id: Mapped[UUID]
    sealed: Mapped[bytes]


class AuditDetailKey(Row):
    """The wrapped key of one principal's details; deleting the row erases them."""

    __tablename__ = "audit_detail_keys"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    subject: Mapped[UUID] = mapped_column(primary_key=True)
    key_id: Mapped[UUID]
    wrapped: Mapped[bytes]
    created_at: Mapped[datetime]


class AuditCheckpoint(Row):
    """A signed checkpoint; `frontier` lets the next one be computed without the entries before it."""

    __tablename__ = "audit_checkpoints"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    seq: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    root: Mapped[bytes]
    frontier: Mapped[bytes]
    issued_at: Mapped[datetime]
    key_id: Mapped[str] = mapped_column(Text)
    public_key: Mapped[bytes]
    body: Mapped[bytes]
    signature: Mapped[bytes]
    anchored_at: Mapped[datetime | None]


class AuditSigningKey(Row):
    """A key that signs checkpoints of every tenant; its private half is wrapped by the master key."""

    __tablename__ = "signing_keys"

    key_id: Mapped[str] = mapped_column(Text, primary_key=True)
    public_key: Mapped[bytes]
    wrapped: Mapped[bytes]
    predecessor: Mapped[str | None]
    endorsement: Mapped[bytes | None]
    created_at: Mapped[datetime]
