"""Switches that stop calls of models at once."""

from typing import Annotated

from fastapi import Depends

from eai.access.scopes import Scope
from eai.access.subject import Subject
from eai.api.dependencies import Services, Transaction
from eai.api.etags import ETag
from eai.api.governed_route import GovernedRouter
from eai.api.requirement import require
from eai.gateway.registry_schemas import KillSwitchOut, KillSwitchPut

router = GovernedRouter(tags=["models"])

Switcher = Annotated[Subject, Depends(require(Scope.MODELS_ADMIN, Scope.PLATFORM_ADMIN, any_of=True))]


@router.get("/kill-switches/{scope}")
async def get_kill_switch(
    caller: Switcher, services: Services, session: Transaction, tags: ETag, scope: str
) -> KillSwitchOut:
    """The switch of `tenant` or `model:<name>`; for operators of `instance` or `provider:<endpoint name>`."""
    found = await services.kill_switches.get(session, caller, scope)
    return tags.show(found, found.revision)


@router.put("/kill-switches/{scope}")
async def set_kill_switch(
    caller: Switcher, services: Services, session: Transaction, tags: ETag, scope: str, wanted: KillSwitchPut
) -> KillSwitchOut:
    """Stop every call in a scope, or let them go on.

    Once this is answered no further call begins; `in_flight` lists those that began before, for operators
    of every tenant.
    """
    flipped = await services.kill_switches.set(session, caller, scope, wanted, revision=tags.expected)
    return tags.show(flipped, flipped.revision)
