"""Jobs as clients see them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import BaseModel, ConfigDict

from eai.api.field_faults import told
from eai.platform.i18n import Language, words_of
from eai.platform.job_history import JobStatus


class JobProgress(BaseModel):
    """How far a job is, in what it works through; null for what it does not count."""

    model_config = ConfigDict(frozen=True)

    stage: str | None = None
    batches_done: int | None = None
    batches_total: int | None = None
    documents_done: int | None = None
    documents_total: int | None = None
    chunks_done: int | None = None
    chunks_total: int | None = None


class JobError(BaseModel):
    """Why a job was given up, and what to do about it.

    `details` are for who may write where the job works: they may tell what was found in a text.
    """

    model_config = ConfigDict(frozen=True)

    code: str
    message: str
    message_i18n: dict[str, str]
    details: dict[str, Any]
    docs_url: str


class JobOut(BaseModel):
    """Work that outlives the request that asked for it.

    `attempt` counts how often it was begun. `completed`, `failed` and `cancelled` are final.
    """

    model_config = ConfigDict(frozen=True)

    id: UUID
    name: str
    state: str
    attempt: int
    progress: JobProgress
    error: JobError | None
    knowledge_base_id: UUID | None
    document_id: UUID | None
    created_at: datetime
    updated_at: datetime


def job_out(status: JobStatus, language: Language, *, has_details: bool) -> JobOut:
    """The job in the words of `language`; without `has_details` its error is told by its code alone."""
    return JobOut(
        id=status.id,
        name=status.name,
        state=status.state,
        attempt=status.attempt,
        progress=JobProgress(**status.progress),
        error=None if status.error is None else _error(status.error, language, has_details=has_details),
        knowledge_base_id=status.parameters.get("base"),
        document_id=status.parameters.get("document"),
        created_at=status.created_at,
        updated_at=status.updated_at,
    )


def _error(error: Mapping[str, Any], language: Language, *, has_details: bool) -> JobError:
    code, details = error["code"], dict(error["details"]) if has_details else {}
    if isinstance(fields := details.get("fields"), list):
        details["fields"] = told(fields, language)
    texts = words_of(code, details)
    return JobError(
        code=code,
        message=texts[language],
        message_i18n={each.value: text for each, text in texts.items()},
        details=details,
        docs_url=f"/docs/errors/{code}",
    )
