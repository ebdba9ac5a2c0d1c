"""Tenants' own policies: those in force, every version there was, and one number that tells them apart."""

from alembic import op

from eai.platform.tenancy import tenant_table

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """A version is written once; the application can neither change nor remove one."""
    op.execute("""
        CREATE TABLE eai.tenant_policies (
            tenant_id  uuid NOT NULL REFERENCES eai.tenants,
            id         uuid NOT NULL,
            name       text NOT NULL,
            cedar      text NOT NULL,
            version    bigint NOT NULL,
            revision   integer NOT NULL DEFAULT 1,
            created_by uuid,
            created_at timestamptz NOT NULL DEFAULT now(),
            updated_at timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, id),
            UNIQUE (tenant_id, name)
        )""")
    tenant_table("tenant_policies")
    op.execute("""
        CREATE TABLE eai.policy_versions (
            tenant_id  uuid NOT NULL REFERENCES eai.tenants,
            version    bigint NOT NULL,
            name       text NOT NULL,
            cedar      text,
            changed_by uuid,
            created_at timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, version)
        )""")
    op.execute("CREATE INDEX policy_versions_name ON eai.policy_versions (tenant_id, name, version)")
    tenant_table("policy_versions", grants="SELECT, INSERT")
    op.execute("""
        CREATE TABLE eai.policy_counters (
            tenant_id uuid PRIMARY KEY REFERENCES eai.tenants,
            version   bigint NOT NULL
        )""")
    tenant_table("policy_counters", grants="SELECT, INSERT, UPDATE")
