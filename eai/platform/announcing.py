"""Tells workers of jobs: procrastinate carries (tenant, job id) and nothing else, in its own schema."""

from collections.abc import Sequence

from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import ConnectorException
from procrastinate.types import JSONDict
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from eai.kernel.ids import JobId, TenantId
from eai.platform.database import RECONNECT_S, Database, raw_connection

_CONNECTION_WITHIN_S = 5.0
_CONNECTIONS = 7
"""A worker listens on one of them for each group of jobs."""


def messenger(database: Database) -> App:
    """What brings messages to workers, with connections of its own."""
    connector = PsycopgConnector(
        conninfo=database.conninfo,
        min_size=1,
        max_size=_CONNECTIONS,
        timeout=_CONNECTION_WITHIN_S,
        reconnect_timeout=RECONNECT_S,
    )
    return App(connector=connector)


async def announce(
    app: App,
    session: AsyncSession,
    tenant: TenantId,
    name: str,
    jobs: Sequence[JobId],
    *,
    after_s: float = 0,
) -> None:
    """Have workers told of jobs of one name, in `after_s` seconds, if the session's transaction commits.

    In what is left of the queue the tenant has one turn in each round, however many jobs it has there.
    """
    values = {"tenant": str(tenant), "name": name, "after": after_s}
    turn, due_at = (await session.execute(_TURN, values)).one()
    task = app.configure_task(
        name,
        queue=name,
        priority=turn,
        connection=await raw_connection(session),
        # By the database's clock, which says when it has come: this process's may be an hour ahead.
        schedule_at=due_at if after_s else None,
    )
    told: list[JSONDict] = [{"tenant": str(tenant), "job": str(job)} for job in jobs]
    try:
        await task.batch_defer_async(*told)
    except ConnectorException as error:
        # It hides what happened, which the transaction around this knows how to tell.
        raise (error.__cause__ or error) from error


# Start-time fair queueing, with jobs of equal cost: a message's round is the one that the queue has come to,
# or the one after the tenant's last. Rounds count downwards, because the highest priority goes first; an
# empty queue begins anew. What is to come later says nothing of where the queue is. Two that are announced at
# once may get the same round, which costs nobody more than a turn. At the bound, which takes two thousand
# million jobs without a pause, who comes first goes first.
_TURN = text("""
    SELECT GREATEST(-2000000000, COALESCE(LEAST(
           (SELECT max(priority) FROM eai_jobs.procrastinate_jobs
             WHERE status = 'todo' AND queue_name = :name
               AND (scheduled_at IS NULL OR scheduled_at <= now())),
           (SELECT min(priority) - 1 FROM eai_jobs.procrastinate_jobs
             WHERE status = 'todo' AND queue_name = :name AND args->>'tenant' = :tenant)), 0)),
           clock_timestamp() + make_interval(secs => :after)""")
