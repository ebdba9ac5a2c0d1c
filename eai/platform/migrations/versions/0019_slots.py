"""What tells which jobs the sweep has to look at, and which of them may have killed their process."""

from alembic import op

from eai.platform.roles import JOBS_SCHEMA, SWEEPER
from eai.platform.tenancy import step_function

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """Let a job count how its attempts ended, and let indexes answer what the sweep asks."""
    _attempts()
    _sweep()
    _turns()
    _retired()


def _attempts() -> None:
    """`unsettled`: attempts in a row whose end nobody settled, the present one among them."""
    op.execute("ALTER TABLE eai.jobs ADD COLUMN unsettled integer NOT NULL DEFAULT 0")


def _sweep() -> None:
    """Of one tenant: what the dead have left, what waits, and which jobs a message still waits for."""
    op.execute("DROP INDEX eai.jobs_leases")
    op.execute("""
        CREATE INDEX jobs_leases ON eai.jobs (tenant_id, state, lease_until)
        WHERE state IN ('queued', 'running')""")
    op.execute(f"""
        CREATE INDEX jobs_announced ON {JOBS_SCHEMA}.procrastinate_jobs ((args->>'job'))
        WHERE status = 'todo'""")


def _turns() -> None:
    """Which round a queue has come to, and which is the last in which a tenant has a turn there."""
    for name, columns in (
        ("jobs_rounds", "queue_name, priority"),
        ("jobs_turns", "queue_name, (args->>'tenant'), priority"),
    ):
        op.execute(f"""
            CREATE INDEX {name} ON {JOBS_SCHEMA}.procrastinate_jobs ({columns}) WHERE status = 'todo'""")


def _retired() -> None:
    """Ids of tenants alone, found by what is over and not by asking each tenant."""
    op.execute("""
        CREATE INDEX generations_retired_due ON eai.kb_generations (retired_at) WHERE state = 'retired'""")
    op.execute(f"CREATE POLICY sweep ON eai.kb_generations FOR SELECT TO {SWEEPER} USING (true)")
    op.execute(f"GRANT SELECT (tenant_id, state, retired_at) ON eai.kb_generations TO {SWEEPER}")
    op.execute("""
        CREATE FUNCTION eai.tenants_with_retired_generations(p_grace interval) RETURNS SETOF uuid
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path = eai, pg_temp AS $$
            SELECT DISTINCT g.tenant_id FROM kb_generations g
             WHERE g.state = 'retired' AND g.retired_at <= now() - p_grace
        $$""")
    step_function("tenants_with_retired_generations(interval)", SWEEPER)
