"""What auditors read: entries with their details, checkpoints, the verdict on the chain, the export."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from sqlalchemy.ext.asyncio import AsyncSession

from eai.audit.checkpoint import SignedCheckpoint, TrustedKeys, key_id
from eai.audit.checkpoint_rows import CheckpointRows, StoredCheckpoint
from eai.audit.details import DetailKey, Details
from eai.audit.export import checkpoint_line, event_lines, head_line, header_line, key_line, start_line
from eai.audit.models import AuditEvent
from eai.audit.ports import Anchor, AnchorUnavailable
from eai.audit.repository import AuditRows, SealedDetails
from eai.audit.scan import BLOCK, Block, scan
from eai.audit.schemas import (
    CheckpointOut,
    DetailsState,
    EventOut,
    HeadOut,
    VerificationOut,
)
from eai.audit.signing import Signing
from eai.audit.verification import Report, Verification
from eai.kernel.clock import Clock
from eai.kernel.ids import TenantId
from eai.platform.database import Database
from eai.platform.keys import SealBroken

PAGE = 32 * BLOCK

_NOTHING: dict[str, Any] = {
    "actor": None,
    "resource": None,
    "request_id": None,
    "facts": {},
    "details_commitment": None,
}


class AuditTrail:
    """The audit of the tenant that a session is bound to, for reading."""

    def __init__(self, details: Details, signing: Signing, anchor: Anchor, clock: Clock) -> None:
        self._details = details
        self._signing = signing
        self._anchor = anchor
        self._clock = clock

    async def events(
        self, session: AsyncSession, tenant: TenantId, *, after_seq: int, action: str | None, limit: int
    ) -> list[EventOut]:
        """Up to `limit` entries after `after_seq`, with their private values where they can be read."""
        rows = AuditRows(session, tenant)
        events = await rows.events(after_seq, action, limit)
        stored = await rows.details([event.seq for event in events])
        keys = await self._details.keys(session, tenant, {each.subject for each in stored})
        sealed = {d.seq: SealedDetails(d.subject, d.key_id, bytes(d.sealed)) for d in stored}
        key = {d.seq: keys.get(d.subject) for d in stored}
        return [self._event(tenant, e, sealed.get(e.seq), key.get(e.seq)) for e in events]

    async def checkpoints(
        self, session: AsyncSession, tenant: TenantId, *, after_seq: int, limit: int
    ) -> list[CheckpointOut]:
        """Up to `limit` checkpoints of entries after `after_seq`."""
        stored = await CheckpointRows(session, tenant).between(after_seq, None, limit)
        return [_checkpoint(each) for each in stored]

    async def verify(self, database: Database, tenant: TenantId) -> VerificationOut:
        """Check the whole chain, page by page, against its checkpoints and those the anchor holds.

        Each page is read in a transaction of its own; none is open while the anchor is asked.
        """
        # In this order: whatever was anchored or signed before the head is read must lie within it.
        anchored = await _Anchored.open(self._anchor, tenant)
        async with database.transaction(tenant) as session:
            newest = await CheckpointRows(session, tenant).last()
            head, last_seq = await AuditRows(session, tenant).stated()
            verification = Verification(tenant, TrustedKeys(await self._signing.records(session)))
        while page := await _page(database, tenant, verification.head.seq, last_seq):
            await anchored.hand_over(verification, page.upto)
            for stored in page.checkpoints:
                claims = not anchored.is_reachable and stored.anchored_at is not None
                verification.expect([stored.signed], anchored=claims)
            verification.join(await asyncio.to_thread(scan, tenant, page.blocks))
            if verification.fault:
                break
        await anchored.hand_over(verification, anchored.last_seq)
        if newest and newest.seq > verification.head.seq:
            verification.expect([newest.signed], anchored=False)
        return _verdict(verification.finish(head), is_reachable=anchored.is_reachable)

    async def export(
        self, database: Database, tenant: TenantId, *, after_seq: int = 0
    ) -> AsyncIterator[bytes]:
        """The chain in the form that `eai audit verify` reads, in pieces.

        With `after_seq` it begins after the last checkpoint up to there, which then comes first. Each
        piece is read in a transaction of its own, and none is open while a slow reader takes it.
        """
        async with database.transaction(tenant) as session:
            head, last_seq = await AuditRows(session, tenant).stated()
            keys = await self._signing.records(session)
            start = await CheckpointRows(session, tenant).last(after_seq) if after_seq else None
        yield header_line(tenant, self._clock.now())
        yield b"".join(key_line(key) for key in keys)
        if start:
            yield start_line(start.start)
        done = start.seq if start else 0
        while page := await _page(database, tenant, done, last_seq):
            done = page.upto
            signed = {each.seq: each.signed for each in page.checkpoints}
            yield b"".join(line for block in page.blocks for line in _lines(block, signed))
        yield head_line(head)

    def _event(
        self,
        tenant: TenantId,
        event: AuditEvent,
        sealed: SealedDetails | None,
        key: DetailKey | None,
    ) -> EventOut:
        said = _said(event.body)
        state, details = self._opened(tenant, said["details_commitment"], sealed, key)
        return EventOut(
            seq=event.seq,
            hash=event.hash.hex(),
            occurred_at=event.occurred_at,
            action=event.action,
            decision="deny" if event.decision == "deny" else "allow",
            actor=said["actor"],
            resource=said["resource"],
            request_id=said["request_id"],
            trace_id=said.get("trace_id"),
            facts=said["facts"],
            details_state=state,
            details=details,
        )

    def _opened(
        self, tenant: TenantId, commitment: str | None, sealed: SealedDetails | None, key: DetailKey | None
    ) -> tuple[DetailsState, dict[str, Any] | None]:
        if commitment is None:
            return "none", None
        if sealed is None:
            return "altered", None
        try:
            private = self._details.open(tenant, key, sealed)
        except SealBroken:
            return "altered", None
        if private is None:
            return "erased", None
        if private.commitment.hex() != commitment:
            return "altered", None
        return "readable", orjson.loads(private.text)


@dataclass(frozen=True, slots=True)
class _Page:
    """Entries that follow each other, and the checkpoints that cover one of them."""

    blocks: Sequence[Block]
    checkpoints: Sequence[StoredCheckpoint]

    @property
    def upto(self) -> int:
        return self.blocks[-1].seqs[-1]


class _Anchored:
    """Hands a verification the anchored checkpoints whose entries are about to pass.

    Only up to what the anchor held at first: later ones may lie beyond the head that is verified.
    """

    def __init__(self, history: AsyncIterator[SignedCheckpoint], last_seq: int, is_reachable: bool) -> None:
        self._history = history
        self._next: SignedCheckpoint | None = None
        self.last_seq = last_seq
        self.is_reachable = is_reachable

    @classmethod
    async def open(cls, anchor: Anchor, tenant: TenantId) -> "_Anchored":
        try:
            latest = await anchor.latest(tenant)
        except AnchorUnavailable:
            return cls(anchor.history(tenant), 0, is_reachable=False)
        return cls(anchor.history(tenant), latest.seq if latest else 0, is_reachable=True)

    async def hand_over(self, verification: Verification, upto_seq: int) -> None:
        while self.is_reachable and (signed := await self._peek()):
            if signed.seq > min(upto_seq, self.last_seq):
                return
            verification.expect([signed], anchored=True)
            self._next = None

    async def _peek(self) -> SignedCheckpoint | None:
        try:
            self._next = self._next or await anext(self._history, None)
        except AnchorUnavailable:
            self.is_reachable = False
        return self._next


def _said(body: bytes) -> dict[str, Any]:
    """What an entry says; bytes that somebody damaged say nothing, and verification names them."""
    try:
        said: dict[str, Any] = {**_NOTHING, **orjson.loads(body)}
    except (ValueError, TypeError):
        return {**_NOTHING, "details_commitment": ""}
    return said


async def _page(database: Database, tenant: TenantId, after_seq: int, last_seq: int) -> _Page | None:
    """The next entries up to `last_seq`; None when there are no more."""
    async with database.transaction(tenant) as session:
        blocks = await AuditRows(session, tenant).blocks(after_seq, last_seq, PAGE)
        if not blocks:
            return None
        upto = blocks[-1].seqs[-1]
        return _Page(blocks, await CheckpointRows(session, tenant).between(after_seq, upto, PAGE))


def _lines(block: Block, signed: Mapping[int, SignedCheckpoint]) -> Iterator[bytes]:
    """The entries of a block, each checkpoint right after the entry it covers."""
    begin = 0
    for end, seq in enumerate(block.seqs, 1):
        if seq in signed:
            yield event_lines(block.part(begin, end))
            yield checkpoint_line(signed[seq])
            begin = end
    yield event_lines(block.part(begin))


def _verdict(report: Report, *, is_reachable: bool) -> VerificationOut:
    return VerificationOut(
        valid=report.valid,
        events=report.events,
        head=HeadOut(seq=report.head.seq, hash=report.head.hash.hex()),
        first_bad_seq=report.first_bad_seq,
        bad_until=report.fault.until if report.fault else None,
        reason=report.fault.reason if report.fault else None,
        checkpoints=report.checkpoints,
        anchored_seq=report.anchored_seq,
        anchor_reachable=is_reachable,
        unanchored_since=report.unanchored_since,
        clock_back_at=report.clock_back_at,
    )


def _checkpoint(stored: StoredCheckpoint) -> CheckpointOut:
    signed = stored.signed
    checkpoint = signed.checkpoint
    return CheckpointOut(
        seq=checkpoint.seq,
        head=checkpoint.head.hex(),
        root=checkpoint.root.hex(),
        issued_at=checkpoint.issued_at,
        key_id=key_id(signed.public_key),
        public_key=signed.public_key.hex(),
        body=signed.body.decode(),
        signature=signed.signature.hex(),
        anchored_at=stored.anchored_at,
    )
