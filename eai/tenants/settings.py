"""The settings that a tenant decides for itself."""

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.subject import Subject
from eai.audit.actions import AuditAction
from eai.audit.entries import Resource
from eai.audit.service import Audit
from eai.kernel.errors import PreconditionFailed
from eai.tenants.models import Tenant
from eai.tenants.repository import TenantRows
from eai.tenants.schemas import RateLimits, SettingsOut, SettingsPatch


class TenantSettings:
    """Reads and changes the settings of the caller's own tenant."""

    def __init__(self, audit: Audit) -> None:
        self._audit = audit

    async def get(self, session: AsyncSession, subject: Subject) -> SettingsOut:
        """The settings as they hold now."""
        return _shown(await TenantRows(session, subject.tenant).get())

    async def update(
        self, session: AsyncSession, subject: Subject, patch: SettingsPatch, *, revision: int | None = None
    ) -> SettingsOut:
        """Change what `patch` names. Raises PreconditionFailed unless `revision` is the current one."""
        rows = TenantRows(session, subject.tenant)
        row = await rows.hold()
        if revision not in {None, row.revision}:
            raise PreconditionFailed
        limits = patch.rate_limits
        if "requests_per_minute" in limits.model_fields_set:
            row = await rows.change(rate_limit_per_minute=limits.requests_per_minute)
        await self._audit.record(
            session,
            subject,
            AuditAction.SETTINGS_UPDATE,
            resource=Resource("settings", str(subject.tenant)),
            facts={"requests_per_minute": row.rate_limit_per_minute},
        )
        return _shown(row)


def _shown(row: Tenant) -> SettingsOut:
    return SettingsOut(
        rate_limits=RateLimits(requests_per_minute=row.rate_limit_per_minute),
        updated_at=row.updated_at,
        revision=row.revision,
    )
