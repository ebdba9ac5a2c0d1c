"""Kill switches, and the calls that were under way when one was flipped."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import delete, func, select, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.ext.asyncio import AsyncSession

from eai.gateway.models import KillSwitchRow, PlatformKillSwitchRow
from eai.kernel.ids import PLATFORM_TENANT, TenantId

_FRESH = {"populate_existing": True}
_EVERYBODY = UUID(int=0)
"""Whose lock a switch of the whole platform takes."""


class SwitchRows:
    """The engaged kill switches of a tenant; those of the whole platform where it is the platform's own."""

    def __init__(self, session: AsyncSession, tenant: TenantId) -> None:
        self._session = session
        self._tenant = tenant
        self._is_platform = tenant == PLATFORM_TENANT

    async def lock(self) -> None:
        """Wait for every reservation that is about to commit; the next ones wait for this transaction."""
        owner = _EVERYBODY if self._is_platform else self._tenant
        await self._session.execute(_LOCK, {"owner": owner})

    async def find(self, scope: str) -> KillSwitchRow | PlatformKillSwitchRow | None:
        """The switch, if it is engaged."""
        if self._is_platform:
            platform = select(PlatformKillSwitchRow).where(PlatformKillSwitchRow.scope == scope)
            return await self._session.scalar(platform, execution_options=_FRESH)
        own = select(KillSwitchRow).where(
            KillSwitchRow.tenant_id == self._tenant, KillSwitchRow.scope == scope
        )
        return await self._session.scalar(own, execution_options=_FRESH)

    async def engaged(self) -> Sequence[KillSwitchRow | PlatformKillSwitchRow]:
        """Every switch that is engaged, by scope."""
        if self._is_platform:
            platform = select(PlatformKillSwitchRow).order_by(PlatformKillSwitchRow.scope)
            return (await self._session.scalars(platform)).all()
        own = select(KillSwitchRow).where(KillSwitchRow.tenant_id == self._tenant)
        return (await self._session.scalars(own.order_by(KillSwitchRow.scope))).all()

    async def engage(self, scope: str, *, reason: str, by: UUID) -> None:
        """Stop calls; one that is stopped already gets the new reason, and keeps its time."""
        values = {"scope": scope, "reason": reason, "engaged_by": by}
        changed = {"reason": reason, "engaged_by": by, "updated_at": func.clock_timestamp()}
        if self._is_platform:
            platform = insert(PlatformKillSwitchRow).values(**values)
            key = [PlatformKillSwitchRow.scope]
            await self._session.execute(platform.on_conflict_do_update(index_elements=key, set_=changed))
            return
        own = insert(KillSwitchRow).values(tenant_id=self._tenant, **values)
        keys = [KillSwitchRow.tenant_id, KillSwitchRow.scope]
        await self._session.execute(own.on_conflict_do_update(index_elements=keys, set_=changed))

    async def release(self, scope: str) -> None:
        """Let calls go on."""
        if self._is_platform:
            await self._session.execute(
                delete(PlatformKillSwitchRow).where(PlatformKillSwitchRow.scope == scope)
            )
            return
        own = delete(KillSwitchRow).where(
            KillSwitchRow.tenant_id == self._tenant, KillSwitchRow.scope == scope
        )
        await self._session.execute(own)

    async def in_flight(self, *, model: str | None = None, endpoint: str | None = None) -> Sequence[Any]:
        """Id, model and start of each call that is held now: of one model, to one endpoint, or all.

        The platform's own tenant sees every tenant's, through a named step that tells nothing else.
        """
        if self._is_platform:
            return (await self._session.execute(_IN_FLIGHT_ANYWHERE, {"endpoint": endpoint})).all()
        parameters = {"tenant": self._tenant, "model": model}
        return (await self._session.execute(_IN_FLIGHT, parameters)).all()


_LOCK = text("SELECT pg_advisory_xact_lock(eai.kill_switch_lock(:owner))")
_IN_FLIGHT = text("""
    SELECT r.id, r.model, r.created_at AS since FROM eai.model_reservations r
     WHERE r.tenant_id = :tenant AND r.state = 'held'
       AND (CAST(:model AS text) IS NULL OR r.model = :model)
     ORDER BY r.created_at, r.id""")
_IN_FLIGHT_ANYWHERE = text("SELECT id, model, since FROM eai.calls_in_flight(:endpoint)")
