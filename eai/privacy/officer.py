"""Whoever asked for an erasure, as they are now."""

from uuid import UUID

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.scopes import Scope
from eai.identity.authentication import subject_from_row
from eai.kernel.ids import TenantId
from eai.privacy.errors import ErasureNotPermitted
from eai.privacy.models import Erasure
from eai.privacy.repository import ErasureRows


async def clearance_of(session: AsyncSession, erasure: Erasure) -> int:
    """How high an erasure may look now: no higher than it did, nor than whoever asked with the same key.

    Raises ErasureNotPermitted once they could not ask for it any more: suspended, without the scope, or
    with a key that is revoked or past its time.
    """
    rows = ErasureRows(session, TenantId(erasure.tenant_id))
    row = await rows.subject_of_key(UUID(erasure.submitter["api_key"]))
    officer = None if row is None else subject_from_row(row)
    if officer is None or Scope.PRIVACY_ADMIN not in officer.scopes:
        raise ErasureNotPermitted
    return min(erasure.clearance, officer.clearance.rank)
