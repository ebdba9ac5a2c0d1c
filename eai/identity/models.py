"""The tables of principals, groups and API keys."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import ARRAY, LargeBinary, SmallInteger, Text, func
from sqlalchemy.orm import Mapped, mapped_column

from eai.platform.schema import Row, TenantRow


class RevisedRow(TenantRow):
    """A row that clients change: `revision` counts the changes, `created_by` is a principal."""

    __abstract__ = True

    revision: Mapped[int] = mapped_column(server_default="1")
    created_by: Mapped[UUID | None]


class Principal(RevisedRow):
    """A person, a service or an agent of one tenant. `clearance` is a level's rank."""

    __tablename__ = "principals"

    kind: Mapped[str]
    name: Mapped[str]
    clearance: Mapped[int] = mapped_column(SmallInteger)
    roles: Mapped[list[str]] = mapped_column(ARRAY(Text))
    is_bootstrap: Mapped[bool] = mapped_column(server_default="false")
    suspended_at: Mapped[datetime | None]


class Group(RevisedRow):
    """A named set of principals."""

    __tablename__ = "groups"

    name: Mapped[str]


class GroupMember(Row):
    """That a principal belongs to a group; the row is its own key."""

    __tablename__ = "group_members"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    principal_id: Mapped[UUID] = mapped_column(primary_key=True)
    group_id: Mapped[UUID] = mapped_column(primary_key=True)


class ApiKey(RevisedRow):
    """A credential. `key_id` is the public half of what the holder sends; the secret is not here.

    `last_rotation` tells a repeated rotation from a new one.
    """

    __tablename__ = "api_keys"

    principal_id: Mapped[UUID]
    key_id: Mapped[str] = mapped_column(unique=True)
    name: Mapped[str] = mapped_column(server_default="")
    scopes: Mapped[list[str] | None] = mapped_column(ARRAY(Text))
    clearance: Mapped[int | None] = mapped_column(SmallInteger)
    secret_mac: Mapped[bytes] = mapped_column(LargeBinary)
    previous_mac: Mapped[bytes | None] = mapped_column(LargeBinary)
    previous_expires_at: Mapped[datetime | None]
    last_rotation: Mapped[UUID | None]
    expires_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]


class SecretHolder(Row):
    """That a principal has been told a secret of another; the row is its own key, and outlives both."""

    __tablename__ = "principal_secret_holders"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    principal_id: Mapped[UUID] = mapped_column(primary_key=True)
    holder_id: Mapped[UUID] = mapped_column(primary_key=True)
    since: Mapped[datetime] = mapped_column(server_default=func.now())
