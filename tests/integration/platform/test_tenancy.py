"""What a binding shows: attack lines 36 to 43."""

import asyncio

import psycopg
import pytest
from sqlalchemy import make_url, text
from sqlalchemy.exc import DBAPIError, ProgrammingError

from eai.kernel.ids import TenantId
from eai.platform.database import Database
from eai.platform.roles import UnsafeRole, verify_role
from tests.conftest import DatabaseUrls, fresh_database


async def _visible_tenants(database: Database) -> list[str]:
    rows = await database.statement("SELECT tenant_id FROM eai.tenants", {})
    return [str(tenant) for (tenant,) in rows]


async def test_without_a_tenant_nothing_is_visible(database: Database, tenant: TenantId) -> None:
    assert await _visible_tenants(database) == []


async def test_an_empty_tenant_shows_nothing_and_is_no_error(database: Database, tenant: TenantId) -> None:
    rows = await database.statement(
        "SELECT t.tenant_id FROM (SELECT set_config('app.tenant_id', '', true)) s, eai.tenants t", {}
    )
    assert rows == []


async def test_a_binding_shows_its_own_tenant_only(
    database: Database, tenant: TenantId, other_tenant: TenantId
) -> None:
    async with database.transaction(tenant) as session:
        seen = (await session.scalars(text("SELECT tenant_id FROM eai.tenants"))).all()
    assert seen == [tenant]


async def test_a_row_of_another_tenant_is_refused(
    database: Database, tenant: TenantId, other_tenant: TenantId
) -> None:
    with pytest.raises(ProgrammingError, match="row-level security"):
        async with database.transaction(tenant) as session:
            await session.execute(
                text("INSERT INTO eai.tenant_keys (tenant_id, purpose, wrapped) VALUES (:other, 'x', '')"),
                {"other": other_tenant},
            )


async def test_a_failed_or_cancelled_transaction_leaves_no_binding_behind(
    database: Database, tenant: TenantId
) -> None:
    async def fail() -> None:
        async with database.transaction(tenant) as session:
            await session.execute(text("SELECT 1 / 0"))

    async def hang() -> None:
        async with database.transaction(tenant) as session:
            await session.execute(text("SELECT pg_sleep(30)"))

    for _ in range(12):
        with pytest.raises(DBAPIError):
            await fail()
        hanging = asyncio.create_task(hang())
        await asyncio.sleep(0)
        hanging.cancel()
        with pytest.raises(asyncio.CancelledError):
            await hanging
    assert await _visible_tenants(database) == []


@pytest.mark.parametrize(
    "statement",
    [
        "SET ROLE eai_owner",
        "SET ROLE eai_auth",
        "SET ROLE eai_audit",
        "CREATE TABLE eai.mine (x int)",
        "ALTER TABLE eai.tenants DISABLE ROW LEVEL SECURITY",
        "DROP POLICY tenant ON eai.tenants",
        "TRUNCATE eai.tenants",
        "COPY eai.tenants FROM '/etc/hostname'",
        "SET row_security = off; SELECT * FROM eai.tenants",
    ],
)
async def test_the_application_cannot_lift_its_own_limits(
    database_urls: DatabaseUrls, statement: str
) -> None:
    async with await psycopg.AsyncConnection.connect(database_urls.app) as connection:
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            await connection.execute(statement)


async def test_a_role_that_sees_past_row_level_security_is_refused(database_urls: DatabaseUrls) -> None:
    unsafe = Database(database_urls.admin)
    await unsafe.open()
    with pytest.raises(UnsafeRole, match="it is a superuser; it has BYPASSRLS; it is a member of eai_app"):
        await verify_role(unsafe)
    await unsafe.close()


@pytest.mark.parametrize("privilege", ["TRUNCATE", "REFERENCES", "TRIGGER"])
async def test_a_grant_that_row_level_security_does_not_bind_is_refused(privilege: str) -> None:
    with fresh_database() as urls:
        async with await psycopg.AsyncConnection.connect(urls.admin) as connection:
            await connection.execute(f"GRANT {privilege} ON eai.audit_events TO eai_app")
        granted = Database(urls.app)
        await granted.open()
        with pytest.raises(UnsafeRole, match="it may truncate, reference or trigger on audit_events"):
            await verify_role(granted)
        await granted.close()


@pytest.mark.parametrize("power", ["SUPERUSER", "BYPASSRLS"])
async def test_a_member_of_a_role_that_sees_past_row_level_security_is_refused(
    database_urls: DatabaseUrls, power: str
) -> None:
    """Membership counts through any number of roles, whatever they are called."""
    app = make_url(database_urls.app).set(username="tenancy_probe", password="probe")
    names = ("tenancy_power", "tenancy_between", "tenancy_probe")
    async with await psycopg.AsyncConnection.connect(database_urls.admin, autocommit=True) as connection:
        await connection.execute(f"CREATE ROLE tenancy_power {power}")
        await connection.execute("CREATE ROLE tenancy_between IN ROLE tenancy_power")
        await connection.execute("CREATE ROLE tenancy_probe LOGIN PASSWORD 'probe' IN ROLE tenancy_between")
        probe = Database(app.render_as_string(hide_password=False))
        await probe.open()
        try:
            with pytest.raises(UnsafeRole, match="it is a member of tenancy_power"):
                await verify_role(probe)
        finally:
            await probe.close()
            for name in reversed(names):
                await connection.execute(f"DROP ROLE {name}")


async def test_the_application_role_is_accepted(database: Database) -> None:
    await verify_role(database)
