"""What tells which jobs the sweep has to look at, and which of them may have killed their process."""

from alembic import op

from eai.platform.roles import JOBS_SCHEMA

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """Let a job count how its attempts ended, and let indexes answer what the sweep asks."""
    _attempts()
    _sweep()


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
