"""What is done to the database of the schedules, so that the same steps have the same answers each time."""

from typing import Any

import psycopg
from psycopg import sql

_COPIED = (
    "principals", "knowledge_bases", "knowledge_base_entries", "kb_generations", "kb_documents",
    "kb_document_versions", "kb_rights_classes", "kb_chunks", "kb_term_statistics", "kb_language_statistics",
    "kb_reindex_jobs",
)  # fmt: skip

_OF_THE_ROLE = {
    # Time stands still: however long it takes on a busy machine, nobody has waited.
    "lock_timeout": "0",
    "statement_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "deadlock_timeout": "1h",
    # Rows come in the order of an index, however many others there are by then.
    "enable_seqscan": "off",
    "enable_bitmapscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "plan_cache_mode": "force_generic_plan",
    "jit": "off",
    # Nothing is played on after its server has died.
    "synchronous_commit": "off",
}


def settle(admin: psycopg.Connection[Any]) -> None:
    """Beforehand, as superuser."""
    _fix_settings(admin)
    _leave_tables_alone(admin)
    _install_copying(admin)
    _install_removing(admin)


def _fix_settings(admin: psycopg.Connection[Any]) -> None:
    database = sql.Identifier(admin.info.dbname)
    for name, value in _OF_THE_ROLE.items():
        setting = sql.SQL("SET {} = {}").format(sql.Identifier(name), sql.Literal(value))
        admin.execute(setting)
        admin.execute(sql.SQL("ALTER ROLE eai_app IN DATABASE {} {}").format(database, setting))


def _leave_tables_alone(admin: psycopg.Connection[Any]) -> None:
    """No vacuum locks anything, moves anything, or changes a plan."""
    for (name,) in admin.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'eai'").fetchall():
        table = sql.Identifier("eai", name)
        admin.execute(sql.SQL("ALTER TABLE {} SET (autovacuum_enabled = off)").format(table))


def _install_copying(admin: psycopg.Connection[Any]) -> None:
    """A function in the database: a copy is one round trip."""
    steps = []
    for table in _COPIED:
        found = admin.execute(
            "SELECT a.attname FROM pg_attribute a WHERE a.attrelid = ('eai.' || %s)::regclass"
            " AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' AND a.attname <> 'tenant_id'"
            " ORDER BY a.attnum",
            [table],
        )
        columns = ", ".join(f'"{name}"' for (name,) in found)
        steps.append(
            f"INSERT INTO eai.{table} (tenant_id, {columns}) SELECT p_to, {columns} FROM eai.{table}"
            " WHERE tenant_id = p_from;"
        )
    admin.execute(
        "CREATE FUNCTION copy_tenant(p_from uuid, p_to uuid) RETURNS void LANGUAGE plpgsql AS $$ BEGIN"  # type: ignore[arg-type]
        " INSERT INTO eai.tenants (tenant_id, slug, name) VALUES (p_to, 't-' || p_to, 'Test');"
        f" {' '.join(steps)} END $$"
    )


def _install_removing(admin: psycopg.Connection[Any]) -> None:
    """Rows of what may only be added to as well: no trigger is asked."""
    tables = admin.execute(
        "SELECT c.relname FROM pg_class c"
        " JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id'"
        " WHERE c.relnamespace = 'eai'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition"
    )
    steps = " ".join(f"DELETE FROM eai.{name} WHERE tenant_id = p_tenant;" for (name,) in tables)
    admin.execute(
        "CREATE FUNCTION remove_tenant(p_tenant uuid) RETURNS void LANGUAGE plpgsql"  # type: ignore[arg-type]
        f" SET session_replication_role = replica AS $$ BEGIN {steps} END $$"
    )
