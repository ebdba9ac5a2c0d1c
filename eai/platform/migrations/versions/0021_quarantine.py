"""What is held until a data steward decides, and what was decided."""

from alembic import op

from eai.platform.tenancy import tenant_table

revision = "0021"
down_revision = "0020"

_SEVERITIES = "('low', 'medium', 'high', 'critical')"


def upgrade() -> None:
    """Add the holds, the decisions, and from which severity on a tenant has documents held."""
    op.execute(f"""
        ALTER TABLE eai.tenants ADD COLUMN quarantine_threshold text NOT NULL DEFAULT 'high'
              CONSTRAINT tenants_quarantine_threshold CHECK (quarantine_threshold IN {_SEVERITIES})""")
    _holds()
    _decisions()


def _holds() -> None:
    """A hold goes with its version. `parameters` are those of the job that it interrupted."""
    op.execute(f"""
        CREATE TABLE eai.quarantine_holds (
            tenant_id      uuid NOT NULL,
            version_id     uuid NOT NULL,
            document_id    uuid NOT NULL,
            base_id        uuid NOT NULL,
            held_at        timestamptz NOT NULL DEFAULT now(),
            threshold      text NOT NULL CHECK (threshold IN {_SEVERITIES}),
            classification smallint NOT NULL CHECK (classification BETWEEN 0 AND 4),
            findings       jsonb NOT NULL,
            signature      bigint,
            parameters     jsonb NOT NULL,
            PRIMARY KEY (tenant_id, version_id),
            FOREIGN KEY (tenant_id, version_id) REFERENCES eai.kb_document_versions ON DELETE CASCADE
        )""")
    op.execute("CREATE INDEX holds_age ON eai.quarantine_holds (tenant_id, held_at, version_id)")
    op.execute("CREATE INDEX holds_base ON eai.quarantine_holds (tenant_id, base_id, held_at, version_id)")
    op.execute("CREATE INDEX holds_document ON eai.quarantine_holds (tenant_id, document_id)")
    tenant_table("quarantine_holds")


def _decisions() -> None:
    """A decision outlives its document; nothing of a verdict is ever changed."""
    op.execute("""
        CREATE TABLE eai.quarantine_decisions (
            tenant_id    uuid NOT NULL REFERENCES eai.tenants,
            id           uuid NOT NULL,
            base_id      uuid NOT NULL,
            document_id  uuid NOT NULL,
            version_id   uuid NOT NULL,
            decision     text NOT NULL CHECK (decision IN ('release', 'redact', 'reject')),
            comment      text NOT NULL,
            decided_by   uuid NOT NULL,
            decided_at   timestamptz NOT NULL DEFAULT now(),
            source_hash  bytea NOT NULL,
            content_hash bytea NOT NULL,
            signature    bigint,
            findings     jsonb NOT NULL,
            masks        jsonb NOT NULL DEFAULT '[]',
            PRIMARY KEY (tenant_id, id)
        )""")
    for column in ("source_hash", "content_hash"):
        op.execute(f"""
            CREATE INDEX decisions_{column} ON eai.quarantine_decisions
                (tenant_id, base_id, {column}, decided_at)""")
    for column in ("version_id", "document_id"):
        op.execute(f"""
            CREATE INDEX decisions_{column} ON eai.quarantine_decisions (tenant_id, {column}, decided_at)""")
    tenant_table("quarantine_decisions", grants="SELECT, INSERT")
