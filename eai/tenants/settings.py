"""The settings that a tenant decides for itself."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import LEVELS, level_at, rank_of
from eai.access.subject import Subject
from eai.audit.actions import AuditAction
from eai.audit.entries import Resource
from eai.audit.service import Audit
from eai.kernel.canonical import Canonical
from eai.kernel.errors import PreconditionFailed
from eai.tenants.dlp_rules import DlpAction, DlpEntity
from eai.tenants.models import Tenant
from eai.tenants.quarantine_threshold import QuarantineThreshold
from eai.tenants.repository import TenantRows
from eai.tenants.schemas import (
    CacheRules,
    DlpRulesPatch,
    QuarantineRules,
    RateLimits,
    SettingsOut,
    SettingsPatch,
)


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
        if changes := _changes(row, patch):
            row = await rows.change(**changes)
        await self._audit.record(
            session,
            subject,
            AuditAction.SETTINGS_UPDATE,
            resource=Resource("settings", str(subject.tenant)),
            facts=_facts(row),
        )
        return _shown(row)


def _changes(row: Tenant, patch: SettingsPatch) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if "requests_per_minute" in patch.rate_limits.model_fields_set:
        changes["rate_limit_per_minute"] = patch.rate_limits.requests_per_minute
    if "regions" in patch.model_fields_set:
        changes["regions"] = patch.regions
    if "retention_required_from" in patch.model_fields_set:
        changes["retention_required_from"] = patch.retention_required_from.rank
    if patch.dlp.model_fields_set:
        changes["dlp"] = _decided(row.dlp, patch.dlp)
    if "threshold" in patch.quarantine.model_fields_set:
        changes["quarantine_threshold"] = patch.quarantine.threshold
    if "max_classification" in patch.cache.model_fields_set:
        changes["cache_max_classification"] = rank_of(patch.cache.max_classification)
    return changes


def _decided(rules: Mapping[str, str], patch: DlpRulesPatch) -> dict[str, str]:
    """The tenant's own rules; what becomes null follows the defaults again."""
    named = patch.model_dump(mode="json", exclude_unset=True)
    return {entity: action for entity, action in {**rules, **named}.items() if action is not None}


def _facts(row: Tenant) -> dict[str, Canonical]:
    return {
        "requests_per_minute": row.rate_limit_per_minute,
        "regions": row.regions,
        "retention_required_from": LEVELS[row.retention_required_from],
        "dlp": row.dlp,
        "quarantine_threshold": row.quarantine_threshold,
        "cache_max_classification": level_at(row.cache_max_classification),
    }


def _shown(row: Tenant) -> SettingsOut:
    return SettingsOut(
        rate_limits=RateLimits(requests_per_minute=row.rate_limit_per_minute),
        regions=row.regions,
        retention_required_from=LEVELS[row.retention_required_from],
        dlp={DlpEntity(entity): DlpAction(action) for entity, action in row.dlp.items()},
        quarantine=QuarantineRules(threshold=QuarantineThreshold(row.quarantine_threshold)),
        cache=CacheRules(max_classification=level_at(row.cache_max_classification)),
        updated_at=row.updated_at,
        revision=row.revision,
    )
