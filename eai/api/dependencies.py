"""What endpoints take in their signatures besides the caller and the input."""

from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Annotated, cast
from uuid import UUID, uuid4

from fastapi import Depends
from sqlalchemy.ext.asyncio import AsyncSession
from starlette.requests import Request

from eai.access.subject import Subject
from eai.api.idempotency.records import Claim
from eai.api.idempotency.service import CLAIM
from eai.api.requirement import SUBJECT

if TYPE_CHECKING:
    from eai.bootstrap import Platform

WORK = "eai.work"


async def platform_of(request: Request) -> "Platform":
    """The long-lived parts of this process."""
    return cast("Platform", request.app.state.platform)


async def open_transaction(request: Request) -> AsyncSession:
    """A transaction of the caller's tenant.

    `GovernedRoute` commits it once the endpoint has answered, before a byte of the answer leaves, and
    rolls it back when anything is raised.
    """
    platform: Platform = request.app.state.platform
    subject: Subject = request.scope[SUBJECT]
    work: AsyncExitStack = request.scope[WORK]
    return await work.enter_async_context(platform.database.transaction(subject.tenant))


async def new_id(request: Request) -> UUID:
    """The id of what this request makes: the same for every attempt under one idempotency key."""
    claim: Claim | None = request.scope.get(CLAIM)
    return claim.effect_id if claim is not None else uuid4()


async def is_repeated(request: Request) -> bool:
    """Whether an earlier attempt under the same idempotency key may have had its effect."""
    claim: Claim | None = request.scope.get(CLAIM)
    return claim is not None and claim.attempt > 1


Services = Annotated["Platform", Depends(platform_of)]
Transaction = Annotated[AsyncSession, Depends(open_transaction)]
NewId = Annotated[UUID, Depends(new_id)]
IsRepeated = Annotated[bool, Depends(is_repeated)]
