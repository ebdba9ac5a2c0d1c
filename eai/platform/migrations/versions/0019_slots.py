"""What lets the sweep pass over jobs whose message is on its way, however many they are."""

from alembic import op

from eai.platform.roles import JOBS_SCHEMA

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """Indexes that answer, of one tenant, what the dead have left, what waits, and who is still told."""
    op.execute("DROP INDEX eai.jobs_leases")
    op.execute("""
        CREATE INDEX jobs_leases ON eai.jobs (tenant_id, state, lease_until)
        WHERE state IN ('queued', 'running')""")
    op.execute(f"""
        CREATE INDEX jobs_announced ON {JOBS_SCHEMA}.procrastinate_jobs ((args->>'job'))
        WHERE status = 'todo'""")
