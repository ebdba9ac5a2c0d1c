from collections.abc import Awaitable, Callable

import pytest

from eai.access.classification import Classification
from eai.access.scopes import Role, Scope
from eai.kernel.errors import PreconditionFailed
from eai.kernel.ids import TenantId
from eai.tenants.schemas import RateLimits, SettingsOut, SettingsPatch
from tests.factories.identity import Identity, Person

Actions = Callable[[TenantId], Awaitable[list[str]]]


async def _patch(identity: Identity, by: Person, patch: str, revision: int | None = None) -> SettingsOut:
    async with identity.database.transaction(by.subject.tenant) as session:
        return await identity.settings.update(
            session, by.subject, SettingsPatch.model_validate_json(patch), revision=revision
        )


async def test_there_is_no_rate_limit_until_one_is_set(
    identity: Identity, admin: Person, actions: Actions
) -> None:
    async with identity.database.transaction(admin.subject.tenant) as session:
        assert (await identity.settings.get(session, admin.subject)).rate_limits == RateLimits()
    changed = await _patch(identity, admin, '{"rate_limits": {"requests_per_minute": 600}}')
    assert changed.rate_limits.requests_per_minute == 600
    assert (await actions(admin.subject.tenant))[-1] == "settings.update"
    stranger = await identity.administrator()
    async with identity.database.transaction(stranger.subject.tenant) as session:
        theirs = await identity.settings.get(session, stranger.subject)
    assert theirs.rate_limits.requests_per_minute is None


async def test_what_a_patch_does_not_name_stays_and_null_lifts_the_limit(
    identity: Identity, admin: Person
) -> None:
    await _patch(identity, admin, '{"rate_limits": {"requests_per_minute": 600}}')
    for patch in ("{}", '{"rate_limits": {}}'):
        assert (await _patch(identity, admin, patch)).rate_limits.requests_per_minute == 600
    lifted = await _patch(identity, admin, '{"rate_limits": {"requests_per_minute": null}}')
    assert lifted.rate_limits.requests_per_minute is None


async def test_an_outdated_revision_changes_nothing(identity: Identity, admin: Person) -> None:
    changed = await _patch(identity, admin, '{"rate_limits": {"requests_per_minute": 5}}', revision=1)
    with pytest.raises(PreconditionFailed):
        await _patch(identity, admin, '{"rate_limits": {"requests_per_minute": 6}}', revision=1)
    assert changed.revision == 2


async def test_a_credential_is_told_what_it_amounts_to(identity: Identity, admin: Person) -> None:
    bea = await identity.person(admin, Role.DEVELOPER, kind="agent", clearance="confidential")
    group = await identity.group(admin, bea)
    caller = await identity.signed_in(bea.api_key)
    async with identity.database.transaction(caller.subject.tenant) as session:
        me = await identity.introspection.describe(session, caller.subject)
    assert me.model_dump(mode="json") == {
        "tenant": {
            "id": str(admin.subject.tenant),
            "slug": f"acme-{admin.subject.tenant}",
            "name": "Acme",
        },
        "principal": {
            "id": str(caller.subject.principal),
            "kind": "agent",
            "name": "Bea",
            "roles": ["developer"],
        },
        "groups": [{"id": str(group), "name": f"group {group}"}],
        "scopes": ["gateway:invoke", "kb:read", "rag:query"],
        "clearance": "confidential",
        "api_key_id": str(caller.subject.api_key),
    }


async def test_a_narrow_key_is_told_its_own_limits(identity: Identity, admin: Person) -> None:
    narrow = await identity.narrowed(admin, scopes=(Scope.AUDIT_READ,), clearance=Classification.PUBLIC)
    async with identity.database.transaction(narrow.subject.tenant) as session:
        me = await identity.introspection.describe(session, narrow.subject)
    assert (me.scopes, me.clearance) == ((Scope.AUDIT_READ,), Classification.PUBLIC)
