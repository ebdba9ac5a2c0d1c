"""What `eai doctor` says of worker processes: a job whose group nobody takes waits for ever, in silence."""

import asyncio

import psycopg

from eai.cli.finding import DATABASE_FIRST, Finding, nothing_runs
from eai.platform.settings import Settings

SHOWN_WITHIN_S = 5.0
"""How long a worker that has just been started may take to show itself."""
_POLL_S = 0.25
_NAME = "workers"


async def jobs_are_taken(settings: Settings) -> Finding:
    """Every group of jobs has a process that takes it."""
    from eai.kernel.errors import Unavailable  # noqa: PLC0415
    from eai.platform.database import Database  # noqa: PLC0415
    from eai.platform.handlers import Group  # noqa: PLC0415
    from eai.platform.presence import processes  # noqa: PLC0415

    if settings.database.url is None:
        return nothing_runs(settings, _NAME)
    database = Database(settings.database.url.get_secret_value(), pool_size=1)
    await database.open()
    deadline = asyncio.get_running_loop().time() + SHOWN_WITHIN_S
    try:
        while not all((found := await processes(database)).values()):
            if asyncio.get_running_loop().time() > deadline:
                return _missing(settings, [group for group in Group if not found[group]])
            await asyncio.sleep(_POLL_S)
    except Unavailable:
        return Finding(_NAME, ok=False, says="not known", mend=DATABASE_FIRST)
    except psycopg.Error:
        return Finding(_NAME, ok=False, says="not known", mend="run `eai migrate`")
    finally:
        await database.close()
    says = ", ".join(f"{group} {number}" for group, number in found.items())
    return Finding(_NAME, ok=True, says=f"every group of jobs has processes: {says}")


def _missing(settings: Settings, groups: list[str]) -> Finding:
    says = f"no process takes these jobs, which wait for ever: {', '.join(groups)}"
    modules = " and ".join(f"`python -m workers.{group}`" for group in groups)
    mend = f"start {modules}, or `python -m workers.all` for every group"
    if not settings.is_production:
        mend = f"`eai up --home {settings.home}` runs one, with its log in logs/worker.log; or {mend}"
    return Finding(_NAME, ok=False, says=says, mend=mend)
