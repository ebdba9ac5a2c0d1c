"""Who ever held a secret of a principal, kept longer than the principal and its keys."""

from alembic import op

from eai.platform.tenancy import tenant_table

revision = "0029"
down_revision = "0028"


def upgrade() -> None:
    """Add the record, with what principals and keys that are still there tell of their makers."""
    _holders()
    _backfill()


def _holders() -> None:
    """It points at nothing that can be removed, and the application only ever adds to it."""
    op.execute("""
        CREATE TABLE eai.principal_secret_holders (
            tenant_id    uuid NOT NULL REFERENCES eai.tenants,
            principal_id uuid NOT NULL,
            holder_id    uuid NOT NULL,
            since        timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, principal_id, holder_id),
            CHECK (holder_id <> principal_id)
        )""")


def _backfill() -> None:
    """Row level security is forced on the owner too, which has to see every tenant here, and here alone.

    Who rotated a key of somebody else's, and who was behind principals that are gone, no row tells.
    """
    for table in ("principals", "api_keys"):
        op.execute(f"ALTER TABLE eai.{table} NO FORCE ROW LEVEL SECURITY")
    op.execute("""
        INSERT INTO eai.principal_secret_holders (tenant_id, principal_id, holder_id, since)
        SELECT tenant_id, principal_id, holder_id, min(since)
          FROM (SELECT tenant_id, id, created_by, created_at FROM eai.principals
                UNION ALL
                SELECT tenant_id, principal_id, created_by, created_at FROM eai.api_keys)
            AS made (tenant_id, principal_id, holder_id, since)
         WHERE holder_id <> principal_id
         GROUP BY tenant_id, principal_id, holder_id""")
    for table in ("principals", "api_keys"):
        op.execute(f"ALTER TABLE eai.{table} FORCE ROW LEVEL SECURITY")
    tenant_table("principal_secret_holders", grants="SELECT, INSERT")
