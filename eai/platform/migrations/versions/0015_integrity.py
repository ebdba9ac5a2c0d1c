"""What the last examination of each tenant found."""

from alembic import op

from eai.platform.tenancy import tenant_table

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """One row a tenant: when it was examined, what was found then, and what was mended."""
    op.execute("""
        CREATE TABLE eai.integrity_reports (
            tenant_id  uuid PRIMARY KEY REFERENCES eai.tenants,
            checked_at timestamptz NOT NULL,
            findings   jsonb NOT NULL DEFAULT '[]',
            mended     jsonb NOT NULL DEFAULT '{}',
            failed     jsonb NOT NULL DEFAULT '[]'
        )""")
    tenant_table("integrity_reports")
