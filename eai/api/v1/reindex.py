"""Reindexes of knowledge bases."""

from typing import Annotated

from fastapi import Depends
from starlette.responses import Response

from eai.access.acl import Permission
from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.api.dependencies import NewId, Services, Transaction
from eai.api.governed_route import GovernedRouter
from eai.api.listing import Listing, PageQuery
from eai.api.requirement import require
from eai.kernel.ids import JobId
from eai.reindex.schemas import ReindexOut, ReindexRequest

router = GovernedRouter(tags=["knowledge bases"])

Reader = Annotated[Subject, Depends(require(Scope.KB_READ, base=Permission.MANAGE))]
Manager = Annotated[Subject, Depends(require(Scope.KB_WRITE, base=Permission.MANAGE))]

_RETRY_AFTER_S = "1"


@router.post("/knowledge-bases/{base}/reindex", status_code=202)
async def reindex_knowledge_base(
    caller: Manager,
    services: Services,
    session: Transaction,
    response: Response,
    new_id: NewId,
    base: str,
    wanted: ReindexRequest,
) -> ReindexOut:
    """Move the base to another model, other dimensions or another chunking; `{}` makes the same anew.

    The present generation answers until the new one is whole. 409 `reindex_in_progress` while another runs,
    403 `classification_exceeded` when the model may not see the base's level.
    """
    queued = await services.reindexes.request(session, caller, base, JobId(new_id), wanted)
    return _accepted(response, queued)


@router.get("/knowledge-bases/{base}/reindex-jobs")
async def list_reindex_jobs(
    caller: Reader, services: Services, session: Transaction, page: PageQuery, base: str
) -> Listing[ReindexOut]:
    """The reindexes of a base that you manage, oldest first."""
    return page.answer(await services.reindexes.page(session, caller, base, page.request))


@router.get("/knowledge-bases/{base}/reindex-jobs/{reindex_job}")
async def get_reindex_job(
    caller: Reader, services: Services, session: Transaction, base: str, reindex_job: str
) -> ReindexOut:
    """How far a reindex is; why it failed, and what to do."""
    return await services.reindexes.get(session, caller, base, reindex_job)


@router.post("/knowledge-bases/{base}/reindex-jobs/{reindex_job}/cancel")
async def cancel_reindex_job(
    caller: Manager, services: Services, session: Transaction, base: str, reindex_job: str
) -> ReindexOut:
    """End a reindex; the present generation goes on answering. One that has ended stays as it is."""
    return await services.reindexes.cancel(session, caller, base, reindex_job)


@router.post("/knowledge-bases/{base}/reindex-jobs/{reindex_job}/rollback", status_code=202)
async def roll_back_reindex_job(
    caller: Manager,
    services: Services,
    session: Transaction,
    response: Response,
    new_id: NewId,
    base: str,
    reindex_job: str,
) -> ReindexOut:
    """Go back to the generation before a completed reindex, by a job of its own.

    Documents that came since are brought there first. 409 `rollback_unavailable` once that generation is
    dropped, or after another reindex.
    """
    queued = await services.reindexes.roll_back(session, caller, base, reindex_job, JobId(new_id))
    return _accepted(response, queued)


def _accepted(response: Response, queued: ReindexOut) -> ReindexOut:
    response.headers["location"] = (
        f"/v1/knowledge-bases/{queued.knowledge_base_id}/reindex-jobs/{queued.job_id}"
    )
    response.headers["retry-after"] = _RETRY_AFTER_S
    return queued
