"""Kill switches: stop every call of a model, of a tenant, to a provider, or at all."""

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.audit.actions import AuditAction
from eai.audit.entries import Resource
from eai.audit.service import Audit
from eai.gateway.errors import ModelNotFound
from eai.gateway.models import KillSwitchRow, PlatformKillSwitchRow
from eai.gateway.registration import ModelRegistry
from eai.gateway.registry import Switch
from eai.gateway.registry_schemas import CallInFlight, KillSwitchOut, KillSwitchPut
from eai.gateway.repository import EndpointRows
from eai.gateway.switch_rows import SwitchRows
from eai.identity.errors import ScopeMissing
from eai.kernel.errors import NotFound, PreconditionFailed

_MODEL, _PROVIDER = Switch.model(""), Switch.provider("")
_RELEASED = 1
"""The revision of a switch that is not engaged."""


class KillSwitches:
    """A tenant has its own and its models'; the platform has the instance's and the providers'."""

    def __init__(self, audit: Audit, registry: ModelRegistry) -> None:
        self._audit = audit
        self._registry = registry

    async def get(self, session: AsyncSession, subject: Subject, scope: str) -> KillSwitchOut:
        """The switch of `scope`, and what is under way in it.

        Raises NotFound for what is no scope here, and ScopeMissing for one that others decide.
        """
        await self._require(session, subject, scope)
        return await _shown(SwitchRows(session, subject.tenant), scope)

    async def set(
        self,
        session: AsyncSession,
        subject: Subject,
        scope: str,
        wanted: KillSwitchPut,
        *,
        revision: int | None = None,
    ) -> KillSwitchOut:
        """Flip the switch. Once this commits, no call begins that it stops; `in_flight` began before.

        Raises what `get` raises, and PreconditionFailed.
        """
        await self._require(session, subject, scope)
        rows = SwitchRows(session, subject.tenant)
        await rows.lock()
        if revision not in {None, _revision(await rows.find(scope))}:
            raise PreconditionFailed
        if wanted.engaged:
            await rows.engage(scope, reason=wanted.reason, by=subject.principal)
        else:
            await rows.release(scope)
        shown = await _shown(rows, scope)
        await self._audit.record(
            session,
            subject,
            AuditAction.MODEL_KILL_SWITCH_SET,
            resource=Resource("kill_switch", scope),
            facts={"engaged": wanted.engaged, "in_flight": len(shown.in_flight)},
            private={"reason": wanted.reason},
        )
        return shown

    async def set_of_model(
        self,
        session: AsyncSession,
        subject: Subject,
        model: str,
        wanted: KillSwitchPut,
        *,
        revision: int | None = None,
    ) -> KillSwitchOut:
        """Flip the switch of one model. Raises ModelNotFound."""
        if not await self._registry.exists(session, subject, model):
            raise ModelNotFound(model=model)
        return await self.set(session, subject, Switch.model(model), wanted, revision=revision)

    async def _require(self, session: AsyncSession, subject: Subject, scope: str) -> None:
        """The caller's right before all else, so that nobody learns which providers there are."""
        if scope == Switch.INSTANCE or scope.startswith(_PROVIDER):
            if not subject.is_platform:
                raise ScopeMissing([Scope.PLATFORM_ADMIN])
            is_there = scope == Switch.INSTANCE or await _has_provider(session, scope)
        elif scope == Switch.TENANT or scope.startswith(_MODEL):
            if subject.is_platform:
                raise ScopeMissing([Scope.MODELS_ADMIN])
            model = scope.removeprefix(_MODEL)
            is_there = scope == Switch.TENANT or await self._registry.exists(session, subject, model)
        else:
            is_there = False
        if not is_there:
            raise NotFound


async def _has_provider(session: AsyncSession, scope: str) -> bool:
    return await EndpointRows(session).named(scope.removeprefix(_PROVIDER)) is not None


async def _shown(rows: SwitchRows, scope: str) -> KillSwitchOut:
    row = await rows.find(scope)
    in_flight = await rows.in_flight(model=_after(_MODEL, scope), endpoint=_after(_PROVIDER, scope))
    return KillSwitchOut(
        scope=scope,
        engaged=row is not None,
        reason=row.reason if row else None,
        engaged_by=row.engaged_by if row else None,
        engaged_at=row.engaged_at if row else None,
        in_flight=tuple(CallInFlight(id=call.id, model=call.model, since=call.since) for call in in_flight),
        revision=_revision(row),
    )


def _after(prefix: str, scope: str) -> str | None:
    return scope.removeprefix(prefix) if scope.startswith(prefix) else None


def _revision(row: KillSwitchRow | PlatformKillSwitchRow | None) -> int:
    return _RELEASED if row is None else int(row.updated_at.timestamp() * 1_000_000)
