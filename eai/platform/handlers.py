"""What a worker runs for a job of one name, and in whose slots."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from eai.kernel.errors import EaiError
from eai.platform.jobs import JobRun

JobFunction = Callable[[JobRun], Awaitable[None]]
DeadLetter = Callable[[JobRun, EaiError], Awaitable[None]]


class Group(StrEnum):
    """Jobs that share slots: they wait for each other, and never for those of another group.

    quick: takes moments. ingestion: takes as long as a document is long. maintenance: goes through all that
    a base or a tenant has.
    """

    QUICK = "quick"
    INGESTION = "ingestion"
    MAINTENANCE = "maintenance"


SLOTS: Mapping[Group, int] = {Group.QUICK: 2, Group.INGESTION: 4, Group.MAINTENANCE: 2}
"""How many jobs of each group a worker runs at a time, unless it is told otherwise."""


@dataclass(frozen=True, slots=True)
class JobHandler:
    """What to run for a job of one name, and what to do once it is given up.

    `run` closes the job itself, with `Jobs.complete` in the transaction of its effect. `give_up`
    does the same with `Jobs.fail`. In the slots of its group a job waits for others of that group alone.
    """

    run: JobFunction
    give_up: DeadLetter
    group: Group = Group.QUICK
