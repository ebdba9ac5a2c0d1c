"""What stands against a reindex, and how one ends badly."""

from eai.kernel.errors import Conflict, EaiError


class ReindexInProgress(Conflict):
    """The base is being reindexed already, by `job_id`."""

    code = "reindex_in_progress"


class RollbackUnavailable(Conflict):
    """There is no way back: the generation before is dropped, or the base was moved on since."""

    code = "rollback_unavailable"


class ReindexIncomplete(EaiError):
    """Something is missing of the new generation, in rows or in the index, and stays so time and again."""

    code, status = "reindex_incomplete", 500
