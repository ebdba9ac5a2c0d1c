"""What finds the jobs that were settled long ago."""

from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """The sweep asks every few seconds, and must not read every job for the answer that there are none."""
    op.execute("""
        CREATE INDEX jobs_settled ON eai.jobs (tenant_id, updated_at)
        WHERE state IN ('completed', 'cancelled', 'failed')""")
