"""How long documents are kept, what a legal hold keeps longer, and what has expired."""

from alembic import op

from eai.platform.tenancy import tenant_table

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    """Add retention policies, legal holds and the record of what expired under which policy."""
    _policies()
    _holds()
    _expirations()


def _policies() -> None:
    """One policy for each kind of document: a base's, a level's, both, or with neither the tenant's."""
    op.execute("""
        CREATE TABLE eai.retention_policies (
            tenant_id      uuid NOT NULL REFERENCES eai.tenants,
            id             uuid NOT NULL,
            base_id        uuid,
            classification smallint CHECK (classification BETWEEN 0 AND 4),
            keep_days      integer NOT NULL CHECK (keep_days BETWEEN 1 AND 36500),
            revision       integer NOT NULL DEFAULT 1,
            created_by     uuid,
            created_at     timestamptz NOT NULL DEFAULT now(),
            updated_at     timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, id),
            UNIQUE NULLS NOT DISTINCT (tenant_id, base_id, classification),
            FOREIGN KEY (tenant_id, base_id) REFERENCES eai.knowledge_bases ON DELETE CASCADE
        )""")
    tenant_table("retention_policies")


def _holds() -> None:
    """A hold stays on record once it is released. It points at nothing: nobody waits for who places one."""
    op.execute("""
        CREATE TABLE eai.legal_holds (
            tenant_id   uuid NOT NULL REFERENCES eai.tenants,
            id          uuid NOT NULL,
            base_id     uuid NOT NULL,
            document_id uuid,
            reason      text NOT NULL,
            released_at timestamptz,
            released_by uuid,
            revision    integer NOT NULL DEFAULT 1,
            created_by  uuid,
            created_at  timestamptz NOT NULL DEFAULT now(),
            updated_at  timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, id)
        )""")
    op.execute("""
        CREATE INDEX legal_holds_in_force ON eai.legal_holds (tenant_id, base_id)
        WHERE released_at IS NULL""")
    op.execute("CREATE INDEX legal_holds_age ON eai.legal_holds (tenant_id, created_at, id)")
    tenant_table("legal_holds", grants="SELECT, INSERT, UPDATE")


def _expirations() -> None:
    """Under the document's id, which is its receipt's too; both outlive it."""
    op.execute("""
        CREATE TABLE eai.retention_expirations (
            tenant_id      uuid NOT NULL REFERENCES eai.tenants,
            id             uuid NOT NULL,
            base_id        uuid NOT NULL,
            policy_id      uuid NOT NULL,
            keep_days      integer NOT NULL,
            classification smallint NOT NULL CHECK (classification BETWEEN 0 AND 4),
            due_at         timestamptz NOT NULL,
            created_at     timestamptz NOT NULL DEFAULT now(),
            updated_at     timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, id)
        )""")
    op.execute("CREATE INDEX expirations_age ON eai.retention_expirations (tenant_id, created_at, id)")
    tenant_table("retention_expirations", grants="SELECT, INSERT")
