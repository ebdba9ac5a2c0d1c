"""What a text holds that may not go everywhere."""

from typing import Annotated

from fastapi import Depends

from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.api.dependencies import Services
from eai.api.governed_route import GovernedRouter
from eai.api.idempotency.records import Replay, replay
from eai.api.intake import JSON, accepts
from eai.api.requirement import require
from eai.dlp.schemas import ScanOut, ScanRequest
from eai.gateway.schemas import MAX_BODY_BYTES

router = GovernedRouter(tags=["dlp"])

Invoker = Annotated[Subject, Depends(require(Scope.GATEWAY_INVOKE))]


@router.post("/dlp/scan")
@replay(Replay.IGNORED)
@accepts(JSON, max_bytes=MAX_BODY_BYTES)
async def scan_texts(caller: Invoker, services: Services, asked: ScanRequest) -> ScanOut:
    """Search texts by the rules of your tenant, as a model call with them would be.

    Nothing of them is kept; the audit tells how many of each entity were found. 503 `dlp_unavailable` when
    the search itself failed.
    """
    found, evidence = await services.scans.scan(caller, asked)
    await services.audit.flush(evidence)
    return found
