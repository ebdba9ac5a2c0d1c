"""Source connectors as clients write and read them."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from eai.access.classification import Classification
from eai.connectors.references import spells_id
from eai.tenants.schemas import Schema


def _no_id(name: str) -> str:
    if spells_id(name):
        raise PydanticCustomError("name_spells_id", "Should not look like an id")
    return name


def _ordered(levels: list[Classification]) -> list[Classification]:
    return sorted(set(levels), key=lambda level: level.rank)


ConnectorName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$"), AfterValidator(_no_id)]
"""What documents are stamped with; it never changes."""
Kind = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")]
Levels = Annotated[list[Classification], Field(min_length=1, max_length=50), AfterValidator(_ordered)]
Service = Annotated[str, Field(min_length=1, max_length=100)]


class NewConnector(Schema):
    """A source to be registered.

    `kind` is a word of yours, such as `sharepoint`. `allowed_classifications` are the levels that its
    documents may have; absent, every level. `principal` is the service that alone may stamp documents with
    it, `service:<id>`; absent, whoever may write in a base may, and it vouches for no address.
    """

    name: ConnectorName
    kind: Kind
    allowed_classifications: Levels | None = None
    principal: Service | None = None
    enabled: Annotated[bool, Field(strict=True)] = True


class ConnectorPatch(Schema):
    """What to change; what is not named stays.

    Null for `allowed_classifications` is every level, and for `principal` whoever may write; for the rest it
    changes nothing.
    """

    kind: Kind | None = None
    allowed_classifications: Levels | None = None
    principal: Service | None = None
    enabled: Annotated[bool, Field(strict=True)] | None = None


class ConnectorOut(Schema):
    """A source connector. Passages of one that is not `enabled` are shown to nobody."""

    id: UUID
    name: str
    kind: str
    allowed_classifications: list[Classification] | None
    principal: str | None
    enabled: bool
    created_at: datetime
    updated_at: datetime
    revision: int = Field(exclude=True)
