"""Every statement on stored checkpoints; they come in and are marked through functions of `eai_audit`."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Select, select, text
from sqlalchemy.ext.asyncio import AsyncSession

from eai.audit.checkpoint import SignedCheckpoint, key_id
from eai.audit.models import AuditCheckpoint
from eai.audit.verification import Start
from eai.kernel.ids import TenantId


@dataclass(frozen=True, slots=True)
class StoredCheckpoint:
    """A checkpoint with what is needed to go on from it, and when the anchor took it."""

    seq: int
    start: Start
    anchored_at: datetime | None

    @property
    def signed(self) -> SignedCheckpoint:
        """The statement itself."""
        return self.start.signed


class CheckpointRows:
    """The checkpoints of the tenant that `session` is bound to."""

    def __init__(self, session: AsyncSession, tenant: TenantId) -> None:
        self._session = session
        self._tenant = tenant

    async def last(self, upto_seq: int | None = None) -> StoredCheckpoint | None:
        """The newest checkpoint, or the newest of those up to a seq."""
        limit = AuditCheckpoint.seq <= upto_seq if upto_seq is not None else None
        statement = self._mine(limit).order_by(AuditCheckpoint.seq.desc()).limit(1)
        row = (await self._session.scalars(statement)).one_or_none()
        return _stored(row) if row else None

    async def between(self, after_seq: int, upto_seq: int | None, limit: int) -> list[StoredCheckpoint]:
        """Up to `limit` checkpoints after one seq and up to another, in order."""
        upto = AuditCheckpoint.seq <= upto_seq if upto_seq is not None else None
        statement = self._mine(AuditCheckpoint.seq > after_seq, upto)
        rows = await self._session.scalars(statement.order_by(AuditCheckpoint.seq).limit(limit))
        return [_stored(row) for row in rows]

    async def unanchored(self, limit: int) -> list[StoredCheckpoint]:
        """Checkpoints that the anchor has not taken yet, oldest first."""
        statement = self._mine(AuditCheckpoint.anchored_at.is_(None))
        rows = await self._session.scalars(statement.order_by(AuditCheckpoint.seq).limit(limit))
        return [_stored(row) for row in rows]

    async def add(self, signed: SignedCheckpoint, frontier: bytes) -> bool:
        """Store a checkpoint; false when there was one of this seq already."""
        checkpoint = signed.checkpoint
        parameters = {
            "seq": checkpoint.seq,
            "root": checkpoint.root,
            "frontier": frontier,
            "issued_at": checkpoint.issued_at,
            "key_id": key_id(signed.public_key),
            "public_key": signed.public_key,
            "body": signed.body,
            "signature": signed.signature,
        }
        return bool((await self._session.execute(_ADD, parameters)).scalar_one())

    async def mark_anchored(self, seqs: Sequence[int]) -> None:
        """Note that the anchor took these."""
        await self._session.execute(_ANCHORED, {"seqs": list(seqs)})

    async def take_turn(self) -> bool:
        """Whether this transaction, and no other until it ends, may anchor for this tenant."""
        return bool((await self._session.execute(_TURN, {"tenant": str(self._tenant)})).scalar_one())

    def _mine(self, *conditions: ColumnElement[bool] | None) -> Select[AuditCheckpoint]:
        mine = select(AuditCheckpoint).where(AuditCheckpoint.tenant_id == self._tenant)
        return mine.where(*(condition for condition in conditions if condition is not None))


def _stored(row: AuditCheckpoint) -> StoredCheckpoint:
    signed = SignedCheckpoint(bytes(row.body), bytes(row.signature), bytes(row.public_key))
    return StoredCheckpoint(row.seq, Start(signed, bytes(row.frontier)), row.anchored_at)


_ADD = text("""
    SELECT eai.audit_checkpoint(
        :seq, :root, :frontier, :issued_at, :key_id, :public_key, :body, :signature)""")
_ANCHORED = text("SELECT eai.audit_anchored(:seqs)")
_TURN = text("""
    SELECT pg_try_advisory_xact_lock(
        hashtextextended('eai.audit_checkpoints', 0) # hashtextextended(:tenant, 0))""")
