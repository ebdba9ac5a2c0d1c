"""What each role may do to the audit, as the catalogue says and as PostgreSQL does it: attack 94 and 96."""

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import ProgrammingError

from eai.audit.service import Audit
from eai.kernel.ids import TenantId
from eai.platform.database import Database
from tests.integration.audit.conftest import Superuser, read_of
from tests.integration.audit.test_appending import count

APPEND_ONLY = ("audit_events", "audit_heads", "audit_details", "audit_checkpoints", "usage_events")
CHANGES = (
    "UPDATE eai.{} SET tenant_id = tenant_id",
    "DELETE FROM eai.{}",
    "TRUNCATE eai.{}",
    "INSERT INTO eai.{} SELECT * FROM eai.{} WHERE false",
)
PRIVILEGES = """
    SELECT table_name, string_agg(DISTINCT privilege_type, ' ' ORDER BY privilege_type)
      FROM information_schema.role_table_grants
     WHERE table_schema = 'eai' AND grantee = %(role)s AND table_name = ANY (%(tables)s)
     GROUP BY table_name"""
TABLES = [*APPEND_ONLY, "audit_detail_keys", "signing_keys"]


def privileges(superuser: Superuser, role: str) -> dict[object, object]:
    return dict(superuser.execute(PRIVILEGES, role=role, tables=TABLES))  # type: ignore[arg-type]


def test_the_application_may_read_the_audit_and_delete_keys_of_details(superuser: Superuser) -> None:
    assert privileges(superuser, "eai_app") == {
        "audit_events": "SELECT",
        "audit_heads": "SELECT",
        "audit_details": "SELECT",
        "audit_checkpoints": "SELECT",
        "usage_events": "SELECT",
        "audit_detail_keys": "DELETE INSERT SELECT",
        "signing_keys": "INSERT SELECT",
    }


def test_the_audit_role_may_append_and_advance_heads(superuser: Superuser) -> None:
    assert privileges(superuser, "eai_audit") == {
        "audit_events": "INSERT",
        "audit_heads": "INSERT SELECT UPDATE",
        "audit_details": "INSERT",
        "audit_checkpoints": "INSERT SELECT",
        "usage_events": "INSERT",
    }
    columns = superuser.execute("""
        SELECT column_name FROM information_schema.role_column_grants
         WHERE grantee = 'eai_audit' AND table_name = 'audit_checkpoints' AND privilege_type = 'UPDATE'""")
    assert columns == [("anchored_at",)]


def test_the_steps_belong_to_the_audit_role_and_pin_their_search_path(superuser: Superuser) -> None:
    rows = superuser.execute("""
        SELECT p.proname, p.prosecdef, pg_get_userbyid(p.proowner), p.proconfig,
               has_function_privilege('eai_app', p.oid, 'EXECUTE'),
               has_function_privilege('eai_auth', p.oid, 'EXECUTE')
          FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
         WHERE n.nspname = 'eai' AND p.proname LIKE 'audit\\_%%'""")
    path = ["search_path=eai, pg_temp"]
    assert {name: (*rest,) for name, *rest in rows} == {
        "audit_append": (True, "eai_audit", path, True, False),
        "audit_flush": (True, "eai_audit", path, True, False),
        "audit_checkpoint": (True, "eai_audit", path, True, False),
        "audit_anchored": (True, "eai_audit", path, True, False),
        "audit_unsettled": (True, "eai_audit", path, True, False),
        "audit_extend": (True, "eai_audit", path, False, False),
        "audit_head_lock": (False, "eai_audit", path, False, False),
    }


@pytest.mark.parametrize("table", APPEND_ONLY)
@pytest.mark.parametrize("change", CHANGES)
async def test_the_application_can_change_nothing(
    database: Database, audit: Audit, tenant: TenantId, table: str, change: str
) -> None:
    await audit.flush(read_of(tenant, query="?"))
    with pytest.raises(ProgrammingError) as refused:
        async with database.transaction(tenant) as session:
            await session.execute(text(change.format(table, table)))
    assert isinstance(refused.value.orig, psycopg.errors.InsufficientPrivilege)
    assert await count(database, tenant, "audit_events") == 2


@pytest.mark.parametrize("statement", ["SET ROLE eai_audit", "SET ROLE eai_owner"])
async def test_the_application_can_not_become_somebody_who_can(
    database: Database, tenant: TenantId, statement: str
) -> None:
    with pytest.raises(ProgrammingError):
        async with database.transaction(tenant) as session:
            await session.execute(text(statement))


async def test_a_tenant_sees_its_own_audit_only(
    database: Database, audit: Audit, tenant: TenantId, other_tenant: TenantId
) -> None:
    await audit.flush(read_of(tenant, query="?"))
    tables = [*(t for t in APPEND_ONLY if t != "audit_checkpoints"), "audit_detail_keys"]
    for table in tables:
        assert await count(database, tenant, table) > 0
        assert await count(database, other_tenant, table) == 0
        ((unbound,),) = await database.statement(f"SELECT count(*) FROM eai.{table}", {})
        assert unbound == 0


async def test_an_erasure_reaches_ones_own_keys_only(
    database: Database, audit: Audit, tenant: TenantId, other_tenant: TenantId
) -> None:
    await audit.flush(read_of(tenant, query="?"))
    async with database.transaction(other_tenant) as session:
        await session.execute(text("DELETE FROM eai.audit_detail_keys"))
    assert await count(database, tenant, "audit_detail_keys") == 1
