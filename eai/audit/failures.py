"""Failed authentication, told once a minute as counts: nobody's chain may be filled by strangers."""

from collections import Counter
from datetime import datetime

from eai.audit.actions import AuditAction
from eai.audit.entries import AuditEntry, Decision, Evidence
from eai.audit.errors import AuditUnavailable
from eai.audit.service import Audit
from eai.audit.timestamps import timestamp
from eai.kernel.clock import Clock
from eai.kernel.ids import PLATFORM_TENANT

REPORT_EVERY_S = 60
MAX_REASONS = 32
OTHER = "other"


class FailureCounter:
    """Counts failures by reason in this process; `report` writes them to the platform's chain."""

    def __init__(self, audit: Audit, clock: Clock) -> None:
        self._audit = audit
        self._clock = clock
        self._counts: Counter[str] = Counter()
        self._since: datetime | None = None

    def count(self, reason: str) -> None:
        """Note one failure. `reason` is one of a few fixed words, never something a client sent."""
        known = reason in self._counts or len(self._counts) < MAX_REASONS
        self._counts[reason if known else OTHER] += 1
        self._since = self._since or self._clock.now()

    async def report(self) -> None:
        """Write what was counted since the last report, if anything; what cannot be written is kept."""
        counts, since = self._counts, self._since
        if since is None:
            return
        self._counts, self._since = Counter(), None
        entry = AuditEntry(
            PLATFORM_TENANT,
            AuditAction.AUTH_FAILED,
            decision=Decision.DENY,
            facts={"failures": counts.total(), "reasons": dict(counts), "since": timestamp(since)},
        )
        try:
            await self._audit.flush(Evidence(entries=(entry,)))
        except AuditUnavailable:
            self._counts, self._since = counts + self._counts, since
