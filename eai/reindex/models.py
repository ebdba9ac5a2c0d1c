"""The table of reindexes."""

from datetime import datetime
from uuid import UUID

from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from eai.platform.schema import Json, TenantRow


class ReindexJob(TenantRow):
    """One reindex of a base; its id is that of the job that does it.

    `source` and `target` say what the base is moved from and to, as `schemas.Settings` has it, also when the
    generations are long dropped. A rollback is a reindex whose target is an earlier source.
    """

    __tablename__ = "kb_reindex_jobs"

    base_id: Mapped[UUID]
    status: Mapped[str]
    source: Mapped[Json] = mapped_column(JSONB)
    target: Mapped[Json] = mapped_column(JSONB)
    rollback_of: Mapped[UUID | None]
    documents_total: Mapped[int] = mapped_column(server_default="0")
    documents_done: Mapped[int] = mapped_column(server_default="0")
    error: Mapped[Json | None] = mapped_column(JSONB(none_as_null=True))
    requested_by: Mapped[UUID | None]
    completed_at: Mapped[datetime | None]
