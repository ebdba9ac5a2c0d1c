"""What the migrations make of a database: the same as the models say, and every tenant table guarded."""

import asyncio
from collections.abc import Iterator

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from psycopg import sql
from sqlalchemy import create_engine, make_url

import eai.audit.models
import eai.connectors.models
import eai.finops.models
import eai.gateway.models
import eai.identity.models
import eai.integrity.models
import eai.knowledge.models
import eai.policies.models
import eai.privacy.models
import eai.quarantine.models
import eai.reindex.models
import eai.retention.models
import eai.tenants.models
from eai.platform.conninfo import libpq_conninfo
from eai.platform.migrate import migrate
from eai.platform.schema import Row
from tests.conftest import DatabaseUrls

MODELS = (
    eai.audit.models,
    eai.connectors.models,
    eai.finops.models,
    eai.gateway.models,
    eai.identity.models,
    eai.integrity.models,
    eai.knowledge.models,
    eai.policies.models,
    eai.privacy.models,
    eai.quarantine.models,
    eai.reindex.models,
    eai.retention.models,
    eai.tenants.models,
)

OPERATORS = {"provider_endpoints", "platform_models", "platform_kill_switches"}
"""Tables that operators write and every tenant reads, as far as they concern it."""

WITHOUT_TENANT = {"schema_version", "signing_keys", "worker_processes"} | OPERATORS
"""Tables that belong to no tenant, with nothing in them that does."""

WITHOUT_MODEL = {
    "schema_version",
    "jobs",
    "job_events",
    "idempotency_records",
    "tenant_keys",
    "worker_processes",
    "base_epochs",
    "tenant_epochs",
}
"""Tables that only SQL functions or the platform's own statements touch."""


@pytest.fixture
def admin(database_urls: DatabaseUrls) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database_urls.admin) as connection:
        yield connection


def tables(admin: psycopg.Connection) -> set[str]:
    found = admin.execute("""
        SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = 'eai' AND c.relkind IN ('r', 'p', 'v', 'm')""")
    return {name for (name,) in found}


def test_every_table_has_a_tenant_but_for_those_named_here(admin: psycopg.Connection) -> None:
    found = admin.execute("""
        SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
          JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id'
         WHERE n.nspname = 'eai' AND c.relkind = 'r' AND a.attnotnull""")
    assert tables(admin) - {name for (name,) in found} == WITHOUT_TENANT


def test_row_level_security_is_forced_on_every_tenant_table(admin: psycopg.Connection) -> None:
    found = admin.execute("""
        SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = 'eai' AND c.relrowsecurity AND c.relforcerowsecurity""")
    assert {name for (name,) in found} == tables(admin) - WITHOUT_TENANT | OPERATORS


def test_the_policy_of_the_application_is_the_same_everywhere(admin: psycopg.Connection) -> None:
    rows = admin.execute(
        """
        SELECT tablename, cmd, qual, with_check FROM pg_policies
         WHERE schemaname = 'eai' AND 'eai_app' = ANY (roles) AND tablename <> ALL (%s)
           AND permissive = 'PERMISSIVE'""",
        [sorted(OPERATORS)],
    ).fetchall()
    bound = "(tenant_id = (NULLIF(current_setting('app.tenant_id'::text, true), ''::text))::uuid)"
    assert {name for name, *_ in rows} == tables(admin) - WITHOUT_TENANT
    assert {(cmd, qual, check) for _, cmd, qual, check in rows} == {("ALL", bound, bound)}


def test_what_operators_write_is_written_under_the_platforms_binding_alone(admin: psycopg.Connection) -> None:
    rows = admin.execute("""
        SELECT tablename, cmd, qual, with_check FROM pg_policies
         WHERE schemaname = 'eai' AND policyname IN ('reading', 'writing')""").fetchall()
    assert {name for name, *_ in rows} == OPERATORS
    writing = {(qual, check) for _, cmd, qual, check in rows if cmd != "SELECT"}
    bound = "(NULLIF(current_setting('app.tenant_id'::text, true), ''::text))::uuid"
    operator = f"({bound} = '00000000-0000-4000-8000-000000000000'::uuid)"
    assert writing == {(operator, operator)}
    assert all(f"({bound} IS NOT NULL)" in qual for _, cmd, qual, _ in rows if cmd == "SELECT")


def test_unique_and_foreign_keys_start_with_the_tenant(admin: psycopg.Connection) -> None:
    found = admin.execute(
        """
        SELECT c.relname, i.indexrelid::regclass::text
          FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
          JOIN pg_namespace n ON n.oid = c.relnamespace
          JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
         WHERE n.nspname = 'eai' AND i.indisunique AND a.attname <> 'tenant_id'
           AND c.relname <> ALL (%s)""",
        [sorted(WITHOUT_TENANT)],
    )
    # A credential's public id finds its tenant, and a slug is chosen among all tenants by an operator.
    assert set(found.fetchall()) == {
        ("api_keys", "eai.api_keys_key_id_key"),
        ("tenants", "eai.tenants_slug_key"),
    }


def test_the_application_owns_nothing_and_may_truncate_nothing(admin: psycopg.Connection) -> None:
    owned = admin.execute("SELECT count(*) FROM pg_class WHERE relowner = 'eai_app'::regrole").fetchone()
    assert owned == (0,)
    granted = admin.execute("""
        SELECT table_name, privilege_type FROM information_schema.table_privileges
         WHERE grantee = 'eai_app' AND privilege_type IN ('TRUNCATE', 'REFERENCES', 'TRIGGER')""")
    assert granted.fetchall() == []


def test_the_audit_is_append_only_for_the_application(admin: psycopg.Connection) -> None:
    granted = admin.execute("""
        SELECT table_name, privilege_type FROM information_schema.table_privileges
         WHERE grantee = 'eai_app' AND table_schema = 'eai'
           AND table_name IN ('audit_events', 'audit_heads', 'audit_details', 'audit_checkpoints',
                              'usage_events')""")
    assert {privilege for _, privilege in granted} == {"SELECT"}


def test_the_record_of_who_held_secrets_is_append_only_for_the_application(admin: psycopg.Connection) -> None:
    granted = admin.execute("""
        SELECT privilege_type FROM information_schema.table_privileges
         WHERE grantee = 'eai_app' AND table_schema = 'eai' AND table_name = 'principal_secret_holders'""")
    assert {privilege for (privilege,) in granted} == {"SELECT", "INSERT"}
    points_at = admin.execute("""
        SELECT confrelid::regclass::text FROM pg_constraint
         WHERE conrelid = 'eai.principal_secret_holders'::regclass AND contype = 'f'""")
    assert points_at.fetchall() == [("eai.tenants",)]


def test_only_the_named_steps_run_with_the_rights_of_others(admin: psycopg.Connection) -> None:
    found = admin.execute("""
        SELECT p.proname, r.rolname, p.proconfig FROM pg_proc p
          JOIN pg_namespace n ON n.oid = p.pronamespace JOIN pg_roles r ON r.oid = p.proowner
         WHERE n.nspname = 'eai' AND p.prosecdef""").fetchall()
    assert {(name, owner) for name, owner, _ in found} == {
        ("authenticate", "eai_auth"),
        ("list_tenant_ids", "eai_sweeper"),
        ("tenants_with_due_work", "eai_sweeper"),
        ("tenants_with_due_keys", "eai_sweeper"),
        ("tenants_with_expired_calls", "eai_sweeper"),
        ("tenants_with_retired_generations", "eai_sweeper"),
        ("calls_in_flight", "eai_sweeper"),
        ("audit_append", "eai_audit"),
        ("audit_flush", "eai_audit"),
        ("audit_extend", "eai_audit"),
        ("audit_checkpoint", "eai_audit"),
        ("audit_anchored", "eai_audit"),
        ("audit_unsettled", "eai_audit"),
    }
    assert all(config == ["search_path=eai, pg_temp"] for *_, config in found)


def test_no_function_can_be_called_by_everybody(admin: psycopg.Connection) -> None:
    found = admin.execute("""
        SELECT p.proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
         WHERE n.nspname = 'eai'
           AND (p.proacl IS NULL
                OR EXISTS (SELECT FROM aclexplode(p.proacl) g WHERE g.grantee = 0))""")
    assert found.fetchall() == []


def test_the_models_say_what_the_migrations_made(database_urls: DatabaseUrls) -> None:
    engine = create_engine(make_url(database_urls.admin).set(drivername="postgresql+psycopg"))
    modelled = {table.name for table in Row.metadata.tables.values()}
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection,
            opts={
                "include_schemas": True,
                "compare_type": True,
                "include_name": lambda name, kind, _: name == "eai" if kind == "schema" else True,
                "include_object": lambda _o, name, kind, _r, _c: (
                    name not in WITHOUT_MODEL if kind == "table" else kind == "column"
                ),
            },
        )
        differences = compare_metadata(context, Row.metadata)
        assert differences == []
    engine.dispose()
    with psycopg.connect(database_urls.admin) as admin:
        assert modelled == tables(admin) - WITHOUT_MODEL


async def test_migrating_twice_changes_nothing(database_urls: DatabaseUrls) -> None:
    await migrate(database_urls.admin, database_urls.app)
    with psycopg.connect(database_urls.admin) as admin:
        versions = admin.execute("SELECT version_num FROM eai.schema_version").fetchall()
    assert versions == [("0029",)]


async def test_two_processes_may_migrate_a_new_database_at_once(database_urls: DatabaseUrls) -> None:
    name = "eai_twice"
    with psycopg.connect(database_urls.admin, autocommit=True) as admin:
        admin.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(sql.Identifier(name)))
        admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    urls = [
        make_url(url).set(database=name).render_as_string(hide_password=False)
        for url in (database_urls.admin, database_urls.app)
    ]
    await asyncio.gather(*(migrate(*urls) for _ in range(3)))
    with psycopg.connect(libpq_conninfo(urls[0])) as fresh:
        assert len(tables(fresh)) > 20
    with psycopg.connect(database_urls.admin, autocommit=True) as admin:
        admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
