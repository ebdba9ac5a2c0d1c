"""Erasures of what documents hold of a person, and what became of each document that was found."""

from alembic import op

from eai.platform.roles import APP
from eai.platform.tenancy import tenant_table

revision = "0027"
down_revision = "0026"


def upgrade() -> None:
    """Add erasures and the documents they found."""
    _erasures()
    _documents()
    _reviews()


def _erasures() -> None:
    """`identifiers` are sealed under the tenant's key, and gone once the erasure has ended."""
    op.execute("""
        CREATE TABLE eai.privacy_erasures (
            tenant_id          uuid NOT NULL REFERENCES eai.tenants,
            id                 uuid NOT NULL,
            action             text NOT NULL CHECK (action IN ('find', 'remove', 'redact')),
            state              text NOT NULL CHECK (state IN ('running', 'completed', 'failed', 'cancelled')),
            identifiers        bytea,
            entities           text[] NOT NULL,
            principal_id       uuid,
            reason             text NOT NULL,
            requested_by       uuid NOT NULL,
            submitter          jsonb NOT NULL,
            clearance          smallint NOT NULL CHECK (clearance BETWEEN 0 AND 4),
            details_erased     boolean,
            documents_searched integer NOT NULL DEFAULT 0,
            texts_unread       integer NOT NULL DEFAULT 0,
            job_id             uuid NOT NULL,
            completed_at       timestamptz,
            created_at         timestamptz NOT NULL DEFAULT now(),
            updated_at         timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, id)
        )""")
    op.execute("CREATE INDEX erasures_age ON eai.privacy_erasures (tenant_id, created_at, id)")
    tenant_table("privacy_erasures", grants="SELECT, INSERT, UPDATE")


def _documents() -> None:
    op.execute("""
        CREATE TABLE eai.privacy_documents (
            tenant_id      uuid NOT NULL,
            erasure_id     uuid NOT NULL,
            document_id    uuid NOT NULL,
            base_id        uuid NOT NULL,
            classification smallint NOT NULL CHECK (classification BETWEEN 0 AND 4),
            places         text[] NOT NULL,
            versions       integer[] NOT NULL,
            entities       text[] NOT NULL,
            occurrences    integer NOT NULL,
            by_identifier  integer NOT NULL,
            outcome        text NOT NULL CHECK (outcome IN
                           ('found', 'removed', 'redacting', 'redacted', 'held', 'failed')),
            code           text,
            PRIMARY KEY (tenant_id, erasure_id, document_id),
            FOREIGN KEY (tenant_id, erasure_id) REFERENCES eai.privacy_erasures
        )""")
    tenant_table("privacy_documents", grants="SELECT, INSERT, UPDATE")


def _reviews() -> None:
    """An erasure rewrites what a steward wrote, and forgets by what a text is known again; no verdict."""
    columns = "comment, findings, signature, source_hash, content_hash"
    op.execute(f"GRANT UPDATE ({columns}) ON eai.quarantine_decisions TO {APP}")
