"""Which processes work at which groups of jobs, so that somebody can tell when none does."""

from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    """A row for each process, which belongs to no tenant and holds nothing of one."""
    op.execute("""
        CREATE TABLE eai.worker_processes (
            id      uuid PRIMARY KEY,
            groups  text[] NOT NULL,
            seen_at timestamptz NOT NULL DEFAULT clock_timestamp()
        )""")
    op.execute("GRANT SELECT, INSERT, UPDATE, DELETE ON eai.worker_processes TO eai_app")
