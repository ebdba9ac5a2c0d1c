"""What the platform keeps for a time only, and how it goes."""

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession


async def erase_expired(session: AsyncSession) -> None:
    """Remove idempotency records past their day, answers past their own time, and old settled jobs.

    Of the bound tenant. A job that ended well or was cancelled stays for 7 days, a failed one for 30.
    Each call takes a hundred of each at most; enough calls remove all.
    """
    await session.execute(_ERASE_EXPIRED)
    await session.execute(_REMOVE_EXPIRED)
    await session.execute(_REMOVE_SETTLED)


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
# Every condition on the state stands in the index's terms, or the sweep would read all jobs.
_REMOVE_SETTLED = text("""
    DELETE FROM eai.jobs
     WHERE id IN (
           SELECT id FROM eai.jobs
            WHERE state IN ('completed', 'cancelled', 'failed') AND updated_at <= now() - interval '7 days'
              AND (state <> 'failed' OR updated_at <= now() - interval '30 days')
            ORDER BY updated_at LIMIT 100 FOR UPDATE SKIP LOCKED)""")
