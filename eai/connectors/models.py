"""The table of a tenant's source connectors."""

from uuid import UUID

from sqlalchemy import ARRAY, SmallInteger
from sqlalchemy.orm import Mapped, mapped_column

from eai.identity.models import RevisedRow


class SourceConnector(RevisedRow):
    """A source that documents may be stamped with.

    `allowed_classifications` are ranks; null is every level. `principal_id` is the service that alone may
    stamp it; null is whoever may write. It is kept when that service is removed: nobody may stamp then.
    """

    __tablename__ = "source_connectors"

    name: Mapped[str]
    kind: Mapped[str]
    allowed_classifications: Mapped[list[int] | None] = mapped_column(ARRAY(SmallInteger))
    principal_id: Mapped[UUID | None]
    is_enabled: Mapped[bool] = mapped_column(server_default="true")
