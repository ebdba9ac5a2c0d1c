"""What a tenant decided about what is found in its texts."""

from sqlalchemy.ext.asyncio import AsyncSession

from eai.dlp.ports import DlpAction, DlpRules
from eai.kernel.ids import TenantId
from eai.tenants.repository import TenantRows


async def rules_of(session: AsyncSession, tenant: TenantId) -> DlpRules:
    """The tenant's own rules, as they are now."""
    row = await TenantRows(session, tenant).get()
    return {entity: DlpAction(action) for entity, action in row.dlp.items()}
