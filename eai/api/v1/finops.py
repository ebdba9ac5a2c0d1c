"""What work may cost and what it did: quotas with what is left of them, and usage summed up."""

from typing import Annotated
from uuid import UUID

from fastapi import Depends, Query
from pydantic import AwareDatetime

from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.api.dependencies import IsRepeated, NewId, Services, Transaction
from eai.api.etags import ETag
from eai.api.governed_route import GovernedRouter
from eai.api.listing import Listing, PageQuery
from eai.api.requirement import require
from eai.finops.schemas import NewQuota, NewUsage, QuotaOut, UsageKey, UsageOut, UsageSum

router = GovernedRouter(tags=["finops"])

Reader = Annotated[Subject, Depends(require(Scope.FINOPS_READ))]
Controller = Annotated[Subject, Depends(require(Scope.FINOPS_WRITE))]

GroupBy = Annotated[
    list[UsageKey],
    Query(max_length=len(UsageKey), description="What to tell apart; name it several times for several."),
]
Since = Annotated[
    AwareDatetime | None, Query(description="From then on; absent: since the month began, UTC.")
]
Until = Annotated[
    AwareDatetime | None, Query(description="Up to but without that instant; absent: until now.")
]


@router.get("/finops/quotas")
async def list_quotas(
    caller: Reader, services: Services, session: Transaction, page: PageQuery
) -> Listing[QuotaOut]:
    """The tenant's quotas, the oldest first, each with what is used of it and what remains."""
    return page.answer(await services.quotas.page(session, caller, page.request))


@router.put("/finops/quotas")
async def set_quota(
    caller: Controller,
    services: Services,
    session: Transaction,
    new_id: NewId,
    tags: ETag,
    wanted: NewQuota,
) -> QuotaOut:
    """Set how much an owner may take: `tenant`, `group:<id>` or `knowledge_base:<id>`.

    `knowledge_bases`, `documents` and `bytes` bound what is kept, from the next submission on. The others
    bind from the next call of a model on; what was used in the present period stays counted. A call
    that could pass the limit is 409 `quota_exceeded` for a month, 429 `rate_limited` for a minute. 422
    `owner_unknown` for a group or base that does not exist.
    """
    made = await services.quotas.set(session, caller, new_id, wanted, revision=tags.expected)
    return tags.show(made, made.revision)


@router.get("/finops/quotas/{quota}")
async def get_quota(
    caller: Reader, services: Services, session: Transaction, tags: ETag, quota: UUID
) -> QuotaOut:
    """One quota with what is used of it and what remains."""
    found = await services.quotas.get(session, caller, quota)
    return tags.show(found, found.revision)


@router.delete("/finops/quotas/{quota}", status_code=204)
async def delete_quota(
    caller: Controller, services: Services, session: Transaction, tags: ETag, quota: UUID
) -> None:
    """Remove a quota; what it bounded is unlimited from the next call of a model on."""
    await services.quotas.delete(session, caller, quota, revision=tags.expected)


@router.get("/finops/usage")
async def get_usage(
    caller: Reader,
    services: Services,
    session: Transaction,
    page: PageQuery,
    group_by: GroupBy = [UsageKey.DAY],  # noqa: B006 - the framework reads it, nobody changes it
    since: Since = None,
    until: Until = None,
) -> Listing[UsageSum]:
    """Usage summed up by day, model, operation, project, agent or knowledge base.

    Kinds and units are never added together, nor what was measured here to what clients told of.
    """
    keys = tuple(dict.fromkeys(group_by))
    return page.answer(
        await services.usage.sums(session, caller, page.request, keys=keys, since=since, until=until)
    )


@router.post("/finops/usage", status_code=201)
async def record_usage(
    caller: Controller, services: Services, new_id: NewId, is_repeated: IsRepeated, told: NewUsage
) -> UsageOut:
    """Tell of usage that another system measured. It is marked external and counts to no quota."""
    return await services.usage.record(caller, new_id, told, is_repeated=is_repeated)
