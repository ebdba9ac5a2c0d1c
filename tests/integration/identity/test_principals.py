import asyncio
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import pytest
from structlog.testing import capture_logs

from eai.access.classification import Classification
from eai.access.scopes import Role, Scope
from eai.access.subject import PrincipalKind
from eai.identity.errors import ClearanceExceeded, PrincipalUnknown, ScopeExceedsOwn, WouldLockOut
from eai.identity.schemas import NewPrincipal, PrincipalOut, PrincipalPatch
from eai.kernel.errors import EaiError, NotFound, PreconditionFailed
from eai.kernel.ids import PrincipalId, TenantId
from eai.kernel.paging import PageRequest
from tests.factories.identity import Identity, Person

Actions = Callable[[TenantId], Awaitable[list[str]]]
Run = Callable[..., Awaitable[list[Any]]]
MEMBER = NewPrincipal(kind=PrincipalKind.USER, name="Bea", roles=(Role.MEMBER,))


async def _create(identity: Identity, by: Person, **fields: Any) -> PrincipalOut:
    new = NewPrincipal(**{"kind": "user", "name": "Bea", **fields})
    async with identity.database.transaction(by.subject.tenant) as session:
        return await identity.principals.create(session, by.subject, PrincipalId(uuid4()), new)


async def _update(identity: Identity, by: Person, principal: Any, **fields: Any) -> PrincipalOut:
    async with identity.database.transaction(by.subject.tenant) as session:
        return await identity.principals.update(
            session, by.subject, PrincipalId(principal), PrincipalPatch(**fields)
        )


async def _delete(identity: Identity, by: Person, principal: Any) -> None:
    async with identity.database.transaction(by.subject.tenant) as session:
        await identity.principals.delete(session, by.subject, PrincipalId(principal))


async def test_a_principal_starts_with_the_least(identity: Identity, admin: Person, actions: Actions) -> None:
    made = await _create(identity, admin, kind="service", name="Sync e\u0301")
    assert made.kind is PrincipalKind.SERVICE
    assert made.name == "Sync é"
    assert made.clearance is Classification.INTERNAL
    assert (made.roles, made.groups, made.suspended, made.is_bootstrap) == ((), (), False, False)
    assert (await actions(admin.subject.tenant))[-1] == "principal.create"
    async with identity.database.transaction(admin.subject.tenant) as session:
        assert await identity.principals.get(session, admin.subject, PrincipalId(made.id)) == made


async def test_a_repeated_creation_has_one_effect(
    identity: Identity, admin: Person, actions: Actions
) -> None:
    principal = PrincipalId(uuid4())
    made = []
    for _ in range(2):
        async with identity.database.transaction(admin.subject.tenant) as session:
            made.append(await identity.principals.create(session, admin.subject, principal, MEMBER))
    assert made[0] == made[1]
    assert (await actions(admin.subject.tenant)).count("principal.create") == 1


async def test_an_id_that_somebody_else_used_is_not_told(identity: Identity, admin: Person) -> None:
    deputy = await identity.person(admin, Role.TENANT_ADMIN)
    made = await _create(identity, admin)
    with pytest.raises(NotFound):
        async with identity.database.transaction(admin.subject.tenant) as session:
            await identity.principals.create(
                session,
                deputy.subject,
                PrincipalId(made.id),
                NewPrincipal(kind=PrincipalKind.USER, name="Bea"),
            )


async def test_nobody_grants_more_than_they_hold(identity: Identity, admin: Person) -> None:
    deputy = await identity.person(admin, Role.TENANT_ADMIN, clearance=Classification.CONFIDENTIAL)
    with pytest.raises(ScopeExceedsOwn):
        await _create(identity, deputy, roles=(Role.AUDITOR,))
    with pytest.raises(ClearanceExceeded):
        await _create(identity, deputy, clearance=Classification.RESTRICTED)
    with pytest.raises(ScopeExceedsOwn):
        await _create(identity, admin, roles=(Role.PLATFORM_OPERATOR,))
    made = await _create(identity, deputy, roles=(Role.INGESTOR,), clearance=Classification.CONFIDENTIAL)
    with pytest.raises(ScopeExceedsOwn):
        await _update(identity, deputy, made.id, roles=(Role.INGESTOR, Role.SECURITY_OFFICER))
    with pytest.raises(ClearanceExceeded):
        await _update(identity, deputy, made.id, clearance=Classification.SECRET)
    assert (await _update(identity, deputy, made.id, name="Bea B.")).roles == (Role.INGESTOR,)


async def test_nobody_raises_themselves(identity: Identity, admin: Person) -> None:
    deputy = await identity.person(admin, Role.TENANT_ADMIN)
    with pytest.raises(ScopeExceedsOwn):
        await _update(identity, deputy, deputy.subject.principal, roles=(Role.TENANT_ADMIN, Role.AUDITOR))
    with pytest.raises(ClearanceExceeded):
        await _update(identity, deputy, deputy.subject.principal, clearance=Classification.SECRET)


async def test_a_narrowed_key_grants_only_what_the_key_opens(identity: Identity, admin: Person) -> None:
    narrow = await identity.narrowed(
        admin, scopes=(Scope.TENANT_ADMIN, Scope.KB_READ, Scope.RAG_QUERY), clearance=Classification.PUBLIC
    )
    with pytest.raises(ScopeExceedsOwn):
        await _create(identity, narrow, roles=(Role.DEVELOPER,), clearance=Classification.PUBLIC)
    with pytest.raises(ClearanceExceeded):
        await _create(identity, narrow, roles=(Role.MEMBER,))
    await _create(identity, narrow, roles=(Role.MEMBER,), clearance=Classification.PUBLIC)


async def test_rights_that_one_does_not_hold_can_still_be_taken(identity: Identity, admin: Person) -> None:
    deputy = await identity.person(admin, Role.TENANT_ADMIN)
    mighty = await _create(
        identity, admin, roles=(Role.AUDITOR, Role.SECURITY_OFFICER), clearance=Classification.SECRET
    )
    kept = await _update(identity, deputy, mighty.id, roles=(Role.AUDITOR,), clearance="restricted")
    assert kept.roles == (Role.AUDITOR,)
    assert kept.clearance is Classification.RESTRICTED
    with pytest.raises(ClearanceExceeded):
        await _update(identity, deputy, mighty.id, clearance=Classification.SECRET)


async def test_a_patch_changes_what_it_names_and_nothing_else(
    identity: Identity, admin: Person, actions: Actions
) -> None:
    group = await identity.group(admin)
    made = await _create(identity, admin, roles=(Role.MEMBER,), groups=(group,), clearance="restricted")
    renamed = await _update(identity, admin, made.id, name="Beatrice")
    assert renamed == made.model_copy(
        update={"name": "Beatrice", "revision": made.revision + 1, "updated_at": renamed.updated_at}
    )
    moved = await _update(identity, admin, made.id, groups=())
    assert (moved.groups, moved.roles, moved.name) == ((), (Role.MEMBER,), "Beatrice")
    suspended = await _update(identity, admin, made.id, suspended=True)
    again = await _update(identity, admin, made.id, suspended=True)
    assert again.suspended_at == suspended.suspended_at is not None
    assert (await actions(admin.subject.tenant))[-4:] == ["principal.update"] * 4


async def test_an_outdated_revision_changes_nothing(identity: Identity, admin: Person) -> None:
    made = await _create(identity, admin)
    await _update(identity, admin, made.id, name="Beatrice")
    with pytest.raises(PreconditionFailed):
        async with identity.database.transaction(admin.subject.tenant) as session:
            await identity.principals.delete(
                session, admin.subject, PrincipalId(made.id), revision=made.revision
            )


async def test_unknown_groups_are_named_by_place(identity: Identity, admin: Person) -> None:
    stranger = await identity.administrator()
    foreign, own = await identity.group(stranger), await identity.group(admin)
    for unknown in (foreign, uuid4()):
        with pytest.raises(PrincipalUnknown) as refused:
            await _create(identity, admin, groups=(own, unknown))
        assert refused.value.details == {
            "fields": [{"path": "groups.1", "code": "principal_unknown", "message": "unknown"}]
        }


async def test_another_tenants_principal_does_not_exist(identity: Identity, admin: Person) -> None:
    stranger = await identity.administrator()
    for principal in (stranger.subject.principal, PrincipalId(uuid4())):
        with pytest.raises(NotFound):
            await _update(identity, admin, principal, name="Mine")
        with pytest.raises(NotFound):
            await _delete(identity, admin, principal)
        with pytest.raises(NotFound):
            async with identity.database.transaction(admin.subject.tenant) as session:
                await identity.principals.get(session, admin.subject, principal)
    assert (await identity.signed_in(stranger.api_key)).subject.name == "Administrator"


async def test_lists_go_by_age_in_pages_and_stay_in_the_tenant(identity: Identity, admin: Person) -> None:
    await _create(identity, await identity.administrator())
    made = [await _create(identity, admin, name=f"P{number}") for number in range(5)]
    found: list[PrincipalOut] = []
    after: tuple[str, ...] | None = None
    for size in (2, 2, 2):
        async with identity.database.transaction(admin.subject.tenant) as session:
            page = await identity.principals.page(session, admin.subject, PageRequest(2, after))
        assert len(page.items) == size
        found.extend(page.items)
        after = page.next_key
    assert after is None
    assert found[0].is_bootstrap
    assert found[1:] == made


LOSSES = [{"roles": (Role.INGESTOR,)}, {"roles": ()}, {"suspended": True}, None]


async def _lose(identity: Identity, by: Person, principal: PrincipalId, loss: dict[str, Any] | None) -> None:
    if loss is None:
        await _delete(identity, by, principal)
    else:
        await _update(identity, by, principal, **loss)


@pytest.mark.parametrize("loss", LOSSES)
async def test_the_last_administrator_stays(
    identity: Identity, admin: Person, run: Run, loss: dict[str, Any] | None
) -> None:
    last, suspended = [await identity.person(admin, Role.TENANT_ADMIN) for _ in range(2)]
    await _update(identity, admin, suspended.subject.principal, suspended=True)
    await run(admin.subject.tenant, "UPDATE eai.principals SET suspended_at = now() WHERE is_bootstrap")
    with pytest.raises(WouldLockOut):
        await _lose(identity, last, last.subject.principal, loss)
    assert Scope.TENANT_ADMIN in (await identity.signed_in(last.api_key)).subject.scopes
    await _update(identity, last, suspended.subject.principal, suspended=False)
    await _lose(identity, last, last.subject.principal, loss)


@pytest.mark.parametrize("loss", LOSSES)
async def test_no_other_administrator_stands_in_for_the_one_who_makes_first_keys(
    identity: Identity, admin: Person, loss: dict[str, Any] | None
) -> None:
    deputy = await identity.person(admin, Role.TENANT_ADMIN)
    for by in (deputy, admin):
        with pytest.raises(WouldLockOut):
            await _lose(identity, by, admin.subject.principal, loss)
    await identity.person(await identity.signed_in(admin.api_key), Role.MEMBER)


async def test_an_administrator_may_change_in_other_ways(identity: Identity, admin: Person) -> None:
    roles = (Role.TENANT_ADMIN, Role.AUDITOR)
    changed = await _update(
        identity, admin, admin.subject.principal, roles=roles, name="Ada", suspended=False, clearance="public"
    )
    assert changed.roles == roles


@pytest.mark.parametrize("attempt", range(5))
async def test_two_administrators_cannot_remove_each_other_at_once(
    identity: Identity, admin: Person, run: Run, attempt: int
) -> None:
    one, other = [await identity.person(admin, Role.TENANT_ADMIN) for _ in range(2)]
    await run(admin.subject.tenant, "UPDATE eai.principals SET suspended_at = now() WHERE is_bootstrap")
    ways = [
        _delete(identity, one, other.subject.principal),
        _update(identity, other, one.subject.principal, suspended=True),
    ]
    outcomes = await asyncio.gather(*ways, return_exceptions=True)
    refused = [outcome for outcome in outcomes if isinstance(outcome, EaiError)]
    assert [refusal.code for refusal in refused] == ["would_lock_out"]
    async with identity.database.transaction(admin.subject.tenant) as session:
        assert await identity.principals.has_live_holder(session, admin.subject.tenant, Scope.TENANT_ADMIN)


async def test_who_holds_a_scope_is_asked_of_the_living(identity: Identity, admin: Person) -> None:
    tenant = admin.subject.tenant
    ingestor = await _create(identity, admin, roles=(Role.AUDITOR,))
    await _update(identity, admin, admin.subject.principal, roles=(Role.TENANT_ADMIN,))
    for suspended in (False, True):
        await _update(identity, admin, ingestor.id, suspended=suspended)
        async with identity.database.transaction(tenant) as session:
            assert await identity.principals.has_live_holder(session, tenant, Scope.KB_ADMIN)
            is_held = await identity.principals.has_live_holder(session, tenant, Scope.AUDIT_READ)
        assert is_held is not suspended


async def test_production_warns_of_a_first_administrator(identity: Identity) -> None:
    with capture_logs() as logs:
        await Identity.over(identity.database, warns_of_conflicts=True).administrator()
        await identity.administrator()
    assert [entry["event"] for entry in logs] == ["sod_conflict"]


async def test_production_warns_when_duties_meet(identity: Identity, admin: Person) -> None:
    watchful = Identity.over(identity.database, warns_of_conflicts=True)
    with capture_logs() as logs:
        made = await _create(watchful, admin, roles=(Role.MEMBER,))
        await _update(watchful, admin, made.id, roles=(Role.DATA_STEWARD, Role.INGESTOR))
        await _create(identity, admin, roles=(Role.DATA_STEWARD, Role.INGESTOR))
    assert logs == [
        {
            "event": "sod_conflict",
            "log_level": "warning",
            "principal": str(made.id),
            "duties": ["data_steward+ingestor"],
        }
    ]
