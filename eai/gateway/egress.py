"""The control before the reservation: whether an endpoint's host may be reached at this moment."""

import structlog

from eai.gateway.errors import EgressDenied
from eai.gateway.registry import Endpoint
from eai.platform.egress import AddressRefused
from eai.platform.outbound import Outbound

log = structlog.get_logger(__name__)


class EgressGuard:
    """Asks the one outbound client, which then connects to exactly what it vetted."""

    def __init__(self, outbound: Outbound) -> None:
        self._outbound = outbound

    async def vet(self, endpoint: Endpoint) -> None:
        """Return when the endpoint may be reached, or has no address of its own. Raises EgressDenied."""
        if endpoint.url is None:
            return
        try:
            await self._outbound.vet(endpoint.url)
        except AddressRefused as refused:
            # Why is for the operator: a caller would learn how the network behind the platform is laid out.
            log.warning("egress_refused", endpoint=endpoint.name, reason=refused.reason)
            raise EgressDenied(provider=endpoint.name) from refused
