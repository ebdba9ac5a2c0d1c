"""Jobs: how one stands, and what becomes of it as it happens."""

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

from fastapi import Header
from starlette.requests import Request
from starlette.responses import Response

from eai.access.acl import Permission
from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.api.dependencies import Services, Transaction
from eai.api.event_stream import MEDIA_TYPE, EventStream, OpenStreams, Write
from eai.api.governed_route import GovernedRouter
from eai.api.jobs import JobOut, job_out
from eai.api.problems import problem_body
from eai.api.requirement import CREDENTIAL, Caller
from eai.gateway.wire import event
from eai.kernel.errors import EaiError, NotFound
from eai.kernel.ids import JobId
from eai.knowledge.bases.access import authorise
from eai.knowledge.documents.access import find_document
from eai.knowledge.errors import PermissionMissing
from eai.platform.i18n import Language, negotiate
from eai.platform.job_history import JobStatus, job_changes, job_status

if TYPE_CHECKING:
    from sqlalchemy.ext.asyncio import AsyncSession

    from eai.bootstrap import Platform

POLL_S = 0.5
HEARTBEAT_S = 15.0
REAUTHORISE_S = 30.0

router = GovernedRouter(tags=["jobs"])

LastEvent = Annotated[
    int | None,
    Header(alias="Last-Event-ID", ge=0, le=2**31 - 1, description="The last event that you have seen."),
]


@router.get("/jobs/{job}")
async def get_job(request: Request, caller: Caller, session: Transaction, job: UUID) -> JobOut:
    """How a job stands that you have asked for; of everybody's with `tenant:admin`.

    Its error has `details` for those who may write where it works.
    """
    status = await _status(session, caller, JobId(job))
    return await _shown(session, caller, status, _language(request))


@router.get(
    "/jobs/{job}/events",
    response_class=Response,
    responses={200: {"description": "Events.", "content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}},
)
async def follow_job(
    request: Request, caller: Caller, services: Services, job: UUID, last_event_id: LastEvent = None
) -> EventStream:
    """Every change of a job as a server-sent event, from the first one, until it has ended.

    The data of an event is the job as it was then. With `Last-Event-ID` only what came after: nothing is
    left out or told twice. The credential is judged again every 30 seconds.
    """
    follower = _Follower(request, services, JobId(job), last_event_id or 0)

    def tell(error: EaiError) -> bytes:
        return event(problem_body(error, request.scope), "error")

    return EventStream(lambda write: follower.follow(caller, write), tell)


@dataclass
class _Follower:
    """One stream of a job's changes. `seen` is the last event that was sent."""

    request: Request
    services: "Platform"
    job: JobId
    seen: int

    async def follow(self, caller: Subject, write: Write) -> None:
        """Send changes until the job has ended. Raises RateLimited, NotFound, Unauthenticated."""
        streams: OpenStreams = self.request.app.state.job_streams
        with streams.one_of(caller.tenant, caller.principal):
            judged_at = spoken_at = time.monotonic()
            await self._check(caller)
            await write(b": these are the changes of one job\n\n")
            while not await self._has_ended(caller, write):
                await asyncio.sleep(POLL_S)
                now = time.monotonic()
                if now - judged_at >= REAUTHORISE_S:
                    judged_at = now
                    caller = await self._judged_again()
                if now - spoken_at >= HEARTBEAT_S:
                    spoken_at = now
                    await write(b": still here\n\n")

    async def _has_ended(self, caller: Subject, write: Write) -> bool:
        async with self.services.database.transaction(caller.tenant) as session:
            status = await _status(session, caller, self.job)
            changes = await job_changes(session, caller.tenant, self.job, after=self.seen)
            language = _language(self.request)
            shown = [await _shown(session, caller, change, language) for change in changes]
        for change, job in zip(changes, shown, strict=True):
            await write(b"id: %d\n" % change.event + event(job.model_dump_json().encode(), "job"))
            self.seen = change.event
        return status.is_final and self.seen >= status.event

    async def _check(self, caller: Subject) -> None:
        async with self.services.database.transaction(caller.tenant) as session:
            await _status(session, caller, self.job)

    async def _judged_again(self) -> Subject:
        return await self.services.identity.authenticate(self.request.scope[CREDENTIAL])


async def _status(session: "AsyncSession", caller: Subject, job: JobId) -> JobStatus:
    whose = None if Scope.TENANT_ADMIN in caller.scopes else caller.principal
    status = await job_status(session, caller.tenant, job, whose)
    if status is None:
        raise NotFound
    return status


async def _shown(session: "AsyncSession", caller: Subject, status: JobStatus, language: Language) -> JobOut:
    has_details = status.error is not None and await _may_write(session, caller, status)
    return job_out(status, language, has_details=has_details)


async def _may_write(session: "AsyncSession", caller: Subject, status: JobStatus) -> bool:
    """Whether the caller may write what the job works on: its error may tell what was found in there."""
    base, document = status.parameters.get("base"), status.parameters.get("document")
    if base is None:
        return True
    try:
        if document is None or status.principal == caller.principal:
            # Who brings a text need not be among its readers, and it may be gone by now.
            await authorise(session, caller, base, Permission.WRITE)
        else:
            await find_document(session, caller, base, document, Permission.WRITE)
    except (NotFound, PermissionMissing):
        return False
    return True


def _language(request: Request) -> Language:
    return negotiate(request.headers.get("accept-language"))
