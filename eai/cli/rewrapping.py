"""Asks the workers for new keys of tenants."""

from uuid import UUID

from eai.bootstrap import start
from eai.kernel.ids import TenantId
from eai.platform.settings import Settings


async def request_rewrapping(settings: Settings, tenant: UUID | None) -> int:
    """Queue it for one tenant or for all; tells for how many. Raises NotStarted."""
    async with start(settings) as platform:
        return await platform.key_rewrapping.request(TenantId(tenant) if tenant else None)
