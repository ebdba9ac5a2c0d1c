"""Whoever asked for an erasure, as they are now."""

from uuid import UUID

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.scopes import Scope
from eai.identity.authentication import subject_from_row
from eai.privacy.errors import ErasureNotPermitted
from eai.privacy.models import Erasure

_NOW = text("SELECT eai.subject_of_key(:key)")


async def clearance_of(session: AsyncSession, erasure: Erasure) -> int:
    """How high an erasure may look now: no higher than it did, nor than whoever asked with the same key.

    Raises ErasureNotPermitted once they could not ask for it any more: suspended, without the scope, or
    with a key that is revoked or past its time.
    """
    row = await session.scalar(_NOW, {"key": UUID(erasure.submitter["api_key"])})
    officer = None if row is None else subject_from_row(row)
    if officer is None or Scope.PRIVACY_ADMIN not in officer.scopes:
        raise ErasureNotPermitted
    return min(erasure.clearance, officer.clearance.rank)
