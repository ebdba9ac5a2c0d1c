"""What stands around the rows and might tell of them or let go of them: attack lines 40, 42 and 43."""

from uuid import UUID

import psycopg
import pytest
from psycopg import errors, sql
from sqlalchemy import text

from eai.kernel.ids import TenantId
from eai.platform.database import Database
from tests.conftest import DatabaseUrls
from tests.factories.rows import Row, marker
from tests.migration.conftest import Seeded

TRIGGERS = {
    *("job_created", "job_changed", "document_served"),
    *("content_changed", "rights_changed", "version_changed", "base_changed", "entries_changed"),
    *("document_removed", "members_changed", "group_removed", "people_changed", "principals_changed"),
    *("policies_changed", "quotas_changed"),
}
"""They write what the caller may write, with the caller's rights."""


def test_there_are_no_views_triggers_or_rules_that_might_see_more(superuser: psycopg.Connection) -> None:
    others = superuser.execute("""
        SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = 'eai' AND c.relkind IN ('v', 'm', 'f')
        UNION SELECT t.tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
          JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'eai' AND NOT t.tgisinternal
        UNION SELECT r.rulename FROM pg_rules r WHERE r.schemaname = 'eai'""")
    assert {name for (name,) in others} == TRIGGERS


def test_a_copy_holds_what_the_binding_shows(seeded: Seeded) -> None:
    for table in seeded.tables:
        copy = sql.SQL("COPY {} TO STDOUT").format(table.sql)
        for binding, expected in ((str(seeded.mine), {str(seeded.mine)}), ("", set())):
            with seeded.bound(binding) as app, app.cursor().copy(copy) as out:
                held = b"".join(out).decode()
            assert str(seeded.other) not in held, table.name
            assert {str(seeded.mine)} & {held[at : at + 36] for at in range(len(held))} == expected


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("TRUNCATE {}", errors.InsufficientPrivilege),
        ("TRUNCATE {} CASCADE", errors.InsufficientPrivilege),
        ("SELECT set_config('row_security', 'off', true); SELECT * FROM {}", errors.InsufficientPrivilege),
        ("COPY {} TO '/tmp/eai_copy'", errors.InsufficientPrivilege),
        ("COPY {} TO PROGRAM 'cat'", errors.InsufficientPrivilege),
        ("COPY {} FROM PROGRAM 'echo'", errors.InsufficientPrivilege),
        ("ALTER TABLE {} NO FORCE ROW LEVEL SECURITY", errors.InsufficientPrivilege),
        ("CREATE POLICY mine ON {} USING (true)", errors.InsufficientPrivilege),
        ("CREATE TRIGGER t BEFORE INSERT ON {} EXECUTE FUNCTION suppress_redundant_updates_trigger()",
         errors.InsufficientPrivilege),
        ("CREATE RULE r AS ON SELECT TO {} DO INSTEAD NOTHING", errors.InsufficientPrivilege),
        ("CREATE STATISTICS eai.mine ON tenant_id, ctid FROM {}", errors.Error),
        ("COMMENT ON TABLE {} IS 'mine'", errors.InsufficientPrivilege),
    ],
)  # fmt: skip
def test_no_table_yields_to_what_only_its_owner_may(
    seeded: Seeded, statement: str, error: type[Exception]
) -> None:
    for table in seeded.tables:
        with pytest.raises(error), seeded.bound(str(seeded.mine)) as app:
            app.execute(sql.SQL(statement).format(table.sql), prepare=False)  # type: ignore[arg-type]


def test_a_lock_shows_nothing_and_what_only_grows_cannot_be_locked(seeded: Seeded) -> None:
    only_grows = {
        "audit_events", "audit_heads", "audit_details", "audit_checkpoints", "usage_events",
    }  # fmt: skip
    for table in seeded.tables:
        lock = sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE NOWAIT").format(table.sql)
        if table.name in only_grows:
            with pytest.raises(errors.InsufficientPrivilege), seeded.bound("") as app:
                app.execute(lock)


def test_statistics_hold_no_values_for_the_application(seeded: Seeded, superuser: psycopg.Connection) -> None:
    superuser.execute("ANALYZE")
    kept = superuser.execute("SELECT count(*) FROM pg_stats WHERE schemaname = 'eai'").fetchone()
    assert kept is not None
    assert kept[0] > 100
    named = sorted(table.name for table in seeded.tables)
    with seeded.bound(str(seeded.mine)) as app:
        for view in ("pg_stats", "pg_stats_ext", "pg_stats_ext_exprs"):
            shown = app.execute(
                f"SELECT tablename FROM {view} WHERE schemaname = 'eai' AND tablename = ANY (%s)", [named]
            )
            assert shown.fetchall() == [], view
        for table in ("pg_statistic", "pg_statistic_ext_data", "pg_authid", "pg_user_mapping"):
            with pytest.raises(errors.InsufficientPrivilege), app.transaction():
                app.execute(f"SELECT * FROM {table}")


async def test_what_other_sessions_do_holds_no_values(seeded: Seeded, seeded_urls: DatabaseUrls) -> None:
    secret = marker(seeded.other)
    database = Database(seeded_urls.app)
    await database.open()
    async with database.transaction(TenantId(seeded.other)) as session:
        await session.execute(
            text("SELECT count(*) FROM eai.kb_documents WHERE title = :title"), {"title": secret}
        )
        await database.statement("SELECT %(secret)s::text", {"secret": secret})
        with seeded.bound(str(seeded.mine)) as app:
            seen = app.execute("SELECT query FROM pg_stat_activity").fetchall()
    await database.close()
    texts = [query for (query,) in seen if query]
    assert any("eai.kb_documents" in query for query in texts)
    assert [query for query in texts if secret in query or str(seeded.other) in query] == []


@pytest.mark.parametrize(
    "call",
    [
        "pg_read_file('PG_VERSION')",
        "pg_ls_dir('.')",
        "pg_read_binary_file('PG_VERSION')",
        "pg_ls_logdir()",
        "pg_ls_waldir()",
        "lo_import('/etc/hostname')",
        "pg_reload_conf()",
        "pg_switch_wal()",
        "pg_create_physical_replication_slot('s')",
    ],
)
def test_the_servers_files_are_closed(seeded: Seeded, call: str) -> None:
    with pytest.raises(errors.InsufficientPrivilege), seeded.bound(str(seeded.mine)) as app:
        app.execute(f"SELECT {call}")


def test_every_function_in_reach_tells_and_changes_nothing_of_another_tenant(
    seeded: Seeded, superuser: psycopg.Connection
) -> None:
    reachable = {
        name
        for (name,) in superuser.execute("""
            SELECT p.proname FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
             WHERE n.nspname = 'eai' AND has_function_privilege('eai_app', p.oid, 'EXECUTE')""")
    }
    by_key = {"authenticate", "subject", "open_query"}
    """The tenant is the one whose secret is presented; what they show is tested with identity."""
    across = {call.partition("(")[0] for call in ACROSS}
    """The named steps that tell tenants' ids, and nothing else."""
    flushing = {"audit_flush"}
    """Appends to the chain that each entry names; tested with the audit."""
    assert reachable == by_key | across | flushing | set(CALLS)
    their = seeded.rows[seeded.other]
    before = _everything_of(superuser, seeded, seeded.other)
    for name, (call, parameters) in CALLS.items():
        values = [value(seeded.mine, their) if callable(value) else value for value in parameters]
        try:
            with seeded.bound(str(seeded.mine)) as app:
                answered = app.execute(f"SELECT * FROM eai.{call}", values).fetchall()
                assert marker(seeded.other) not in str(answered), name
                assert str(seeded.other) not in str(answered), name
                assert _everything_of(app, seeded, seeded.other) == {t.name: [] for t in seeded.tables}
        except (errors.InsufficientPrivilege, errors.RaiseException):
            continue
    assert _everything_of(superuser, seeded, seeded.other) == before


def test_the_steps_across_tenants_tell_ids_alone(seeded: Seeded) -> None:
    with seeded.bound(str(seeded.mine)) as app:
        app.execute("UPDATE eai.kb_generations SET state = 'retired', retired_at = now()")
        app.execute("UPDATE eai.tenant_keys SET remove_at = now()")
        app.execute("SELECT set_config('app.tenant_id', '', true)")
        for call in ACROSS:
            rows = app.execute(f"SELECT * FROM eai.{call}").fetchall()
            assert rows
            assert all(len(row) == 1 and isinstance(row[0], UUID) for row in rows)


def _everything_of(connection: psycopg.Connection, seeded: Seeded, tenant: UUID) -> dict[str, list[str]]:
    statement = "SELECT t::text FROM {} t WHERE tenant_id = %s ORDER BY 1"
    return {
        table.name: [text for (text,) in connection.execute(sql.SQL(statement).format(table.sql), [tenant])]
        for table in seeded.tables
    }


def _body(_mine: UUID, their: dict[str, Row]) -> bytes:
    other = their["tenants"]["tenant_id"]
    return (
        f'{{"tenant": "{other}", "occurred_at": "2026-01-02T00:00:00Z", "action": "x", "decision": "allow"}}'
    ).encode()


def _their_tenant(_mine: UUID, their: dict[str, Row]) -> object:
    return their["tenants"]["tenant_id"]


def _their_base(_mine: UUID, their: dict[str, Row]) -> object:
    return their["knowledge_bases"]["id"]


ACROSS = (
    "list_tenant_ids()",
    "audit_unsettled(1, now())",
    "tenants_with_expired_calls()",
    "tenants_with_due_work('-1 year')",
    "tenants_with_retired_generations('-1 year')",
    "tenants_with_due_keys()",
)
CALLS: dict[str, tuple[str, list[object]]] = {
    "shown_progress": ("shown_progress(%s::jsonb)", ['{"stage": "reading"}']),
    "subject_of_key": ("subject_of_key(%s)", [lambda _, their: their["api_keys"]["id"]]),
    "recheck": (
        "recheck(%s, %s, %s, %s, ARRAY[%s::uuid], true)",
        [
            lambda mine, _: mine,
            lambda _, their: their["api_keys"]["id"],
            lambda _, their: their["knowledge_bases"]["id"],
            lambda _, their: their["kb_generations"]["id"],
            lambda _, their: their["kb_chunks"]["id"],
        ],
    ),
    "gateway_facts": ("gateway_facts(%s, 'm')", [lambda _, their: their["tenants"]["tenant_id"]]),
    "read_gateway_facts": ("read_gateway_facts(%s, 'm')", [lambda mine, _: mine]),
    "reserve_model_call": (
        "reserve_model_call(%s, %s, NULL, ARRAY[%s::uuid], %s,"  # noqa: ISC004 one statement
        " '', '', '', 1, 1, NULL, NULL, NULL, NULL, NULL)",
        [
            lambda mine, _: mine,
            lambda _, their: their["model_reservations"]["id"],
            lambda _, their: their["groups"]["id"],
            lambda _, their: their["knowledge_bases"]["id"],
        ],
    ),
    "kill_switch_lock": ("kill_switch_lock(%s)", [lambda _, their: their["tenants"]["tenant_id"]]),
    "calls_in_flight": ("calls_in_flight(NULL)", []),
    "audit_append": ("audit_append(%s, NULL, NULL, NULL)", [_body]),
    "audit_checkpoint": ("audit_checkpoint(1, '', '', now(), 'k', '', '', '')", []),
    "this_epoch": ("this_epoch()", []),
    "begin_content_epoch": ("begin_content_epoch(%s, %s)", [_their_tenant, _their_base]),
    "begin_rights_epoch": ("begin_rights_epoch(%s, %s)", [_their_tenant, _their_base]),
    "begin_tenant_rights_epoch": ("begin_tenant_rights_epoch(%s)", [_their_tenant]),
    "cache_bounds": ("cache_bounds(%s, %s)", [_their_tenant, _their_base]),
    "cache_bounds_now": ("cache_bounds_now(%s, %s)", [lambda mine, _: mine, _their_base]),
    "audit_anchored": ("audit_anchored(ARRAY[1::bigint])", []),
}
"""Each function that works within the bound tenant, called with ids of another."""
