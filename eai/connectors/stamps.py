"""Whether a document may come in under a source: looked at when it is accepted, and when it is replaced.

What is accepted goes on being processed when its connector is switched off meanwhile: nothing of it is shown,
as of all that came before, and nothing has to be sent again once the connector is back. Only what is found in
it can be a level that its connector does not bring.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import LEVELS, Classification
from eai.connectors.errors import Refusal, SourceConnectorRefused, SourceConnectorUnknown
from eai.connectors.models import SourceConnector
from eai.connectors.repository import DIRECT, ConnectorRows
from eai.kernel.ids import PrincipalId, TenantId


@dataclass(frozen=True, slots=True)
class Stamp:
    """A source that a document may bear.

    `vouches` says that only the source's own service bears it, so that what it says of where a document
    comes from can be believed. `allowed` are the levels that it brings; None is every level.
    """

    connector: str = DIRECT
    vouches: bool = False
    allowed: frozenset[Classification] | None = None

    def require_levels(self, levels: Iterable[Classification]) -> None:
        """Raise SourceConnectorRefused where a part of the document would have another level."""
        if self.allowed is not None and not self.allowed.issuperset(levels):
            raise SourceConnectorRefused(connector=self.connector, reason=Refusal.CLASSIFICATION)


async def stamp(
    session: AsyncSession, tenant: TenantId, reference: str | None, by: PrincipalId | None
) -> Stamp:
    """The stamp of the connector that `reference` names, by id or name; None is the built-in `direct`.

    `by` is who stamps; None for a text that bears the stamp already. Raises SourceConnectorUnknown and
    SourceConnectorRefused. To whoever may not stamp it, a connector does not say whether it is enabled.
    """
    if reference is None or reference == DIRECT:
        return Stamp()
    row = await _registered(session, tenant, reference)
    if by is not None and row.principal_id not in {None, by}:
        raise SourceConnectorRefused(connector=row.name, reason=Refusal.CREDENTIAL)
    if not row.is_enabled:
        raise SourceConnectorRefused(connector=row.name, reason=Refusal.DISABLED)
    return _stamp_of(row)


async def stamp_borne(session: AsyncSession, tenant: TenantId, connector: str) -> Stamp:
    """The stamp that a text which was accepted bears, whether or not its connector is enabled by now."""
    return Stamp() if connector == DIRECT else _stamp_of(await _registered(session, tenant, connector))


async def _registered(session: AsyncSession, tenant: TenantId, reference: str) -> SourceConnector:
    row = await ConnectorRows(session, tenant).meant(reference)
    if row is None:
        raise SourceConnectorUnknown.field("source_connector", SourceConnectorUnknown.code, "unknown")
    return row


def _stamp_of(row: SourceConnector) -> Stamp:
    ranks = row.allowed_classifications
    allowed = None if ranks is None else frozenset(LEVELS[rank] for rank in ranks)
    return Stamp(row.name, vouches=row.principal_id is not None, allowed=allowed)


async def is_meant(session: AsyncSession, tenant: TenantId, connector: str, reference: str) -> bool:
    """Whether `reference`, an id or a name, means the connector of this name."""
    if reference == connector:
        return True
    row = await ConnectorRows(session, tenant).meant(reference)
    return row is not None and row.name == connector
