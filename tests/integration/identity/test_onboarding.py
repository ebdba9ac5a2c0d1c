import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import nullcontext
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import make_url, text
from sqlalchemy.ext.asyncio import AsyncSession

from eai.access.classification import Classification
from eai.access.scopes import BOOTSTRAP_ADMINISTRATOR_ROLES, Role, Scope
from eai.audit.actions import AuditAction
from eai.audit.details import Details
from eai.audit.service import Audit
from eai.identity.errors import SecretAlreadyShown, WouldLockOut
from eai.identity.issuing import Issuing
from eai.identity.onboarding import FirstKeys, Onboarding
from eai.kernel.clock import SystemClock
from eai.kernel.errors import Unauthenticated
from eai.kernel.ids import PLATFORM_TENANT, TenantId
from eai.kernel.paging import PageRequest
from eai.platform.database import Database
from eai.platform.keys import Keyring
from eai.tenants.errors import SlugTaken
from eai.tenants.repository import list_tenant_ids
from eai.tenants.schemas import NewTenant
from tests.conftest import TEMPLATE, DatabaseUrls
from tests.factories.identity import MASTER_KEY, OPERATOR, Identity

Actions = Callable[[TenantId], Awaitable[list[str]]]
Run = Callable[..., Awaitable[list[Any]]]


def _new() -> NewTenant:
    return NewTenant(name="Valgivre", slug=f"valgivre-{uuid4().hex}")


@pytest.fixture
def new_installation(database_urls: DatabaseUrls) -> Iterator[str]:
    """The application's URL of a database in which nothing was started yet."""
    name = f"eai_first_{uuid4().hex[:12]}"
    with psycopg.connect(database_urls.admin, autocommit=True) as connection:
        identifiers = sql.Identifier(name), sql.Identifier(TEMPLATE)
        connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(*identifiers))
        yield make_url(database_urls.app).set(database=name).render_as_string(hide_password=False)
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture
async def first(new_installation: str) -> AsyncIterator[Identity]:
    opened = Database(new_installation)
    await opened.open()
    yield Identity.over(opened)
    await opened.close()


async def test_a_tenant_comes_with_its_administrator(identity: Identity, actions: Actions) -> None:
    tenant, new = TenantId(uuid4()), _new()
    before = len(await actions(PLATFORM_TENANT))
    made = await identity.onboarding.create(OPERATOR, tenant, new)
    assert (made.id, made.name, made.slug) == (tenant, "Valgivre", new.slug)
    subject = await identity.authentication.authenticate(made.admin_api_key)
    assert (subject.tenant, subject.roles) == (tenant, BOOTSTRAP_ADMINISTRATOR_ROLES)
    assert (subject.clearance, subject.is_bootstrap) == (Classification.SECRET, True)
    assert await actions(tenant) == ["tenant.create"]
    assert (await actions(PLATFORM_TENANT))[before:] == ["tenant.create"]


async def test_both_chains_name_the_operator(identity: Identity, run: Run) -> None:
    tenant = TenantId(uuid4())
    await identity.onboarding.create(OPERATOR, tenant, _new())
    for chain in (tenant, PLATFORM_TENANT):
        rows = await run(
            chain,
            "SELECT actor_principal FROM eai.audit_events WHERE resource_id = :made",
            made=str(tenant),
        )
        assert [row.actor_principal for row in rows] == [OPERATOR.principal]


async def test_a_slug_belongs_to_one_tenant(identity: Identity) -> None:
    new = _new()
    await identity.onboarding.create(OPERATOR, TenantId(uuid4()), new)
    count = len(await list_tenant_ids(identity.database))
    with pytest.raises(SlugTaken) as refused:
        await identity.onboarding.create(OPERATOR, TenantId(uuid4()), new)
    assert refused.value.details == {"slug": new.slug}
    assert len(await list_tenant_ids(identity.database)) == count


async def test_one_of_two_concurrent_tenants_gets_the_slug(identity: Identity) -> None:
    new = _new()
    results = await asyncio.gather(
        *(identity.onboarding.create(OPERATOR, TenantId(uuid4()), new) for _ in range(4)),
        return_exceptions=True,
    )
    assert [type(result) for result in results if isinstance(result, BaseException)] == [SlugTaken] * 3


async def test_a_repeated_request_gives_the_same_tenant_another_key(identity: Identity, run: Run) -> None:
    tenant, new = TenantId(uuid4()), _new()
    lost = await identity.onboarding.create(OPERATOR, tenant, new)
    received = await identity.onboarding.create(OPERATOR, tenant, new)
    assert (received.id, received.created_at) == (lost.id, lost.created_at)
    with pytest.raises(Unauthenticated):
        await identity.signed_in(lost.admin_api_key)
    assert (await identity.signed_in(received.admin_api_key)).subject.is_bootstrap
    await run(tenant, "UPDATE eai.api_keys SET created_at = now() - interval '11 minutes'")
    with pytest.raises(SecretAlreadyShown):
        await identity.onboarding.create(OPERATOR, tenant, new)


class _Crashed(Exception):
    pass


class _CrashingAudit(Audit):
    """A process that dies once the new tenant is committed, and before the platform hears of it."""

    async def record(self, session: AsyncSession, by: Any, action: AuditAction, **event: Any) -> int:
        if by.tenant == PLATFORM_TENANT:
            raise _Crashed
        return await super().record(session, by, action, **event)


@pytest.mark.parametrize("is_late", [False, True])
async def test_a_creation_that_broke_off_is_told_once_in_each_chain(
    identity: Identity, actions: Actions, run: Run, *, is_late: bool
) -> None:
    tenant, new = TenantId(uuid4()), _new()
    keyring = Keyring(MASTER_KEY, identity.database)
    audit = _CrashingAudit(identity.database, Details(identity.database, keyring), SystemClock())
    issuing = Issuing(identity.peppers)
    crashing = Onboarding(identity.database, identity.tenants, issuing, audit, warns_of_conflicts=False)
    with pytest.raises(_Crashed):
        await crashing.create(OPERATOR, tenant, new)
    before = await actions(PLATFORM_TENANT)
    if is_late:
        await run(tenant, "UPDATE eai.api_keys SET created_at = now() - interval '11 minutes'")
    for _ in range(2):
        with pytest.raises(SecretAlreadyShown) if is_late else nullcontext():
            await identity.onboarding.create(OPERATOR, tenant, new)
    assert (await actions(PLATFORM_TENANT))[len(before) :] == ["tenant.create"]
    assert await actions(tenant) == ["tenant.create", *([] if is_late else ["api_key.rotate"] * 2)]


async def test_requests_for_one_tenant_at_once_are_told_once(identity: Identity, actions: Actions) -> None:
    tenant, new = TenantId(uuid4()), _new()
    before = len(await actions(PLATFORM_TENANT))
    await asyncio.gather(*(identity.onboarding.create(OPERATOR, tenant, new) for _ in range(4)))
    assert (await actions(PLATFORM_TENANT))[before:] == ["tenant.create"]
    assert (await actions(tenant)).count("tenant.create") == 1


async def test_tenants_are_listed_by_age_without_the_platform(first: Identity) -> None:
    await first.onboarding.first_start()
    made = [await first.onboarding.create(OPERATOR, TenantId(uuid4()), _new()) for _ in range(3)]
    names: list[UUID] = []
    after: tuple[str, ...] | None = None
    for size in (2, 2):
        page = await first.tenants.page(PageRequest(2, after))
        assert len(page.items) == size
        names.extend(tenant.id for tenant in page.items)
        after = page.next_key
    assert after is None
    assert names[1:] == [tenant.id for tenant in made]
    assert PLATFORM_TENANT not in names
    assert (await first.tenants.page(PageRequest(2, ("nonsense",)))).items == []


async def test_the_first_start_makes_both_keys_and_a_second_one_nothing(first: Identity) -> None:
    keys = await first.onboarding.first_start()
    assert keys is not None
    administrator = await first.authentication.authenticate(keys.administrator.text)
    operator = await first.authentication.authenticate(keys.operator.text)
    async with first.database.transaction(administrator.tenant) as session:
        assert (await first.tenants.get(session, administrator.tenant)).slug == "default"
    assert administrator.is_bootstrap
    assert administrator.roles == BOOTSTRAP_ADMINISTRATOR_ROLES
    assert (operator.tenant, operator.roles) == (PLATFORM_TENANT, (Role.PLATFORM_OPERATOR,))
    assert operator.scopes == {Scope.PLATFORM_ADMIN}
    assert not operator.is_bootstrap
    assert await first.onboarding.first_start() is None
    assert (await first.authentication.authenticate(keys.operator.text)).principal == operator.principal


async def test_of_several_first_starts_one_wins_whole(first: Identity) -> None:
    results = await asyncio.gather(*(first.onboarding.first_start() for _ in range(4)))
    (keys,) = [result for result in results if result is not None]
    assert (await first.authentication.authenticate(keys.operator.text)).is_platform
    assert (await first.authentication.authenticate(keys.administrator.text)).is_bootstrap


async def test_a_first_start_that_broke_off_is_completed(first: Identity) -> None:
    lost = FirstKeys()
    await first.onboarding._ensure_platform(lost.operator)
    keys = await first.onboarding.first_start()
    assert keys is not None
    assert (await first.authentication.authenticate(keys.operator.text)).is_platform
    with pytest.raises(Unauthenticated):
        await first.authentication.authenticate(lost.operator.text)
    async with first.database.transaction(PLATFORM_TENANT) as session:
        told = await session.scalars(text("SELECT action FROM eai.audit_events ORDER BY seq"))
    assert list(told) == ["tenant.create", "api_key.rotate"]


async def test_keys_that_were_stored_beforehand_are_the_ones_in_force(first: Identity) -> None:
    stored = FirstKeys()
    assert await first.onboarding.first_start(stored) == stored
    assert await first.onboarding.first_start(stored) is None
    assert (await first.authentication.authenticate(stored.operator.text)).is_platform


async def test_an_operator_replaces_its_own_key(first: Identity) -> None:
    keys = await first.onboarding.first_start()
    assert keys is not None
    operator = await first.signed_in(keys.operator.text)
    second = await first.narrowed(operator, scopes=(Scope.PLATFORM_ADMIN,))
    assert second.subject.principal == operator.subject.principal
    async with first.database.transaction(PLATFORM_TENANT) as session:
        await first.api_keys.revoke(session, operator.subject, operator.subject.api_key)
    nothing = await first.narrowed(second, scopes=(), clearance=Classification.PUBLIC)
    for key in (second, nothing):
        with nullcontext() if key is nothing else pytest.raises(WouldLockOut):
            async with first.database.transaction(PLATFORM_TENANT) as session:
                await first.api_keys.revoke(session, second.subject, key.subject.api_key)
    assert (await first.signed_in(second.api_key)).subject.is_platform
