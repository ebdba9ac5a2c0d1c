from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import pytest

from eai.access.classification import Classification
from eai.access.scopes import Role, Scope
from eai.identity.authentication import Authentication
from eai.identity.credentials import Credential, Peppers
from eai.identity.schemas import GroupMembers, PrincipalPatch, Rotation
from eai.kernel.errors import Unauthenticated
from eai.kernel.ids import ApiKeyId
from eai.platform.database import Database, DatabaseUnavailable
from eai.platform.keys import MasterKey
from tests.factories.identity import MASTER_KEY, Identity, Person

Run = Callable[..., Awaitable[list[Any]]]


async def _is_refused(identity: Identity, api_key: str) -> bool:
    try:
        await identity.authentication.authenticate(api_key)
    except Unauthenticated as refusal:
        return refusal.details == {}
    return False


async def test_the_administrators_key_opens_its_tenant(identity: Identity, admin: Person) -> None:
    subject = await identity.authentication.authenticate(admin.api_key)
    assert subject.name == "Administrator"
    assert subject.is_bootstrap
    assert subject.clearance is Classification.SECRET
    assert subject.scopes == set(Scope) - {Scope.PLATFORM_ADMIN}


async def test_unknown_ids_and_wrong_secrets_are_told_alike(identity: Identity, admin: Person) -> None:
    known = Credential.parse(admin.api_key)
    assert await _is_refused(identity, Credential.renew(known.key_id).text)
    assert await _is_refused(identity, Credential.generate().text)
    assert await _is_refused(identity, Credential(Credential.generate().key_id, known.secret).text)


async def test_a_malformed_credential_never_reaches_the_database() -> None:
    nowhere = Database("postgresql://eai_app@127.0.0.1:9/none", checkout_timeout_s=0.1)
    authentication = Authentication(nowhere, Peppers(MASTER_KEY))
    for text in ("", "eai_x_y", "' OR 1=1 --", "eai_" + "a" * 1_000_000, "\x00", "eai_\u0661_\u0662"):
        with pytest.raises(Unauthenticated):
            await authentication.authenticate(text)


async def test_the_mac_of_one_key_opens_no_other(identity: Identity, admin: Person, run: Run) -> None:
    other = await identity.key(admin)
    await run(
        admin.subject.tenant,
        "UPDATE eai.api_keys SET secret_mac = (SELECT secret_mac FROM eai.api_keys WHERE id = :other)"
        " WHERE id = :mine",
        mine=admin.subject.api_key,
        other=other.id,
    )
    assert await _is_refused(identity, admin.api_key)
    secret = Credential.parse(other.api_key).secret
    assert await _is_refused(identity, Credential(Credential.parse(admin.api_key).key_id, secret).text)
    assert not await _is_refused(identity, other.api_key)


async def test_another_master_key_opens_nothing(database: Database, admin: Person) -> None:
    stranger = Authentication(database, Peppers(MasterKey(b"another master key, 32 bytes long")))
    with pytest.raises(Unauthenticated):
        await stranger.authenticate(admin.api_key)


async def test_a_key_sealed_under_the_last_pepper_opens_until_it_is_rotated(
    database: Database, admin: Person
) -> None:
    both = Authentication(database, Peppers(MASTER_KEY, versions=(1, 2)))
    assert (await both.authenticate(admin.api_key)).principal == admin.subject.principal


async def test_expiry_goes_by_the_databases_time(identity: Identity, admin: Person, run: Run) -> None:
    for interval, is_refused in (("1 hour", False), ("0", True), ("-1 second", True)):
        await run(
            admin.subject.tenant,
            "UPDATE eai.api_keys SET expires_at = now() + CAST(:interval AS interval) WHERE id = :key",
            key=admin.subject.api_key,
            interval=interval,
        )
        assert await _is_refused(identity, admin.api_key) is is_refused


async def test_suspending_a_principal_stops_its_keys_at_once_and_lifting_it_revives_them(
    identity: Identity, admin: Person
) -> None:
    bea = await identity.person(admin, Role.MEMBER)
    for suspended in (True, False):
        async with identity.database.transaction(admin.subject.tenant) as session:
            await identity.principals.update(
                session, admin.subject, bea.subject.principal, PrincipalPatch(suspended=suspended)
            )
        assert await _is_refused(identity, bea.api_key) is suspended


async def test_deleting_a_principal_ends_its_keys(identity: Identity, admin: Person) -> None:
    bea = await identity.person(admin, Role.MEMBER)
    second = await identity.key(bea)
    async with identity.database.transaction(admin.subject.tenant) as session:
        await identity.principals.delete(session, admin.subject, bea.subject.principal)
    assert await _is_refused(identity, bea.api_key)
    assert await _is_refused(identity, second.api_key)


async def test_both_secrets_of_a_rotated_key_open_until_the_old_ones_deadline(
    identity: Identity, admin: Person, run: Run
) -> None:
    async with identity.database.transaction(admin.subject.tenant) as session:
        rotated = await identity.api_keys.rotate(
            session, admin.subject, admin.subject.api_key, Rotation(grace_seconds=60), rotation_id=uuid4()
        )
    assert rotated.id == admin.subject.api_key
    assert not await _is_refused(identity, admin.api_key)
    assert not await _is_refused(identity, rotated.api_key)
    await run(
        admin.subject.tenant,
        "UPDATE eai.api_keys SET previous_expires_at = now() WHERE id = :key",
        key=rotated.id,
    )
    assert await _is_refused(identity, admin.api_key)
    assert not await _is_refused(identity, rotated.api_key)


async def test_without_grace_the_old_secret_ends_with_the_rotation(identity: Identity, admin: Person) -> None:
    async with identity.database.transaction(admin.subject.tenant) as session:
        rotated = await identity.api_keys.rotate(
            session, admin.subject, admin.subject.api_key, Rotation(grace_seconds=0), rotation_id=uuid4()
        )
    assert await _is_refused(identity, admin.api_key)
    assert not await _is_refused(identity, rotated.api_key)


async def test_revoking_a_key_ends_both_secrets(identity: Identity, admin: Person) -> None:
    first = await identity.key(admin)
    async with identity.database.transaction(admin.subject.tenant) as session:
        second = await identity.api_keys.rotate(
            session, admin.subject, ApiKeyId(first.id), Rotation(), rotation_id=uuid4()
        )
    async with identity.database.transaction(admin.subject.tenant) as session:
        await identity.api_keys.revoke(session, admin.subject, ApiKeyId(first.id))
    assert await _is_refused(identity, first.api_key)
    assert await _is_refused(identity, second.api_key)


async def test_roles_clearance_and_groups_are_read_live(identity: Identity, admin: Person) -> None:
    bea = await identity.person(admin, Role.MEMBER)
    group = await identity.group(admin, bea)
    patch = PrincipalPatch(roles=(Role.AUDITOR,), clearance=Classification.SECRET)
    async with identity.database.transaction(admin.subject.tenant) as session:
        await identity.principals.update(session, admin.subject, bea.subject.principal, patch)
    subject = (await identity.signed_in(bea.api_key)).subject
    assert subject.scopes == {Scope.AUDIT_READ, Scope.FINOPS_READ}
    assert subject.clearance is Classification.SECRET
    assert subject.groups == {group}
    async with identity.database.transaction(admin.subject.tenant) as session:
        await identity.groups.set_members(session, admin.subject, group, GroupMembers(members=()))
    assert (await identity.signed_in(bea.api_key)).subject.groups == frozenset()


async def test_a_wrong_secret_binds_no_tenant_and_a_right_one_leaves_none_behind(
    identity: Identity, admin: Person
) -> None:
    known = Credential.parse(admin.api_key)
    macs = identity.peppers.candidates(Credential.renew(known.key_id))
    rows = await identity.database.statement(
        "SELECT (eai.authenticate(%(key)s, %(macs)s)).api_key, current_setting('app.tenant_id', true)",
        {"key": known.key_id, "macs": macs},
    )
    assert rows[0][0] is None
    assert not rows[0][1]
    await identity.authentication.authenticate(admin.api_key)
    for _ in range(20):
        left = await identity.database.statement(
            "SELECT current_setting('app.tenant_id', true), (SELECT count(*) FROM eai.api_keys)", {}
        )
        assert left in ([("", 0)], [(None, 0)])


async def test_an_unreachable_database_is_not_mistaken_for_a_wrong_key(admin: Person) -> None:
    nowhere = Database("postgresql://eai_app@127.0.0.1:9/none", checkout_timeout_s=0.2)
    await nowhere.open()
    try:
        with pytest.raises(DatabaseUnavailable):
            await Authentication(nowhere, Peppers(MASTER_KEY)).authenticate(admin.api_key)
    finally:
        await nowhere.close()


async def test_no_tenant_sees_anothers_keys(identity: Identity, admin: Person, run: Run) -> None:
    other = await identity.administrator()
    for person in (admin, other):
        rows = await run(person.subject.tenant, "SELECT DISTINCT tenant_id FROM eai.api_keys")
        assert [row.tenant_id for row in rows] == [person.subject.tenant]
