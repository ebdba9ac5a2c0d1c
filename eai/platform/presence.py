"""Which worker processes live, and the jobs of which groups they take."""

from collections.abc import Collection, Mapping
from uuid import UUID

from eai.platform.database import Database
from eai.platform.handlers import Group
from eai.platform.metrics import WORKER_PROCESSES

LIVES_FOR_S = 15.0
"""How long a process counts as living after it was last seen; it shows itself several times within this."""


async def show(database: Database, process: UUID, groups: Collection[Group]) -> None:
    """Say that this process lives. Raises DatabaseUnavailable."""
    values = {"process": process, "groups": sorted(groups)}
    await database.statement(_SHOW, values, is_repeatable=True)


async def withdraw(database: Database, process: UUID) -> None:
    """Say that this process takes no more jobs. Raises DatabaseUnavailable."""
    await database.statement(_WITHDRAW, {"process": process}, is_repeatable=True)


async def processes(database: Database) -> Mapping[Group, int]:
    """How many living processes take the jobs of each group; the gauge tells it too.

    Raises DatabaseUnavailable.
    """
    rows = await database.statement(_COUNTED, {"within": LIVES_FOR_S}, is_repeatable=True)
    found = dict.fromkeys(Group, 0) | {Group(name): number for name, number in rows if name in set(Group)}
    for group, number in found.items():
        WORKER_PROCESSES.labels(group).set(number)
    return found


# Who was killed cannot withdraw. A row that another process removes just now is left to it.
_SHOW = """
    WITH gone AS (
         DELETE FROM eai.worker_processes WHERE id IN (
                SELECT id FROM eai.worker_processes
                 WHERE seen_at < clock_timestamp() - interval '1 hour' AND id <> %(process)s
                   FOR UPDATE SKIP LOCKED))
    INSERT INTO eai.worker_processes (id, groups, seen_at)
    VALUES (%(process)s, %(groups)s, clock_timestamp())
        ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, groups = excluded.groups
    RETURNING id"""
_WITHDRAW = "DELETE FROM eai.worker_processes WHERE id = %(process)s RETURNING id"
_COUNTED = """
    SELECT name, count(*) FROM eai.worker_processes, unnest(groups) AS name
     WHERE seen_at > clock_timestamp() - make_interval(secs => %(within)s)
     GROUP BY name"""
