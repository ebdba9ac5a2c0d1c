"""What the platform keeps for a time only, and how it goes."""

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession


async def erase_expired(session: AsyncSession) -> None:
    """Remove idempotency records past their day, and answers past their own time, of the bound tenant.

    Each call takes a hundred of either at most; enough calls remove all.
    """
    await session.execute(_ERASE_EXPIRED)
    await session.execute(_REMOVE_EXPIRED)


# Rows that somebody holds are left for the next time: clearing up must never make a request wait.
_ERASE_EXPIRED = text("""
    UPDATE eai.idempotency_records SET response = NULL
     WHERE (principal_id, route, key) IN (
           SELECT principal_id, route, key FROM eai.idempotency_records
            WHERE response IS NOT NULL AND response_until <= now() LIMIT 100 FOR UPDATE SKIP LOCKED)""")
_REMOVE_EXPIRED = text("""
    DELETE FROM eai.idempotency_records
     WHERE (principal_id, route, key) IN (
           SELECT principal_id, route, key FROM eai.idempotency_records
            WHERE expires_at <= now() LIMIT 100 FOR UPDATE SKIP LOCKED)""")
