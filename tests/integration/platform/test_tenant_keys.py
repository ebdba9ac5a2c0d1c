"""Tenants' keys: one line of epochs for each purpose, succeeded while everybody works."""

import asyncio
import secrets

import pytest
from sqlalchemy import text

from eai.kernel.ids import TenantId
from eai.platform.database import Database
from eai.platform.key_rows import TenantKeyRows, tenants_with_due_keys
from eai.platform.keys import Keyring, MasterKey, SealBroken

MASTER = MasterKey(b"m" * 32)


@pytest.fixture
def keyring(database: Database) -> Keyring:
    return Keyring(MASTER, database)


async def succeed(
    database: Database, keyring: Keyring, tenant: TenantId, kept_s: float = 3600
) -> dict[str, int]:
    async with database.transaction(tenant) as session:
        epochs = await keyring.succeed(session, tenant, kept_s=kept_s)
    keyring.forget(tenant)
    return dict(epochs)


async def stored(database: Database, tenant: TenantId) -> list[tuple[str, int]]:
    async with database.transaction(tenant) as session:
        rows = await session.execute(
            text("SELECT purpose, epoch FROM eai.tenant_keys ORDER BY purpose, epoch")
        )
        return [tuple(row) for row in rows]


async def test_what_was_sealed_opens_in_another_process(
    database: Database, keyring: Keyring, tenant: TenantId
) -> None:
    sealed = await keyring.seal(tenant, "cache", b"secret", b"context")
    assert b"secret" not in sealed
    assert await Keyring(MASTER, database).unseal(tenant, "cache", sealed, b"context") == b"secret"


async def test_it_opens_for_its_tenant_purpose_and_context_alone(
    keyring: Keyring, tenant: TenantId, other_tenant: TenantId
) -> None:
    sealed = await keyring.seal(tenant, "cache", b"secret", b"context")
    for whose, purpose, context in (
        (other_tenant, "cache", b"context"),
        (tenant, "idempotency", b"context"),
        (tenant, "cache", b"another"),
    ):
        with pytest.raises(SealBroken):
            await keyring.unseal(whose, purpose, sealed, context)
    for broken in (b"", b"\0\0", sealed[:20], b"\0\0\0\7" + sealed[4:]):
        with pytest.raises(SealBroken):
            await keyring.unseal(tenant, "cache", broken, b"context")


async def test_two_processes_that_need_the_first_key_at_once_agree_on_it(
    database: Database, tenant: TenantId
) -> None:
    keyrings = [Keyring(MASTER, database) for _ in range(8)]
    keys = await asyncio.gather(*(each.tenant_key(tenant, "cache") for each in keyrings))
    assert len(set(keys)) == 1
    assert keys[0].epoch == 1


async def test_a_succession_leaves_what_was_sealed_open_and_seals_with_another_key(
    database: Database, keyring: Keyring, tenant: TenantId
) -> None:
    before = await keyring.seal(tenant, "cache", b"before", b"context")
    await keyring.tenant_key(tenant, "idempotency")
    first = await keyring.tenant_key(tenant, "cache")
    assert await succeed(database, keyring, tenant) == {"cache": 2, "idempotency": 2}
    second = await keyring.tenant_key(tenant, "cache")
    assert (first.epoch, second.epoch) == (1, 2)
    assert first.secret != second.secret
    after = await keyring.seal(tenant, "cache", b"after", b"context")
    assert (before[:4], after[:4]) == (b"\0\0\0\1", b"\0\0\0\2")
    for sealed, content in ((before, b"before"), (after, b"after")):
        assert await keyring.unseal(tenant, "cache", sealed, b"context") == content


async def test_a_process_that_has_not_heard_of_it_is_understood_and_understands(
    database: Database, keyring: Keyring, tenant: TenantId
) -> None:
    late = Keyring(MASTER, database)
    await late.tenant_key(tenant, "cache")
    await succeed(database, keyring, tenant)
    from_late = await late.seal(tenant, "cache", b"late", b"context")
    from_new = await keyring.seal(tenant, "cache", b"new", b"context")
    assert await keyring.unseal(tenant, "cache", from_late, b"context") == b"late"
    assert await late.unseal(tenant, "cache", from_new, b"context") == b"new"


async def test_a_former_key_goes_when_its_time_is_over_and_what_it_sealed_is_noise(
    database: Database, keyring: Keyring, tenant: TenantId, other_tenant: TenantId
) -> None:
    sealed = await keyring.seal(tenant, "cache", b"secret", b"context")
    await keyring.tenant_key(other_tenant, "cache")
    await succeed(database, keyring, other_tenant, kept_s=3600)
    await succeed(database, keyring, tenant, kept_s=0)
    due = await tenants_with_due_keys(database)
    assert tenant in due
    assert other_tenant not in due
    async with database.transaction(tenant) as session:
        await TenantKeyRows(session, tenant).remove_due()
    assert await stored(database, tenant) == [("cache", 2)]
    with pytest.raises(SealBroken):
        await keyring.unseal(tenant, "cache", sealed, b"context")
    assert await succeed(database, keyring, tenant) == {"cache": 3}


async def test_a_key_that_is_older_than_epochs_opens_and_is_succeeded(
    database: Database, keyring: Keyring, tenant: TenantId
) -> None:
    secret = secrets.token_bytes(32)
    wrapped = keyring.wrap(secret, f"tenant:{tenant}:cache")
    async with database.transaction(tenant) as session:
        await session.execute(
            text("INSERT INTO eai.tenant_keys (tenant_id, purpose, wrapped) VALUES (:t, 'cache', :w)"),
            {"t": tenant, "w": wrapped},
        )
    key = await keyring.tenant_key(tenant, "cache")
    assert (key.epoch, key.secret) == (0, secret)
    assert await succeed(database, keyring, tenant) == {"cache": 1}
    assert await stored(database, tenant) == [("cache", 0), ("cache", 1)]


async def test_a_key_wrapped_for_one_epoch_is_none_of_another(
    database: Database, keyring: Keyring, tenant: TenantId
) -> None:
    await keyring.tenant_key(tenant, "cache")
    async with database.transaction(tenant) as session:
        await session.execute(text("UPDATE eai.tenant_keys SET epoch = 2"))
    keyring.forget(tenant)
    with pytest.raises(SealBroken):
        await keyring.tenant_key(tenant, "cache")


async def test_two_successions_at_once_are_one(
    database: Database, keyring: Keyring, tenant: TenantId
) -> None:
    await keyring.tenant_key(tenant, "cache")
    await asyncio.gather(*(succeed(database, Keyring(MASTER, database), tenant) for _ in range(2)))
    epochs = await stored(database, tenant)
    assert epochs in ([("cache", 1), ("cache", 2)], [("cache", 1), ("cache", 2), ("cache", 3)])
    sealed = await keyring.seal(tenant, "cache", b"secret", b"context")
    assert await Keyring(MASTER, database).unseal(tenant, "cache", sealed, b"context") == b"secret"


async def test_what_is_to_outlive_a_key_is_sealed_anew_and_never_under_a_former_one(
    database: Database, keyring: Keyring, tenant: TenantId
) -> None:
    behind = Keyring(MASTER, database)
    former = await behind.seal(tenant, "privacy", b"secret", b"context")
    assert await keyring.resealed(tenant, "privacy", former, b"context") is None
    await succeed(database, keyring, tenant, kept_s=0)
    anew = await keyring.resealed(tenant, "privacy", former, b"context")
    assert anew is not None
    assert await keyring.resealed(tenant, "privacy", anew, b"context") is None
    # One that has not heard of the new key yet.
    assert await behind.resealed(tenant, "privacy", anew, b"context") is None
    async with database.transaction(tenant) as session:
        await TenantKeyRows(session, tenant).remove_due()
    assert await keyring.unseal(tenant, "privacy", anew, b"context") == b"secret"
    with pytest.raises(SealBroken):
        await keyring.unseal(tenant, "privacy", former, b"context")
