"""Joins checked runs into one chain and holds it against signed checkpoints. Pure, constant memory.

A chain alone shows that nothing inside it was changed; that its tail was not cut off and that it was
not rewritten whole is shown by checkpoints kept elsewhere, and only up to the last of them.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from eai.audit.chain import GENESIS, link
from eai.audit.checkpoint import SignedCheckpoint, TrustedKeys
from eai.audit.merkle import CompactRange
from eai.audit.scan import Fault, Reason, Run, Span, misplaced, went_back
from eai.audit.timestamps import read_timestamp
from eai.kernel.ids import TenantId


@dataclass(frozen=True, slots=True)
class Head:
    """Where a chain ends: its last seq and that entry's hash; seq 0 is the empty chain."""

    seq: int
    hash: bytes


EMPTY = Head(0, GENESIS)


@dataclass(frozen=True, slots=True)
class Start:
    """A checkpoint to resume from, with the tree's subtree hashes at that moment."""

    signed: SignedCheckpoint
    frontier: bytes


@dataclass(frozen=True, slots=True)
class Report:
    """What verification found.

    `events` entries were good, ending at `head`. `unanchored_since` is the instant from which entries
    rest on the chain alone: that of the last anchored checkpoint, or of the first entry when there is
    none; null when everything is anchored. `clock_back_at` is a remark, not a fault: the first entry
    that lies a minute or more before one that it follows. `keys_pinned` says whether the reader named
    the keys, or the records' own word was taken for them.
    """

    tenant: TenantId
    events: int
    head: Head
    fault: Fault | None
    checkpoints: int
    anchored_seq: int
    unanchored_since: datetime | None
    clock_back_at: int | None
    keys_pinned: bool

    @property
    def valid(self) -> bool:
        """Whether no fault was found."""
        return self.fault is None

    @property
    def first_bad_seq(self) -> int | None:
        """The entry of the first fault, or the first of the entries among which it lies."""
        return self.fault.seq if self.fault else None


class Verification:
    """One pass over the chain of one tenant, from its beginning or from a checkpoint."""

    def __init__(self, tenant: TenantId, keys: TrustedKeys, start: Start | None = None) -> None:
        self._tenant = tenant
        self._keys = keys
        self._head = EMPTY
        self._tree = CompactRange()
        self._pending: deque[tuple[SignedCheckpoint, bool]] = deque()
        self._first = 1
        self._checked_seq = 0
        self._checkpoints = 0
        self._anchored: SignedCheckpoint | None = None
        self._first_at: str | None = None
        self._latest: str | None = None
        self._clock_back_at: int | None = None
        self.fault: Fault | None = None
        if start:
            self._resume(start)

    @property
    def head(self) -> Head:
        """The last good entry so far."""
        return self._head

    @property
    def tree(self) -> CompactRange:
        """The tree over the good entries so far; a copy."""
        return self._tree.copy()

    def expect(self, checkpoints: Iterable[SignedCheckpoint], *, anchored: bool) -> None:
        """Hold the chain against `checkpoints`, in rising order, none of them for an entry already passed."""
        for signed in checkpoints:
            if self.fault:
                return
            self.fault = self._objection(signed)
            if not self.fault:
                self._pending.append((signed, anchored))
                self._settle()

    def join(self, run: Run | None) -> None:
        """Append the next run."""
        if self.fault or run is None:
            return
        expected = self._head.seq + 1
        if run.first_seq != expected:
            self.fault = misplaced(expected, run.first_seq)
            return
        if run.hashes and link(self._head.hash, expected, run.digest) != run.hashes[0]:
            self.fault = Fault(expected, Reason.HASH_MISMATCH)
            return
        if run.span:
            self._watch_clock(run.span)
        self._grow(run.hashes)
        self.fault = self.fault or run.fault

    def finish(self, stated: Head | None) -> Report:
        """The verdict, given the head that the records state, if they state one."""
        fault = self.fault or self._missing_tail(stated)
        return Report(
            tenant=self._tenant,
            events=max(0, self._last_good(fault) - self._first + 1),
            head=self._head,
            fault=fault,
            checkpoints=self._checkpoints,
            anchored_seq=self._anchored.checkpoint.seq if self._anchored else 0,
            unanchored_since=self._unanchored_since(),
            clock_back_at=self._clock_back_at,
            keys_pinned=self._keys.is_pinned,
        )

    def _resume(self, start: Start) -> None:
        self.fault = self._objection(start.signed)
        if self.fault:
            return
        checkpoint = start.signed.checkpoint
        try:
            tree = CompactRange.restore(checkpoint.seq, start.frontier)
        except ValueError:
            tree = CompactRange()
        if tree.root() != checkpoint.root:
            self.fault = Fault(1, Reason.ROOT_MISMATCH, checkpoint.seq)
            return
        self._tree = tree
        self._head = Head(checkpoint.seq, checkpoint.head)
        self._first, self._checked_seq = checkpoint.seq + 1, checkpoint.seq

    def _objection(self, signed: SignedCheckpoint) -> Fault | None:
        """Why a checkpoint cannot be held against this chain."""
        try:
            checkpoint = signed.checkpoint
        except ValueError:
            return Fault(max(self._head.seq, 1), Reason.SIGNATURE_INVALID)
        if not signed.is_genuine():
            return Fault(checkpoint.seq, Reason.SIGNATURE_INVALID)
        if signed.public_key not in self._keys:
            return Fault(checkpoint.seq, Reason.KEY_UNTRUSTED)
        if checkpoint.tenant != self._tenant:
            return Fault(checkpoint.seq, Reason.FOREIGN_TENANT)
        if checkpoint.seq < self._head.seq:
            return Fault(checkpoint.seq, Reason.CHECKPOINT_MISPLACED)
        return None

    def _grow(self, hashes: list[bytes]) -> None:
        """Add entries, stopping at each checkpoint that is due on the way."""
        begin = self._head.seq
        done = 0
        while done < len(hashes) and not self.fault:
            due = min((signed.checkpoint.seq for signed, _ in self._pending), default=begin + len(hashes))
            upto = min(due - begin, len(hashes))
            self._tree.extend(hashes[done:upto])
            self._head = Head(begin + upto, hashes[upto - 1])
            done = upto
            self._settle()

    def _settle(self) -> None:
        """Compare every pending checkpoint of the present head."""
        due = [item for item in self._pending if item[0].checkpoint.seq == self._head.seq]
        for signed, anchored in due:
            self._pending.remove((signed, anchored))
            checkpoint = signed.checkpoint
            if (checkpoint.head, checkpoint.root) != (self._head.hash, self._tree.root()):
                self.fault = Fault(self._checked_seq + 1, Reason.ROOT_MISMATCH, checkpoint.seq)
                return
            self._checkpoints += 1
            self._anchored = signed if anchored else self._anchored
        if due:
            self._checked_seq = self._head.seq

    def _watch_clock(self, span: Span) -> None:
        self._first_at = self._first_at or span.first
        if self._clock_back_at is None:
            crossed = self._latest is not None and went_back(self._latest, span.earliest)
            self._clock_back_at = span.earliest_seq if crossed else span.back_at
        self._latest = max(self._latest or span.latest, span.latest)

    def _last_good(self, fault: Fault | None) -> int:
        return min(self._head.seq, fault.seq - 1) if fault else self._head.seq

    def _missing_tail(self, stated: Head | None) -> Fault | None:
        promised = max((signed.checkpoint.seq for signed, _ in self._pending), default=0)
        promised = max(promised, stated.seq if stated else 0)
        if promised > self._head.seq:
            return Fault(self._head.seq + 1, Reason.TAIL_MISSING, promised)
        if stated and stated != self._head:
            return Fault(min(stated.seq + 1, self._head.seq), Reason.HEAD_MISMATCH)
        return None

    def _unanchored_since(self) -> datetime | None:
        if self._anchored is None:
            return read_timestamp(self._first_at) if self._first_at else None
        checkpoint = self._anchored.checkpoint
        return checkpoint.issued_at if checkpoint.seq < self._head.seq else None
