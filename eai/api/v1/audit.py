"""The audit of the caller's tenant: entries, the verdict on the chain, checkpoints, the export.

Reading the audit is audited too. A platform operator reads the platform's own chain here.
"""

from typing import Annotated

from fastapi import Depends, Query
from starlette.responses import StreamingResponse

from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.api.dependencies import Services, Transaction
from eai.api.governed_route import GovernedRouter
from eai.api.listing import Listing, PageQuery
from eai.api.requirement import require
from eai.audit.actions import AuditAction
from eai.audit.entries import Actor, AuditEntry, Evidence
from eai.audit.schemas import CheckpointOut, EventOut, VerificationOut
from eai.kernel.canonical import Canonical
from eai.kernel.paging import Page

router = GovernedRouter(tags=["audit"])

Auditor = Annotated[Subject, Depends(require(Scope.AUDIT_READ, Scope.PLATFORM_ADMIN, any_of=True))]
AfterSeq = Annotated[int, Query(ge=0, lt=2**63, description="Begin after the entry of this number.")]


@router.get("/audit/events")
async def list_audit_events(
    caller: Auditor,
    services: Services,
    paging: PageQuery,
    after_seq: AfterSeq = 0,
    action: Annotated[AuditAction | None, Query(description="Only entries of this kind.")] = None,
) -> Listing[EventOut]:
    """Entries in their order, with personal details as far as their keys were not erased."""
    begin = _begin(paging, after_seq)
    limit = paging.request.limit
    async with services.database.transaction(caller.tenant) as session:
        events = await services.audit_trail.events(
            session, caller.tenant, after_seq=begin, action=action, limit=limit + 1
        )
    await _record(services, caller, AuditAction.AUDIT_READ, after_seq=begin, entries=len(events[:limit]))
    key = (str(events[limit - 1].seq),) if len(events) > limit else None
    return paging.answer(Page(events[:limit], key))


@router.get("/audit/checkpoints")
async def list_audit_checkpoints(
    caller: Auditor, session: Transaction, services: Services, paging: PageQuery, after_seq: AfterSeq = 0
) -> Listing[CheckpointOut]:
    """Signed statements of where the chain stood, in their order."""
    begin = _begin(paging, after_seq)
    limit = paging.request.limit
    found = await services.audit_trail.checkpoints(session, caller.tenant, after_seq=begin, limit=limit + 1)
    key = (str(found[limit - 1].seq),) if len(found) > limit else None
    return paging.answer(Page(found[:limit], key))


@router.get("/audit/verify")
async def verify_audit(caller: Auditor, services: Services) -> VerificationOut:
    """Check every entry against the chain, the checkpoints and what the anchor holds."""
    verdict = await services.audit_trail.verify(services.database, caller.tenant)
    await _record(services, caller, AuditAction.AUDIT_VERIFY, valid=verdict.valid, events=verdict.events)
    return verdict


@router.get(
    "/audit/export",
    response_class=StreamingResponse,
    responses={200: {"content": {"application/jsonl": {}}, "description": "One JSON object per line."}},
)
async def export_audit(caller: Auditor, services: Services, after_seq: AfterSeq = 0) -> StreamingResponse:
    """The chain as a file that `eai audit verify --file` checks without a database."""
    await _record(services, caller, AuditAction.AUDIT_EXPORT, after_seq=after_seq)
    lines = services.audit_trail.export(services.database, caller.tenant, after_seq=after_seq)
    headers = {"content-disposition": 'attachment; filename="audit.jsonl"'}
    return StreamingResponse(lines, media_type="application/jsonl", headers=headers)


def _begin(paging: PageQuery, after_seq: int) -> int:
    return int(paging.request.after[0]) if paging.request.after else after_seq


async def _record(services: Services, caller: Subject, action: AuditAction, **facts: Canonical) -> None:
    entry = AuditEntry(caller.tenant, action, actor=Actor.of(caller), facts=facts)
    await services.audit.flush(Evidence(entries=(entry,)))
