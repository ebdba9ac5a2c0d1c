"""Every query on source connectors."""

from uuid import UUID

from sqlalchemy import ColumnElement, SQLColumnExpression, exists, literal, or_, select

from eai.connectors.models import SourceConnector
from eai.connectors.references import read_connector
from eai.identity.repository import Rows

DIRECT = "direct"
"""What documents come through that name no connector. It is always there, and always enabled."""


class ConnectorRows(Rows[SourceConnector]):
    """The connectors of one tenant."""

    model = SourceConnector

    async def meant(self, reference: str) -> SourceConnector | None:
        """The connector that goes by this id or name."""
        named = read_connector(reference)
        if named is None:
            return None
        mine = SourceConnector.id == named if isinstance(named, UUID) else SourceConnector.name == named
        return await self.session.scalar(self._mine().where(mine))

    async def is_shown(self, connector: str) -> bool:
        """Whether passages of this connector may be shown. One that is not registered shows none."""
        if connector == DIRECT:
            return True
        return bool(await self.session.scalar(select(is_shown(literal(self.tenant), literal(connector)))))


def is_shown(tenant: SQLColumnExpression[UUID], connector: SQLColumnExpression[str]) -> ColumnElement[bool]:
    """Whether rows that name a connector may be shown, as a clause on their two columns."""
    enabled = exists().where(
        SourceConnector.tenant_id == tenant,
        SourceConnector.name == connector,
        SourceConnector.is_enabled,
    )
    return or_(connector == DIRECT, enabled)
