"""The tables of tenants' own policies."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, func
from sqlalchemy.orm import Mapped, mapped_column

from eai.platform.schema import Row, TenantRow


class TenantPolicy(TenantRow):
    """A policy in force; `version` is that of all the tenant's policies since this text."""

    __tablename__ = "tenant_policies"

    name: Mapped[str]
    cedar: Mapped[str]
    version: Mapped[int] = mapped_column(BigInteger)
    revision: Mapped[int] = mapped_column(server_default="1")
    created_by: Mapped[UUID | None]


class PolicyVersion(Row):
    """One change, kept for ever: what was in force at any version can be told. No `cedar`: it was removed."""

    __tablename__ = "policy_versions"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    name: Mapped[str]
    cedar: Mapped[str | None]
    changed_by: Mapped[UUID | None]
    created_at: Mapped[datetime] = mapped_column(server_default=func.now())


class PolicyCounter(Row):
    """The version of all of a tenant's policies together; without a row it has never had any."""

    __tablename__ = "policy_counters"

    tenant_id: Mapped[UUID] = mapped_column(primary_key=True)
    version: Mapped[int] = mapped_column(BigInteger)
