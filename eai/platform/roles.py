"""The database roles, and the refusal to run with any other arrangement.

eai_owner    owns schema and tables; used by migrations only, reached by SET ROLE from the admin URL
eai_app      all requests and jobs; subject to row level security, owns nothing
eai_auth     owns `authenticate`: may read credentials, so that a key finds its tenant
eai_audit    owns the append functions: may add audit and usage rows, nothing else
eai_sweeper  owns the functions that list tenants: may read their ids and what makes work due, no contents;
             the caller then binds each one
"""

import psycopg
from psycopg import sql
from sqlalchemy import make_url

from eai.platform.conninfo import libpq_conninfo
from eai.platform.database import Database

OWNER, APP, AUTH, AUDIT, SWEEPER = "eai_owner", "eai_app", "eai_auth", "eai_audit", "eai_sweeper"
STEP_ROLES = (AUTH, AUDIT, SWEEPER)
JOBS_SCHEMA = "eai_jobs"


class UnsafeRole(RuntimeError):
    """The role of EAI_DATABASE_URL could see past row level security; nothing may start with it."""


async def create_roles(admin_url: str, app_url: str) -> None:
    """Create the roles and schemas that are missing; harmless when all are there.

    `app_url` must name the role `eai_app`; its password, if any, becomes the role's.
    """
    app = make_url(app_url)
    if app.username != APP:
        message = f"EAI_DATABASE_URL must connect as {APP}, not as {app.username}"
        raise UnsafeRole(message)
    async with await psycopg.AsyncConnection.connect(libpq_conninfo(admin_url)) as connection:
        await connection.execute("SELECT pg_advisory_xact_lock(hashtext('eai.roles'))")
        for role in (OWNER, APP, *STEP_ROLES):
            await _create_role(connection, role)
        if app.password:
            await connection.execute(
                sql.SQL("ALTER ROLE {} LOGIN PASSWORD {}").format(
                    sql.Identifier(APP), sql.Literal(str(app.password))
                )
            )
        for role in STEP_ROLES:
            await connection.execute(
                sql.SQL("GRANT {} TO {}").format(sql.Identifier(role), sql.Identifier(OWNER))
            )
        await _grant_owner_to_admin(connection)
        await _create_schemas(connection)


async def verify_role(database: Database) -> None:
    """Raise UnsafeRole unless the connected role is bound by row level security on every table."""
    ((faults,),) = await database.statement(_FAULTS, {"schema": "eai", "ours": "eai\\_%"})
    if faults:
        message = "the database role must not serve requests: " + "; ".join(faults)
        raise UnsafeRole(message)


async def _create_role(connection: psycopg.AsyncConnection, role: str) -> None:
    found = await connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [role])
    if await found.fetchone():
        return
    login = sql.SQL("LOGIN" if role == APP else "NOLOGIN")
    await connection.execute(
        sql.SQL("CREATE ROLE {} {} NOSUPERUSER NOCREATEDB NOCREATEROLE NOINHERIT NOBYPASSRLS").format(
            sql.Identifier(role), login
        )
    )


async def _grant_owner_to_admin(connection: psycopg.AsyncConnection) -> None:
    await connection.execute(sql.SQL("GRANT {} TO CURRENT_USER").format(sql.Identifier(OWNER)))


async def _create_schemas(connection: psycopg.AsyncConnection) -> None:
    for schema in ("eai", JOBS_SCHEMA):
        await connection.execute(
            sql.SQL("CREATE SCHEMA IF NOT EXISTS {} AUTHORIZATION {}").format(
                sql.Identifier(schema), sql.Identifier(OWNER)
            )
        )
    settings = {
        "search_path": f"eai, {JOBS_SCHEMA}",
        "lock_timeout": "5s",
        "statement_timeout": "60s",
        # Less than the lease of a job: a process that froze in the middle of a transaction has let go of
        # what it held before its jobs are given to others.
        "idle_in_transaction_session_timeout": "15s",
    }
    for name, value in settings.items():
        await connection.execute(
            sql.SQL("ALTER ROLE {} SET {} = {}").format(
                sql.Identifier(APP),
                sql.Identifier(name),
                sql.SQL(value) if name == "search_path" else sql.Literal(value),
            )
        )


_FAULTS = """
SELECT array_remove(ARRAY[
    CASE WHEN r.rolsuper THEN 'it is a superuser' END,
    CASE WHEN r.rolbypassrls THEN 'it has BYPASSRLS' END,
    (SELECT 'it is a member of ' || string_agg(other.rolname, ', ' ORDER BY other.rolname) FROM pg_roles other
      WHERE (other.rolname LIKE %(ours)s OR other.rolsuper OR other.rolbypassrls)
        AND other.oid <> r.oid AND pg_has_role(r.oid, other.oid, 'MEMBER')),
    (SELECT 'it owns ' || count(*) || ' relations' FROM pg_class c
      WHERE c.relowner = r.oid HAVING count(*) > 0),
    (SELECT 'it may truncate, reference or trigger on ' || string_agg(c.relname, ', ' ORDER BY c.relname)
       FROM pg_class c
       JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = %(schema)s
      WHERE c.relkind IN ('r', 'p') AND has_table_privilege(r.oid, c.oid, 'TRUNCATE, REFERENCES, TRIGGER')),
    (SELECT 'row level security is not forced on ' || string_agg(c.relname, ', ')
       FROM pg_class c
       JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = %(schema)s
       JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped
      WHERE c.relkind IN ('r', 'p') AND NOT (c.relrowsecurity AND c.relforcerowsecurity))
], NULL) FROM pg_roles r WHERE r.rolname = current_user
"""
