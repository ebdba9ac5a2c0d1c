"""Tells workers of jobs: procrastinate carries (tenant, job id) and nothing else, in its own schema."""

from collections.abc import Sequence

from procrastinate import App, PsycopgConnector
from procrastinate.exceptions import ConnectorException
from procrastinate.types import JSONDict
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
    """Have workers told of jobs of one name, in `after_s` seconds, if the session's transaction commits."""
    task = app.configure_task(
        name,
        queue=name,
        connection=await raw_connection(session),
        schedule_in={"seconds": after_s} if after_s else None,
    )
    told: list[JSONDict] = [{"tenant": str(tenant), "job": str(job)} for job in jobs]
    try:
        await task.batch_defer_async(*told)
    except ConnectorException as error:
        # It hides what happened, which the transaction around this knows how to tell.
        raise (error.__cause__ or error) from error
