"""The recurring work: sign where each chain stands, and hand what was signed to the anchor."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from sqlalchemy.ext.asyncio import AsyncSession

from eai.audit.checkpoint import Checkpoint, TrustedKeys, sign
from eai.audit.checkpoint_rows import CheckpointRows, StoredCheckpoint
from eai.audit.ports import Anchor, AnchorUnavailable
from eai.audit.repository import AuditRows, unsettled_tenants
from eai.audit.scan import scan
from eai.audit.signing import Signing, SigningKeyMissing
from eai.audit.verification import Head, Verification
from eai.kernel.ids import TenantId
from eai.platform.database import Database
from eai.platform.metrics import AUDIT_ALARMS, AUDIT_UNANCHORED

PAGE = 2_000
ANCHOR_BATCH = 200

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Cadence:
    """A checkpoint is due after so many entries, or so long after the last one if there are any."""

    events: int = 1_000
    interval: timedelta = timedelta(seconds=60)


Now = Callable[[], Awaitable[datetime]]
"""One time for all processes: a checkpoint from an hour that is yet to come would put off the next one."""


class Checkpointing:
    """Issues and anchors checkpoints of every chain. Running it twice at once is harmless."""

    def __init__(
        self, database: Database, signing: Signing, anchor: Anchor, now: Now, cadence: Cadence
    ) -> None:
        self._database = database
        self._signing = signing
        self._anchor = anchor
        self._now = now
        self._cadence = cadence

    async def issue_due(self) -> None:
        """Sign every chain whose checkpoint is due, and anchor what is not anchored yet.

        A missing key or an unreachable anchor raises an alarm and stops nothing else; the next run
        catches up. What is found broken is never signed.
        """
        long_ago = await self._now() - self._cadence.interval
        await self.issue_for(await unsettled_tenants(self._database, self._cadence.events, long_ago))

    async def issue_for(self, tenants: Sequence[TenantId]) -> None:
        """The same for these tenants only. What goes wrong with one of them keeps no other waiting.

        Raises Unavailable when it is the database that does not answer, for any of them.
        """
        for tenant in tenants:
            async with self._isolated(tenant):
                await self._issue(tenant)
        await self._anchor_all(tenants)

    @asynccontextmanager
    async def _isolated(self, tenant: TenantId) -> AsyncIterator[None]:
        try:
            yield
        except SigningKeyMissing:
            _alarm("signing_key_missing", tenant)
        except Exception as error:  # noqa: BLE001
            # Whatever is odd about one chain, the others are signed, and the worker goes on.
            await self._database.check()
            _log.exception("checkpoint.failed", tenant=str(tenant))
            _alarm("checkpoint_failed", tenant, why=type(error).__name__)

    async def _issue(self, tenant: TenantId) -> None:
        now = await self._now()
        async with self._database.transaction(tenant) as session:
            last = await CheckpointRows(session, tenant).last()
            if last is not None and not _is_readable(last):
                # Somebody changed it.
                _alarm("chain_broken", tenant, why="checkpoint_unreadable")
                return
            head, _ = await AuditRows(session, tenant).stated()
            if self._is_due(last, head, now):
                await self._sign(session, tenant, last, head, now)

    def _is_due(self, last: StoredCheckpoint | None, head: Head, now: datetime) -> bool:
        if last is None:
            return head.seq > 0
        grown = head.seq - last.seq
        age = now - last.signed.checkpoint.issued_at
        is_time = age >= self._cadence.interval and grown > 0
        # A chain shorter than its last checkpoint is looked at too, to be found broken.
        return is_time or grown >= self._cadence.events or grown < 0

    async def _sign(
        self,
        session: AsyncSession,
        tenant: TenantId,
        last: StoredCheckpoint | None,
        head: Head,
        now: datetime,
    ) -> None:
        """Check what was added since the last checkpoint, and only that, then state where it ends."""
        key = await self._signing.current(session)
        keys = TrustedKeys(await self._signing.records(session))
        verification = Verification(tenant, keys, last.start if last else None)
        rows = AuditRows(session, tenant)
        while verification.head.seq < head.seq and not verification.fault:
            run = scan(tenant, await rows.blocks(verification.head.seq, head.seq, PAGE))
            if run is None:
                break
            verification.join(run)
        report = verification.finish(head)
        if report.fault:
            _alarm("chain_broken", tenant, seq=report.fault.seq, why=report.fault.reason.value)
            return
        tree = verification.tree
        checkpoint = Checkpoint(tenant, head.seq, head.hash, tree.root(), now)
        await CheckpointRows(session, tenant).add(sign(checkpoint, key), tree.stored)

    async def _anchor_all(self, tenants: Sequence[TenantId]) -> None:
        left = 0
        is_reachable = True
        for tenant in tenants:
            async with self._isolated(tenant), self._database.transaction(tenant) as session:
                rows = CheckpointRows(session, tenant)
                waiting = await rows.unanchored(ANCHOR_BATCH)
                if waiting and is_reachable and await rows.take_turn():
                    is_reachable = await self._hand_over(rows, tenant)
                    waiting = await rows.unanchored(ANCHOR_BATCH)
                left += len(waiting)
        AUDIT_UNANCHORED.set(left)

    async def _hand_over(self, rows: CheckpointRows, tenant: TenantId) -> bool:
        """Anchor a batch, in order; whether the anchor answered."""
        waiting = await rows.unanchored(ANCHOR_BATCH)
        try:
            await self._anchor.append([stored.signed for stored in waiting])
        except AnchorUnavailable:
            _alarm("anchor_unreachable", tenant)
            return False
        await rows.mark_anchored([stored.seq for stored in waiting])
        return True


def _is_readable(stored: StoredCheckpoint) -> bool:
    try:
        _ = stored.signed.checkpoint
    except ValueError:
        return False
    return True


def _alarm(reason: str, tenant: TenantId, **found: int | str) -> None:
    AUDIT_ALARMS.labels(reason).inc()
    _log.error("audit_alarm", reason=reason, tenant=str(tenant), **found)
