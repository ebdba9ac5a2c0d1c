import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from eai.access.classification import Classification
from eai.access.scopes import Role, Scope
from eai.access.subject import PrincipalKind
from eai.identity.errors import (
    ClearanceExceeded,
    ExpiryExceeded,
    KeyNotLive,
    MintedByItsUser,
    PrincipalUnknown,
    ScopeExceedsOwn,
    ScopeMissing,
    SecretAlreadyShown,
    SecretSuperseded,
    WouldLockOut,
)
from eai.identity.schemas import ApiKeyOut, ApiKeyWithSecret, NewApiKey, PrincipalPatch, Rotation
from eai.kernel.errors import InvalidInput, NotFound, PreconditionFailed, Unauthenticated
from eai.kernel.ids import ApiKeyId, PrincipalId, TenantId
from eai.kernel.paging import PageRequest
from tests.factories.identity import Identity, Person

Actions = Callable[[TenantId], Awaitable[list[str]]]
Run = Callable[..., Awaitable[list[Any]]]


async def _rotate(
    identity: Identity, by: Person, key: Any, *, rotation_id: UUID | None = None
) -> ApiKeyWithSecret:
    async with identity.database.transaction(by.subject.tenant) as session:
        return await identity.api_keys.rotate(
            session,
            by.subject,
            ApiKeyId(key),
            Rotation(grace_seconds=60),
            rotation_id=rotation_id or uuid4(),
        )


async def _revoke(identity: Identity, by: Person, key: Any, **options: Any) -> None:
    async with identity.database.transaction(by.subject.tenant) as session:
        await identity.api_keys.revoke(session, by.subject, ApiKeyId(key), **options)


async def _get(identity: Identity, by: Person, key: Any) -> ApiKeyOut:
    async with identity.database.transaction(by.subject.tenant) as session:
        return await identity.api_keys.get(session, by.subject, ApiKeyId(key))


async def _list(identity: Identity, by: Person, principal: PrincipalId | None = None) -> list[Any]:
    async with identity.database.transaction(by.subject.tenant) as session:
        page = await identity.api_keys.page(session, by.subject, PageRequest(), principal=principal)
    return [key.id for key in page.items]


async def test_a_key_is_shown_once(identity: Identity, admin: Person, actions: Actions, run: Run) -> None:
    made = await identity.key(admin, name="laptop", scopes=(Scope.RAG_QUERY, Scope.RAG_QUERY))
    assert made.api_key.startswith(f"{made.prefix}_")
    assert (made.name, made.scopes, made.clearance) == ("laptop", (Scope.RAG_QUERY,), None)
    shown = await _get(identity, admin, made.id)
    assert "api_key" not in shown.model_dump()
    secret = made.api_key.rpartition("_")[2]
    rows = await run(admin.subject.tenant, "SELECT k::text FROM eai.api_keys k")
    events = await run(admin.subject.tenant, "SELECT convert_from(body, 'UTF8') FROM eai.audit_events")
    assert not any(secret in row[0] for row in [*rows, *events])
    assert secret not in repr(made)
    assert (await actions(admin.subject.tenant))[-1] == "api_key.create"


async def test_a_key_never_widens_what_made_it(identity: Identity, admin: Person) -> None:
    bea = await identity.person(admin, Role.MEMBER)
    for scopes in ((Scope.KB_WRITE,), (Scope.RAG_QUERY, Scope.TENANT_ADMIN), (Scope.PLATFORM_ADMIN,)):
        with pytest.raises(ScopeExceedsOwn):
            await identity.key(bea, scopes=scopes)
    with pytest.raises(ClearanceExceeded):
        await identity.key(bea, clearance=Classification.CONFIDENTIAL)
    narrow = await identity.narrowed(bea, scopes=(Scope.RAG_QUERY,), clearance=Classification.PUBLIC)
    with pytest.raises(ScopeExceedsOwn):
        await identity.key(narrow, scopes=(Scope.KB_READ,), clearance=Classification.PUBLIC)
    with pytest.raises(ClearanceExceeded):
        await identity.key(narrow, scopes=(Scope.RAG_QUERY,), clearance=Classification.INTERNAL)
    with pytest.raises(ScopeExceedsOwn):
        await identity.key(narrow)
    with pytest.raises(ClearanceExceeded):
        await identity.key(narrow, scopes=(Scope.RAG_QUERY,))
    await identity.key(narrow, scopes=(Scope.RAG_QUERY,), clearance=Classification.PUBLIC)


async def test_a_narrowed_key_makes_no_key_that_would_outgrow_it(identity: Identity, admin: Person) -> None:
    bea = await identity.person(admin, Role.MEMBER)
    everything = (Scope.RAG_QUERY, Scope.KB_READ)
    narrow = await identity.narrowed(bea, scopes=everything, clearance=Classification.INTERNAL)
    with pytest.raises(ScopeExceedsOwn):
        await identity.key(narrow, clearance=Classification.INTERNAL)
    with pytest.raises(ClearanceExceeded):
        await identity.key(narrow, scopes=everything)


async def test_no_key_outlives_the_one_that_made_it(identity: Identity, admin: Person) -> None:
    soon = datetime.now(UTC) + timedelta(hours=1)
    service = await identity.person(admin, Role.INGESTOR, kind=PrincipalKind.SERVICE)
    passing = await identity.narrowed(admin, expires_at=soon)
    for principal in (admin.subject.principal, service.subject.principal):
        for expires_at in (None, soon + timedelta(seconds=1)):
            with pytest.raises(ExpiryExceeded) as refused:
                await identity.key(passing, principal_id=principal, expires_at=expires_at)
            assert refused.value.details == {"expires_at": soon.isoformat()}
        assert (await identity.key(passing, principal_id=principal, expires_at=soon)).expires_at == soon
    for longer in (admin.subject.api_key, service.subject.api_key):
        with pytest.raises(ExpiryExceeded):
            await _rotate(identity, passing, longer)
    assert (await _rotate(identity, passing, passing.subject.api_key)).expires_at == soon


async def test_rotating_a_wider_sibling_is_minting(identity: Identity, admin: Person) -> None:
    bea = await identity.person(admin, Role.MEMBER)
    narrow = await identity.narrowed(bea, scopes=(Scope.RAG_QUERY,))
    with pytest.raises(ScopeExceedsOwn):
        await _rotate(identity, narrow, bea.subject.api_key)
    assert (await _rotate(identity, narrow, narrow.subject.api_key)).id == narrow.subject.api_key
    assert (await _rotate(identity, bea, narrow.subject.api_key)).scopes == (Scope.RAG_QUERY,)


async def test_users_make_their_own_keys_and_the_first_administrator_may_too(
    identity: Identity, admin: Person
) -> None:
    deputy = await identity.person(admin, Role.TENANT_ADMIN)
    bea = await identity.person(admin)
    await identity.key(bea)
    with pytest.raises(MintedByItsUser):
        await identity.key(deputy, principal_id=bea.subject.principal)
    with pytest.raises(MintedByItsUser):
        await _rotate(identity, deputy, bea.subject.api_key)
    narrow = await identity.narrowed(admin, scopes=(Scope.KB_READ,))
    with pytest.raises(ScopeMissing):
        await identity.key(narrow, principal_id=bea.subject.principal)


@pytest.mark.parametrize("kind", [PrincipalKind.SERVICE, PrincipalKind.AGENT])
async def test_administrators_make_the_keys_of_services_and_agents(
    identity: Identity, admin: Person, kind: PrincipalKind
) -> None:
    deputy = await identity.person(admin, Role.TENANT_ADMIN, clearance="confidential")
    service = await identity.person(admin, Role.INGESTOR, kind=kind)
    await identity.key(deputy, principal_id=service.subject.principal)
    with pytest.raises(ScopeMissing):
        await identity.key(service)
    auditor = await identity.person(admin, Role.AUDITOR, kind=kind, clearance="secret")
    with pytest.raises(ScopeExceedsOwn):
        await identity.key(deputy, principal_id=auditor.subject.principal)
    with pytest.raises(ClearanceExceeded):
        await identity.key(deputy, principal_id=auditor.subject.principal, scopes=(Scope.FINOPS_READ,))
    await identity.key(
        deputy, principal_id=auditor.subject.principal, scopes=(Scope.FINOPS_READ,), clearance="internal"
    )
    with pytest.raises(ScopeExceedsOwn):
        await identity.key(deputy, principal_id=service.subject.principal, scopes=(Scope.TENANT_ADMIN,))


async def test_who_others_are_is_told_to_administrators_only(identity: Identity, admin: Person) -> None:
    bea, stranger = await identity.person(admin, Role.MEMBER), await identity.administrator()
    for principal in (admin.subject.principal, stranger.subject.principal, uuid4()):
        with pytest.raises(ScopeMissing) as refused:
            await identity.key(bea, principal_id=principal)
        assert refused.value.details == {"scopes": ["tenant:admin"]}
    for principal in (stranger.subject.principal, uuid4()):
        with pytest.raises(PrincipalUnknown):
            await identity.key(admin, principal_id=principal)


async def test_ones_own_keys_are_read_with_any_of_them(identity: Identity, admin: Person) -> None:
    bea = await identity.person(admin, Role.MEMBER)
    nothing = await identity.narrowed(bea, scopes=())
    assert await _list(identity, nothing) == [bea.subject.api_key, nothing.subject.api_key]
    assert (await _get(identity, nothing, bea.subject.api_key)).principal_id == bea.subject.principal


async def test_a_key_revokes_no_wider_sibling_but_always_itself(identity: Identity, admin: Person) -> None:
    bea = await identity.person(admin, Role.KB_MANAGER)
    reading = await identity.narrowed(bea, scopes=(Scope.KB_READ,))
    low = await identity.narrowed(bea, clearance=Classification.PUBLIC)
    for narrow, refusal in ((reading, ScopeExceedsOwn), (low, ClearanceExceeded)):
        with pytest.raises(refusal):
            await _revoke(identity, narrow, bea.subject.api_key)
    await identity.signed_in(bea.api_key)
    with pytest.raises(ScopeExceedsOwn):
        await _revoke(identity, reading, low.subject.api_key)
    within = await identity.key(reading, scopes=(Scope.KB_READ,))
    for narrow, key in ((reading, within.id), (reading, reading.subject.api_key), (bea, low.subject.api_key)):
        await _revoke(identity, narrow, key)
    await _revoke(identity, bea, bea.subject.api_key)
    with pytest.raises(Unauthenticated):
        await identity.signed_in(bea.api_key)


async def test_a_sibling_that_names_what_its_principal_lost_is_revoked(
    identity: Identity, admin: Person
) -> None:
    bea = await identity.person(admin, Role.KB_MANAGER)
    stale = await identity.key(bea, scopes=(Scope.KB_WRITE,), clearance=Classification.INTERNAL)
    patch = PrincipalPatch(roles=(Role.MEMBER,), clearance=Classification.PUBLIC)
    async with identity.database.transaction(admin.subject.tenant) as session:
        await identity.principals.update(session, admin.subject, bea.subject.principal, patch)
    await _revoke(identity, await identity.signed_in(bea.api_key), stale.id)


async def test_an_administrator_revokes_others_keys_that_are_wider(identity: Identity, admin: Person) -> None:
    bea = await identity.person(admin, Role.KB_MANAGER)
    narrow = await identity.narrowed(admin, scopes=(Scope.TENANT_ADMIN,), clearance=Classification.PUBLIC)
    await _revoke(identity, narrow, bea.subject.api_key)
    with pytest.raises(ScopeExceedsOwn):
        await _revoke(identity, narrow, admin.subject.api_key)


async def test_other_principals_keys_do_not_exist(identity: Identity, admin: Person) -> None:
    bea, stranger = await identity.person(admin, Role.MEMBER), await identity.administrator()
    for key in (admin.subject.api_key, stranger.subject.api_key, uuid4()):
        for attempt in (_get, _rotate, _revoke):
            with pytest.raises(NotFound):
                await attempt(identity, bea, key)
    with pytest.raises(NotFound):
        await _get(identity, admin, stranger.subject.api_key)
    assert await _list(identity, bea, admin.subject.principal) == []
    assert await _list(identity, bea) == [bea.subject.api_key]
    assert await _list(identity, admin, bea.subject.principal) == [bea.subject.api_key]
    assert await _list(identity, admin) == [admin.subject.api_key, bea.subject.api_key]


async def test_a_revoked_key_stays_visible_and_dead(
    identity: Identity, admin: Person, actions: Actions
) -> None:
    made = await identity.key(admin)
    await _rotate(identity, admin, made.id)
    for _ in range(2):
        await _revoke(identity, admin, made.id)
    revoked = await _get(identity, admin, made.id)
    assert revoked.revoked_at is not None
    assert revoked.old_secret_expires_at is None
    with pytest.raises(KeyNotLive):
        await _rotate(identity, admin, made.id)
    assert (await actions(admin.subject.tenant))[-3:] == [
        "api_key.create",
        "api_key.rotate",
        "api_key.revoke",
    ]


async def test_the_last_key_that_makes_first_keys_is_not_revoked(
    identity: Identity, admin: Person, run: Run
) -> None:
    tenant, first = admin.subject.tenant, admin.subject.api_key
    deputy = await identity.person(admin, Role.TENANT_ADMIN)
    narrow = await identity.key(admin, scopes=(Scope.KB_READ,))
    expired = await identity.key(admin, expires_at=datetime.now(UTC) + timedelta(hours=1))
    await run(tenant, "UPDATE eai.api_keys SET expires_at = now() WHERE id = :id", id=expired.id)
    for by in (deputy, admin):
        with pytest.raises(WouldLockOut):
            await _revoke(identity, by, first)
    await _revoke(identity, deputy, narrow.id)
    await _revoke(identity, deputy, expired.id)
    second = await identity.key(admin, scopes=(Scope.TENANT_ADMIN,))
    await _revoke(identity, deputy, first)
    with pytest.raises(WouldLockOut):
        await _revoke(identity, deputy, second.id)
    await _revoke(identity, deputy, deputy.subject.api_key)


async def test_of_two_last_keys_one_stays(identity: Identity, admin: Person) -> None:
    second = await identity.key(admin)
    outcomes = await asyncio.gather(
        _revoke(identity, admin, admin.subject.api_key),
        _revoke(identity, admin, second.id),
        return_exceptions=True,
    )
    assert sorted(type(outcome).__name__ for outcome in outcomes) == ["NoneType", "WouldLockOut"]


async def test_an_expired_key_is_not_rotated_back_to_life(
    identity: Identity, admin: Person, run: Run
) -> None:
    made = await identity.key(admin, expires_at=datetime.now(UTC) + timedelta(hours=1))
    assert (await _rotate(identity, admin, made.id)).expires_at == made.expires_at
    await run(admin.subject.tenant, "UPDATE eai.api_keys SET expires_at = now() WHERE id = :id", id=made.id)
    with pytest.raises(KeyNotLive):
        await _rotate(identity, admin, made.id)


async def test_a_second_rotation_ends_the_first_secret(identity: Identity, admin: Person) -> None:
    first = await identity.key(admin)
    second = await _rotate(identity, admin, first.id)
    third = await _rotate(identity, admin, first.id)
    with pytest.raises(Unauthenticated):
        await identity.signed_in(first.api_key)
    await identity.signed_in(second.api_key)
    await identity.signed_in(third.api_key)


async def test_a_repeated_rotation_leaves_the_old_secret_its_grace(identity: Identity, admin: Person) -> None:
    first, rotation = await identity.key(admin), uuid4()
    lost, received = [await _rotate(identity, admin, first.id, rotation_id=rotation) for _ in range(2)]
    with pytest.raises(Unauthenticated):
        await identity.signed_in(lost.api_key)
    await identity.signed_in(first.api_key)
    await identity.signed_in(received.api_key)
    assert received.old_secret_expires_at == lost.old_secret_expires_at


async def test_an_old_secret_in_its_grace_changes_no_key(identity: Identity, admin: Person) -> None:
    sibling = await identity.key(admin)
    bea = await identity.person(admin, Role.MEMBER)
    rotated = await _rotate(identity, admin, admin.subject.api_key)
    old, new = await identity.signed_in(admin.api_key), await identity.signed_in(rotated.api_key)
    assert (old.subject.presents_old_secret, new.subject.presents_old_secret) == (True, False)
    with pytest.raises(SecretSuperseded):
        await identity.key(old)
    for key in (rotated.id, sibling.id, bea.subject.api_key):
        for attempt in (_rotate, _revoke):
            with pytest.raises(SecretSuperseded):
                await attempt(identity, old, key)
    await identity.signed_in(rotated.api_key)
    await _rotate(identity, new, sibling.id)
    await _revoke(identity, new, rotated.id)


async def test_the_old_secret_repeats_the_rotation_that_superseded_it(
    identity: Identity, admin: Person
) -> None:
    bea, rotation = await identity.person(admin, Role.MEMBER), uuid4()
    lost = await _rotate(identity, bea, bea.subject.api_key, rotation_id=rotation)
    old = await identity.signed_in(bea.api_key)
    received = await _rotate(identity, old, bea.subject.api_key, rotation_id=rotation)
    assert received.old_secret_expires_at == lost.old_secret_expires_at
    await identity.signed_in(received.api_key)


async def test_a_rotation_is_repeated_soon_or_not_at_all(identity: Identity, admin: Person, run: Run) -> None:
    first, rotation = await identity.key(admin), uuid4()
    await _rotate(identity, admin, first.id, rotation_id=rotation)
    age = "UPDATE eai.api_keys SET updated_at = updated_at - make_interval(mins => :minutes) WHERE id = :id"
    await run(admin.subject.tenant, age, minutes=6, id=first.id)
    received = await _rotate(identity, admin, first.id, rotation_id=rotation)
    await run(admin.subject.tenant, age, minutes=6, id=first.id)
    with pytest.raises(SecretAlreadyShown) as refused:
        await _rotate(identity, admin, first.id, rotation_id=rotation)
    assert refused.value.details == {"id": str(first.id)}
    await identity.signed_in(received.api_key)
    await _rotate(identity, admin, first.id)


async def test_a_key_that_was_rotated_is_not_made_again(identity: Identity, admin: Person) -> None:
    key, new = ApiKeyId(uuid4()), NewApiKey(principal_id=admin.subject.principal)
    async with identity.database.transaction(admin.subject.tenant) as session:
        await identity.api_keys.create(session, admin.subject, key, new)
    async with identity.database.transaction(admin.subject.tenant) as session:
        rotated = await identity.api_keys.rotate(
            session, admin.subject, key, Rotation(grace_seconds=0), rotation_id=uuid4()
        )
    with pytest.raises(SecretAlreadyShown):
        async with identity.database.transaction(admin.subject.tenant) as session:
            await identity.api_keys.create(session, admin.subject, key, new)
    await identity.signed_in(rotated.api_key)


async def test_the_default_grace_is_a_day(identity: Identity, admin: Person, run: Run) -> None:
    made = await identity.key(admin)
    async with identity.database.transaction(admin.subject.tenant) as session:
        rotated = await identity.api_keys.rotate(
            session, admin.subject, ApiKeyId(made.id), Rotation(), rotation_id=uuid4()
        )
    assert rotated.old_secret_expires_at is not None
    assert rotated.old_secret_expires_at - rotated.updated_at == timedelta(hours=24)


@pytest.mark.parametrize("past", [timedelta(seconds=-1), timedelta(days=-36_500)])
async def test_a_key_is_not_born_expired(identity: Identity, admin: Person, past: timedelta) -> None:
    with pytest.raises(InvalidInput) as refused:
        await identity.key(admin, expires_at=datetime.now(UTC) + past)
    assert refused.value.details["fields"] == [
        {"path": "expires_at", "code": "datetime_future", "message": "lies in the past"}
    ]


async def test_an_outdated_revision_changes_nothing(identity: Identity, admin: Person) -> None:
    made = await identity.key(admin)
    await _rotate(identity, admin, made.id)
    with pytest.raises(PreconditionFailed):
        await _revoke(identity, admin, made.id, revision=made.revision)


async def test_a_repeated_request_gives_the_same_key_another_secret(
    identity: Identity, admin: Person, actions: Actions, run: Run
) -> None:
    key = ApiKeyId(uuid4())

    async def create(by: Person = admin) -> ApiKeyWithSecret:
        new = NewApiKey(principal_id=by.subject.principal)
        async with identity.database.transaction(by.subject.tenant) as session:
            return await identity.api_keys.create(session, by.subject, key, new)

    lost, received = await create(), await create()
    assert lost.id == received.id == key
    with pytest.raises(Unauthenticated):
        await identity.signed_in(lost.api_key)
    await identity.signed_in(received.api_key)
    assert (await actions(admin.subject.tenant))[-2:] == ["api_key.create", "api_key.rotate"]
    with pytest.raises(NotFound):
        await create(await identity.person(admin))
    await run(
        admin.subject.tenant,
        "UPDATE eai.api_keys SET created_at = now() - interval '11 minutes' WHERE id = :key",
        key=key,
    )
    with pytest.raises(SecretAlreadyShown):
        await create()
    await identity.signed_in(received.api_key)


async def test_a_key_loses_what_its_principal_loses(identity: Identity, admin: Person) -> None:
    bea = await identity.person(admin, Role.KB_MANAGER, clearance="restricted")
    narrow = await identity.narrowed(bea, scopes=(Scope.KB_WRITE, Scope.KB_READ), clearance="confidential")
    patch = PrincipalPatch(roles=(Role.MEMBER,), clearance=Classification.PUBLIC)
    async with identity.database.transaction(admin.subject.tenant) as session:
        await identity.principals.update(session, admin.subject, bea.subject.principal, patch)
    subject = (await identity.signed_in(narrow.api_key)).subject
    assert subject.scopes == {Scope.KB_READ}
    assert subject.clearance is Classification.PUBLIC
