"""What the record of who held secrets begins with, where there were principals and keys before it."""

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from uuid import UUID, uuid4

import psycopg
import pytest
from alembic import command
from alembic.config import Config
from psycopg import sql
from sqlalchemy import create_engine, make_url, text

from eai.platform.conninfo import libpq_conninfo
from eai.platform.migrate import MIGRATIONS, migrate
from eai.platform.roles import create_roles
from tests.conftest import DatabaseUrls

BEFORE = "0028"
EARLY, LATE = datetime(2026, 1, 2, tzinfo=UTC), datetime(2026, 3, 4, tzinfo=UTC)
FOUNDER, MAKER, ROBOT = uuid4(), uuid4(), uuid4()


@pytest.fixture
async def urls(database_urls: DatabaseUrls) -> AsyncIterator[DatabaseUrls]:
    """A database as it was before the record."""
    name = f"eai_{uuid4().hex[:12]}"
    with psycopg.connect(database_urls.admin, autocommit=True) as admin:
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    admin_url, app_url = (
        make_url(url).set(database=name).render_as_string(hide_password=False)
        for url in (database_urls.admin, database_urls.app)
    )
    await create_roles(admin_url, app_url)
    upgrade(admin_url, BEFORE)
    yield DatabaseUrls(app=app_url, admin=admin_url)
    with psycopg.connect(database_urls.admin, autocommit=True) as admin:
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def upgrade(admin_url: str, revision: str) -> None:
    engine = create_engine(make_url(admin_url).set(drivername="postgresql+psycopg"))
    with engine.begin() as connection:
        connection.execute(text("SET LOCAL ROLE eai_owner"))
        connection.execute(text("SET LOCAL search_path = eai"))
        config = Config()
        config.set_main_option("script_location", str(MIGRATIONS))
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
    engine.dispose()


def add_tenant(admin: psycopg.Connection) -> UUID:
    tenant = uuid4()
    admin.execute(
        "INSERT INTO eai.tenants (tenant_id, slug, name) VALUES (%s, %s, 'Test')", [tenant, f"t-{tenant}"]
    )
    return tenant


def add_principal(
    admin: psycopg.Connection, tenant: UUID, principal: UUID, maker: UUID | None, made_at: datetime
) -> None:
    admin.execute(
        "INSERT INTO eai.principals (tenant_id, id, kind, name, clearance, roles, created_by, created_at)"
        " VALUES (%s, %s, 'service', 'robot', 1, '{}', %s, %s)",
        [tenant, principal, maker, made_at],
    )


def add_key(
    admin: psycopg.Connection, tenant: UUID, principal: UUID, maker: UUID | None, made_at: datetime
) -> None:
    admin.execute(
        "INSERT INTO eai.api_keys (tenant_id, id, principal_id, key_id, secret_mac, created_by, created_at)"
        " VALUES (%s, %s, %s, %s, '', %s, %s)",
        [tenant, uuid4(), principal, uuid4().hex, maker, made_at],
    )


async def test_makers_of_principals_and_keys_that_are_there_are_on_record(urls: DatabaseUrls) -> None:
    with psycopg.connect(libpq_conninfo(urls.admin), autocommit=True) as admin:
        mine, other = add_tenant(admin), add_tenant(admin)
        add_principal(admin, mine, FOUNDER, None, EARLY)
        add_key(admin, mine, FOUNDER, None, EARLY)
        add_principal(admin, mine, MAKER, FOUNDER, LATE)
        add_key(admin, mine, MAKER, FOUNDER, EARLY)
        add_key(admin, mine, MAKER, MAKER, EARLY)
        add_principal(admin, mine, ROBOT, MAKER, EARLY)
        add_key(admin, mine, ROBOT, FOUNDER, LATE)
        add_principal(admin, other, ROBOT, FOUNDER, LATE)
        await migrate(urls.admin, urls.app)
        held = admin.execute(
            "SELECT tenant_id, principal_id, holder_id, since FROM eai.principal_secret_holders"
        )
        assert set(held.fetchall()) == {
            (mine, MAKER, FOUNDER, EARLY),
            (mine, ROBOT, MAKER, EARLY),
            (mine, ROBOT, FOUNDER, LATE),
            (other, ROBOT, FOUNDER, LATE),
        }
        unforced = admin.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'eai'::regnamespace AND relrowsecurity"
            " AND NOT relforcerowsecurity"
        )
        assert unforced.fetchall() == []
