"""The jobs of knowledge, by name. All of them may be repeated, and none is ever given up.

A deletion that stopped half way would be a promise broken in silence: it waits and goes on.
"""

from collections.abc import Mapping

import structlog

from eai.audit.service import Audit
from eai.kernel.errors import EaiError
from eai.knowledge.bases.deletion import DELETE_BASE, BaseDeletions
from eai.knowledge.chunks.following import PointFollowing
from eai.knowledge.documents.deletion import DELETE_DOCUMENT, Deletions
from eai.knowledge.documents.serving import MOVE_RIGHTS, RETIRE_VERSION
from eai.knowledge.ports import Vectors
from eai.knowledge.statistics.drift import REWEIGH
from eai.knowledge.statistics.reweighing import Reweighing
from eai.platform.database import Database
from eai.platform.handlers import DeadLetter, Group, JobHandler
from eai.platform.jobs import JobRun, Jobs

PAUSE_AFTER_FAILURES_S = 300

log = structlog.get_logger(__name__)


def job_handlers(database: Database, vectors: Vectors, jobs: Jobs, audit: Audit) -> Mapping[str, JobHandler]:
    """What a worker runs for each job of this slice."""
    following = PointFollowing(database, vectors, jobs)
    functions = {
        DELETE_DOCUMENT: Deletions(database, vectors, jobs, audit).run,
        DELETE_BASE: BaseDeletions(database, vectors, jobs, audit).run,
        MOVE_RIGHTS: following.move_rights,
        RETIRE_VERSION: following.retire_version,
        REWEIGH: Reweighing(database, vectors, jobs).run,
    }
    later = try_later(database, jobs)
    groups = dict.fromkeys(functions, Group.QUICK) | {REWEIGH: Group.MAINTENANCE}
    return {name: JobHandler(run, later, groups[name]) for name, run in functions.items()}


def try_later(database: Database, jobs: Jobs) -> DeadLetter:
    """Instead of giving a job up: pause it, and say so."""

    async def pause(run: JobRun, error: EaiError) -> None:
        log.error("job.paused", job=str(run.job), job_name=run.name, code=error.code)
        async with database.transaction(run.tenant) as session:
            # Unless none was made because each before had killed its process, this attempt ended by itself.
            ended = not run.is_spent
            await jobs.hand_back(session, run, after_s=PAUSE_AFTER_FAILURES_S, counts_as_failure=ended)

    return pause
