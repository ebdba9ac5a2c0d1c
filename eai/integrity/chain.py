"""The audit chain of a tenant, entry by entry, against its checkpoints and the anchor."""

from collections.abc import Iterable
from dataclasses import dataclass

from eai.audit.scan import Reason
from eai.audit.trail import AuditTrail
from eai.integrity.findings import Found, Kind
from eai.kernel.ids import TenantId
from eai.platform.database import Database

_ENDS_WRONG = {Reason.HEAD_MISMATCH, Reason.TAIL_MISSING}


@dataclass(frozen=True)
class AuditChain:
    """The chain verifies, and its head is its last entry."""

    database: Database
    trail: AuditTrail
    name = "audit_chain"

    async def find(self, tenant: TenantId) -> Iterable[Found]:
        verdict = await self.trail.verify(self.database, tenant)
        if verdict.valid:
            return []
        kind = Kind.AUDIT_HEAD_WRONG if verdict.reason in _ENDS_WRONG else Kind.AUDIT_CHAIN_BROKEN
        return [Found(kind, f"{verdict.first_bad_seq}:{verdict.reason}")]
