"""Reindexes turned into what clients read."""

from eai.platform.i18n import words_of
from eai.platform.schema import Json
from eai.reindex.models import ReindexJob
from eai.reindex.schemas import ReindexError, ReindexOut, ReindexStatus, Settings


def reindex_out(row: ReindexJob) -> ReindexOut:
    """The reindex."""
    return ReindexOut(
        job_id=row.id,
        knowledge_base_id=row.base_id,
        status=ReindexStatus(row.status),
        from_=Settings(**row.source),
        to=Settings(**row.target),
        documents_total=row.documents_total,
        documents_done=row.documents_done,
        rollback_of=row.rollback_of,
        error=None if row.error is None else _error_out(row.error),
        created_at=row.created_at,
        updated_at=row.updated_at,
        completed_at=row.completed_at,
    )


def _error_out(error: Json) -> ReindexError:
    code, details = error["code"], error["details"]
    return ReindexError(
        code=code,
        details=details,
        message_i18n={language.value: text for language, text in words_of(code, details).items()},
    )
