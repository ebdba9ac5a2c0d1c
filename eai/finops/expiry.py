"""Calls of which nobody said how they ended: whoever made them is gone, and their lease is over."""

import asyncio
import time

import structlog

from eai.audit.actions import AuditAction
from eai.audit.entries import SYSTEM, AuditEntry, Evidence, ReservationState, Resource, Settlement
from eai.audit.errors import AuditUnavailable
from eai.audit.service import Audit
from eai.finops.models import ModelReservation
from eai.finops.repository import ReservationRows, tenants_with_expired_calls
from eai.finops.reservations import read_usage
from eai.kernel.canonical import Canonical
from eai.kernel.ids import TenantId
from eai.platform.database import Database
from eai.tenants.repository import list_tenant_ids

BATCH = 100
FORGET_INTERVAL_S = 3600.0

_log = structlog.get_logger(__name__)


class ExpiredCalls:
    """Charges them at their bound, and forgets what is long over. Running it twice at once is harmless."""

    def __init__(self, database: Database, audit: Audit) -> None:
        self._database = database
        self._audit = audit
        self._forget_at = 0.0

    async def close_due(self) -> None:
        """Close a hundred of each tenant at most, each with its event."""
        for tenant in await tenants_with_expired_calls(self._database):
            async with self._database.transaction(tenant) as session:
                expired = await ReservationRows(session, tenant).expired(BATCH)
            await asyncio.gather(*(self._close(tenant, call) for call in expired))
        await self._forget_due()

    async def _close(self, tenant: TenantId, call: ModelReservation) -> None:
        try:
            await self._audit.flush(_unknown(tenant, call))
        except AuditUnavailable:
            # Somebody was faster, or the chain is held; what is still there then is tried the next time.
            _log.warning("model_call.not_closed", tenant=str(tenant), reservation=str(call.id))

    async def _forget_due(self) -> None:
        if time.monotonic() < self._forget_at:
            return
        for tenant in await list_tenant_ids(self._database):
            async with self._database.transaction(tenant) as session:
                await ReservationRows(session, tenant).forget()
        self._forget_at = time.monotonic() + FORGET_INTERVAL_S


def _unknown(tenant: TenantId, call: ModelReservation) -> Evidence:
    facts: dict[str, Canonical] = {"operation": call.operation, "tokens": call.tokens_bound}
    if call.intent_seq is not None:
        facts["intent"] = call.intent_seq
    entry = AuditEntry(
        tenant, AuditAction.MODEL_UNKNOWN, SYSTEM, resource=Resource("model", call.model), facts=facts
    )
    return Evidence(
        entries=(entry,),
        usage=(read_usage(tenant, call.usage),) if call.usage else (),
        settled=(Settlement(call.id, ReservationState.UNKNOWN, call.tokens_bound),),
    )
