"""The tables of retention: policies, and what expired under them. Legal holds are knowledge's."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import SmallInteger
from sqlalchemy.orm import Mapped, mapped_column

from eai.identity.models import RevisedRow
from eai.platform.schema import TenantRow


class RetentionPolicy(RevisedRow):
    """For how long documents of a base, of a level, or of both are kept; with neither, the tenant's."""

    __tablename__ = "retention_policies"

    base_id: Mapped[UUID | None]
    classification: Mapped[int | None] = mapped_column(SmallInteger)
    keep_days: Mapped[int]


class Expiration(TenantRow):
    """A document that a policy had removed. `id` is the document's, and its deletion receipt's."""

    __tablename__ = "retention_expirations"

    base_id: Mapped[UUID]
    policy_id: Mapped[UUID]
    keep_days: Mapped[int]
    classification: Mapped[int] = mapped_column(SmallInteger)
    due_at: Mapped[datetime]
