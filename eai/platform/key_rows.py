"""Every query on tenants' wrapped keys."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession

from eai.kernel.ids import TenantId
from eai.platform.database import Database


class WrappedKey(NamedTuple):
    """A key as it is stored."""

    purpose: str
    epoch: int
    wrapped: bytes


class TenantKeyRows:
    """The keys of the bound tenant."""

    def __init__(self, session: AsyncSession, tenant: TenantId) -> None:
        self._session = session
        self._tenant = tenant

    async def newest(self, purpose: str) -> WrappedKey | None:
        """The key that seals for `purpose` from now on."""
        values = {"tenant": self._tenant, "purpose": purpose}
        row = (await self._session.execute(_NEWEST, values)).one_or_none()
        return WrappedKey(row.purpose, row.epoch, bytes(row.wrapped)) if row else None

    async def of_epoch(self, purpose: str, epoch: int) -> WrappedKey | None:
        """The key of one epoch, unless it was removed."""
        values = {"tenant": self._tenant, "purpose": purpose, "epoch": epoch}
        wrapped = await self._session.scalar(_OF_EPOCH, values)
        return None if wrapped is None else WrappedKey(purpose, epoch, bytes(wrapped))

    async def add(self, key: WrappedKey) -> None:
        """Store a key. Another process may have been first; then its key stays, and this one is forgotten."""
        await self._session.execute(_ADD, {"tenant": self._tenant, **key._asdict()})

    async def hold_newest(self) -> Sequence[WrappedKey]:
        """The newest key of each purpose; whoever else succeeds them waits for this transaction."""
        rows = (await self._session.execute(_HOLD, {"tenant": self._tenant})).all()
        newest = {row.purpose: WrappedKey(row.purpose, row.epoch, bytes(row.wrapped)) for row in rows}
        return list(newest.values())

    async def limit(self, kept_s: float) -> None:
        """Let every key that is there go in `kept_s` seconds, unless it was to go before."""
        await self._session.execute(_LIMIT, {"tenant": self._tenant, "kept_s": kept_s})

    async def remove_due(self) -> None:
        """Remove the keys whose time is over; nothing opens what they sealed."""
        await self._session.execute(_REMOVE_DUE, {"tenant": self._tenant})


async def tenants_with_due_keys(database: Database) -> list[TenantId]:
    """Tenants with keys whose time is over: a named cross-tenant step that tells ids and nothing else."""
    rows = await database.statement("SELECT eai.tenants_with_due_keys()", {}, is_repeatable=True)
    return [TenantId(tenant) for (tenant,) in rows]


_NEWEST = text("""
    SELECT purpose, epoch, wrapped FROM eai.tenant_keys
     WHERE tenant_id = :tenant AND purpose = :purpose ORDER BY epoch DESC LIMIT 1""")
_OF_EPOCH = text("""
    SELECT wrapped FROM eai.tenant_keys
     WHERE tenant_id = :tenant AND purpose = :purpose AND epoch = :epoch""")
_ADD = text("""
    INSERT INTO eai.tenant_keys (tenant_id, purpose, epoch, wrapped)
    VALUES (:tenant, :purpose, :epoch, :wrapped) ON CONFLICT DO NOTHING""")
_HOLD = text("""
    SELECT purpose, epoch, wrapped FROM eai.tenant_keys
     WHERE tenant_id = :tenant ORDER BY purpose, epoch FOR UPDATE""")
_LIMIT = text("""
    UPDATE eai.tenant_keys SET remove_at = now() + make_interval(secs => :kept_s)
     WHERE tenant_id = :tenant AND remove_at IS NULL""")
_REMOVE_DUE = text("DELETE FROM eai.tenant_keys WHERE tenant_id = :tenant AND remove_at <= now()")
