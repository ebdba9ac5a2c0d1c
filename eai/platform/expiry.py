"""What the platform keeps for a time only, and how it goes."""

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from eai.kernel.ids import TenantId
from eai.platform.database import Database


async def tenants_with_due_work(database: Database, lost_after_s: float) -> list[TenantId]:
    """Tenants with something for the sweep: expired, or a job that nobody holds or hears of any more.

    A named cross-tenant step, run under the role `eai_sweeper`, that tells ids and nothing else. What it
    costs grows with what is due, not with the number of tenants.
    """
    parameters = {"lost_after_s": lost_after_s}
    return [TenantId(tenant) for (tenant,) in await database.statement(_DUE, parameters, is_repeatable=True)]


async def erase_expired(session: AsyncSession) -> None:
    """Remove idempotency records past their day, answers past their own time, and old settled jobs.

    Of the bound tenant. A job that ended well or was cancelled stays for 7 days, a failed one for 30.
    Each call takes a hundred of each at most; enough calls remove all.
    """
    await session.execute(_ERASE_EXPIRED)
    await session.execute(_REMOVE_EXPIRED)
    await session.execute(_REMOVE_SETTLED)


_DUE = "SELECT eai.tenants_with_due_work(make_interval(secs => %(lost_after_s)s))"
# Rows that somebody holds are left for the next time: clearing up must never make a request wait. What is
# due is chosen before anything is joined to it: as a subquery of the condition, PostgreSQL may plan to run
# it once per row, and then each run passes over what it took before and takes a hundred more.
_ERASE_EXPIRED = text("""
    WITH due AS MATERIALIZED (
         SELECT principal_id, route, key FROM eai.idempotency_records
          WHERE has_response AND response_until <= now() LIMIT 100 FOR UPDATE SKIP LOCKED)
    UPDATE eai.idempotency_records AS record SET response = NULL FROM due
     WHERE (record.principal_id, record.route, record.key) = (due.principal_id, due.route, due.key)""")
_REMOVE_EXPIRED = text("""
    WITH due AS MATERIALIZED (
         SELECT principal_id, route, key FROM eai.idempotency_records
          WHERE expires_at <= now() LIMIT 100 FOR UPDATE SKIP LOCKED)
    DELETE FROM eai.idempotency_records AS record USING due
     WHERE (record.principal_id, record.route, record.key) = (due.principal_id, due.route, due.key)""")
# Every condition on the state stands in the index's terms, or the sweep would read all jobs.
_REMOVE_SETTLED = text("""
    WITH due AS MATERIALIZED (
         SELECT id FROM eai.jobs
          WHERE state IN ('completed', 'cancelled', 'failed') AND updated_at <= now() - interval '7 days'
            AND (state <> 'failed' OR updated_at <= now() - interval '30 days')
          ORDER BY updated_at LIMIT 100 FOR UPDATE SKIP LOCKED)
    DELETE FROM eai.jobs AS job USING due WHERE job.id = due.id""")
