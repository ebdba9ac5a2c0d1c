"""What a tenant decides for itself."""

from typing import Annotated

from fastapi import Depends

from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.api.dependencies import Services, Transaction
from eai.api.etags import ETag
from eai.api.governed_route import GovernedRouter
from eai.api.requirement import require
from eai.tenants.schemas import SettingsOut, SettingsPatch

router = GovernedRouter(tags=["settings"])

Officer = Annotated[Subject, Depends(require(Scope.POLICY_ADMIN))]


@router.get("/settings")
async def get_settings(caller: Officer, services: Services, session: Transaction, tags: ETag) -> SettingsOut:
    """The tenant's settings."""
    found = await services.tenant_settings.get(session, caller)
    return tags.show(found, found.revision)


@router.patch("/settings")
async def update_settings(
    caller: Officer, services: Services, session: Transaction, tags: ETag, patch: SettingsPatch
) -> SettingsOut:
    """Change settings; what is not named stays. A rate limit binds within ten seconds, null lifts it.

    The others bind with the next call of a model: `regions`, where it may run; `retention_required_from`,
    the level from which its provider may retain nothing; `dlp`, what follows from what is found in texts.
    `quarantine` binds with the next document that is examined: how grave a finding holds it.
    """
    changed = await services.tenant_settings.update(session, caller, patch, revision=tags.expected)
    return tags.show(changed, changed.revision)
