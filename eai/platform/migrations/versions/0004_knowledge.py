"""Knowledge bases, documents, versions, chunks, rights classes and term statistics."""

from alembic import op

from eai.platform.roles import AUDIT
from eai.platform.tenancy import tenant_table

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Create knowledge's tables."""
    _bases()
    _documents()
    _chunks()
    _statistics()
    _receipts()


def _bases() -> None:
    op.execute("""
        CREATE TABLE eai.knowledge_bases (
            tenant_id         uuid NOT NULL REFERENCES eai.tenants,
            id                uuid NOT NULL,
            alias             text NOT NULL,
            name              text NOT NULL,
            description       text NOT NULL DEFAULT '',
            classification    smallint NOT NULL CHECK (classification BETWEEN 0 AND 4),
            embedding_model   text NOT NULL,
            dimensions        integer NOT NULL,
            chunk_size        integer NOT NULL,
            chunk_overlap     integer NOT NULL,
            vector_generation uuid NOT NULL,
            vector_collection text NOT NULL,
            revision          integer NOT NULL DEFAULT 1,
            deleting_since    timestamptz,
            created_by        uuid,
            created_at        timestamptz NOT NULL DEFAULT now(),
            updated_at        timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, id)
        )""")
    # A base that is being deleted gives its alias back at once.
    op.execute("""
        CREATE UNIQUE INDEX bases_alias ON eai.knowledge_bases (tenant_id, alias)
        WHERE deleting_since IS NULL""")
    tenant_table("knowledge_bases")
    op.execute("""
        CREATE TABLE eai.knowledge_base_entries (
            tenant_id  uuid NOT NULL,
            base_id    uuid NOT NULL,
            position   integer NOT NULL,
            principal  text NOT NULL,
            permission text NOT NULL CHECK (permission IN ('read', 'write', 'manage')),
            effect     text NOT NULL CHECK (effect IN ('allow', 'deny')),
            PRIMARY KEY (tenant_id, base_id, position),
            FOREIGN KEY (tenant_id, base_id) REFERENCES eai.knowledge_bases ON DELETE CASCADE
        )""")
    op.execute("CREATE INDEX entries_principal ON eai.knowledge_base_entries (tenant_id, principal)")
    tenant_table("knowledge_base_entries")
    op.execute("""
        CREATE TABLE eai.kb_generations (
            tenant_id       uuid NOT NULL,
            id              uuid NOT NULL,
            base_id         uuid NOT NULL,
            state           text NOT NULL CHECK (state IN ('building', 'serving', 'retired')),
            embedding_model text NOT NULL,
            dimensions      integer NOT NULL,
            collection      text NOT NULL,
            average_length  real NOT NULL,
            created_at      timestamptz NOT NULL DEFAULT now(),
            updated_at      timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, id),
            FOREIGN KEY (tenant_id, base_id) REFERENCES eai.knowledge_bases ON DELETE CASCADE
        )""")
    op.execute("CREATE INDEX generations_base ON eai.kb_generations (tenant_id, base_id)")
    tenant_table("kb_generations")


def _documents() -> None:
    op.execute("""
        CREATE TABLE eai.kb_documents (
            tenant_id          uuid NOT NULL,
            id                 uuid NOT NULL,
            base_id            uuid NOT NULL,
            title              text NOT NULL,
            external_id        text,
            source_connector   text NOT NULL DEFAULT 'direct',
            source_uri         text,
            classification     smallint CHECK (classification BETWEEN 0 AND 4),
            readers            text[],
            metadata           jsonb NOT NULL DEFAULT '{}',
            labels             jsonb NOT NULL DEFAULT '{}',
            serving_version_id uuid,
            revision           integer NOT NULL DEFAULT 1,
            deleting_since     timestamptz,
            created_by         uuid,
            created_at         timestamptz NOT NULL DEFAULT now(),
            updated_at         timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, id),
            FOREIGN KEY (tenant_id, base_id) REFERENCES eai.knowledge_bases
        )""")
    op.execute("CREATE INDEX documents_base ON eai.kb_documents (tenant_id, base_id, created_at, id)")
    op.execute("""
        CREATE UNIQUE INDEX documents_external ON eai.kb_documents
            (tenant_id, base_id, source_connector, external_id)
        WHERE external_id IS NOT NULL AND deleting_since IS NULL""")
    tenant_table("kb_documents")
    op.execute("""
        CREATE TABLE eai.kb_document_versions (
            tenant_id    uuid NOT NULL,
            id           uuid NOT NULL,
            document_id  uuid NOT NULL,
            number       integer NOT NULL,
            status       text NOT NULL CHECK (status IN
                         ('pending', 'processing', 'ready', 'quarantined', 'rejected', 'failed')),
            error        jsonb,
            content_type text NOT NULL,
            source       bytea,
            source_hash  bytea NOT NULL,
            content      text,
            content_hash bytea,
            language     text,
            chunk_rights jsonb NOT NULL DEFAULT '[]',
            intended     jsonb NOT NULL DEFAULT '{}',
            job_id       uuid,
            created_by   uuid,
            created_at   timestamptz NOT NULL DEFAULT now(),
            updated_at   timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, id),
            UNIQUE (tenant_id, document_id, number),
            UNIQUE (tenant_id, document_id, id),
            FOREIGN KEY (tenant_id, document_id) REFERENCES eai.kb_documents ON DELETE CASCADE
        )""")
    op.execute("CREATE INDEX versions_hash ON eai.kb_document_versions (tenant_id, source_hash)")
    tenant_table("kb_document_versions")
    # No foreign key: a key share lock on the document would let a counter wait for a delete.
    op.execute("""
        CREATE TABLE eai.kb_document_retrievals (
            tenant_id         uuid NOT NULL,
            document_id       uuid NOT NULL,
            retrieval_count   bigint NOT NULL,
            last_retrieved_at timestamptz NOT NULL,
            PRIMARY KEY (tenant_id, document_id)
        )""")
    tenant_table("kb_document_retrievals", grants="SELECT, DELETE")
    op.execute(
        f"CREATE POLICY counting ON eai.kb_document_retrievals TO {AUDIT} USING (true) WITH CHECK (true)"
    )
    op.execute(f"GRANT SELECT, INSERT, UPDATE ON eai.kb_document_retrievals TO {AUDIT}")
    # Called by audit_flush, under the lock of the tenant's chain: two flushes never meet on a row.
    op.execute("""
        CREATE FUNCTION eai.count_retrievals(p_tenant uuid, p_documents uuid[]) RETURNS void
        LANGUAGE sql VOLATILE SET search_path = eai, pg_temp AS $$
            INSERT INTO eai.kb_document_retrievals AS r
                   (tenant_id, document_id, retrieval_count, last_retrieved_at)
            SELECT p_tenant, d.id, count(*), now() FROM unnest(p_documents) AS d (id) GROUP BY d.id
            ON CONFLICT (tenant_id, document_id) DO UPDATE
               SET retrieval_count = r.retrieval_count + EXCLUDED.retrieval_count,
                   last_retrieved_at = EXCLUDED.last_retrieved_at
        $$""")
    op.execute("REVOKE ALL ON FUNCTION eai.count_retrievals(uuid, uuid[]) FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION eai.count_retrievals(uuid, uuid[]) TO {AUDIT}")


def _chunks() -> None:
    op.execute("""
        CREATE TABLE eai.kb_rights_classes (
            tenant_id            uuid NOT NULL,
            base_id              uuid NOT NULL,
            number               integer NOT NULL,
            digest               bytea NOT NULL,
            readers              text[],
            chunk_readers        text[],
            classification       smallint CHECK (classification BETWEEN 0 AND 4),
            chunk_classification smallint CHECK (chunk_classification BETWEEN 0 AND 4),
            source_connector     text NOT NULL,
            PRIMARY KEY (tenant_id, base_id, number),
            UNIQUE (tenant_id, base_id, digest),
            FOREIGN KEY (tenant_id, base_id) REFERENCES eai.knowledge_bases ON DELETE CASCADE
        )""")
    tenant_table("kb_rights_classes")
    op.execute("""
        CREATE TABLE eai.kb_chunks (
            tenant_id      uuid NOT NULL,
            id             uuid NOT NULL,
            chunk_id       uuid NOT NULL,
            base_id        uuid NOT NULL,
            generation     uuid NOT NULL,
            document_id    uuid NOT NULL,
            version_id     uuid NOT NULL,
            ordinal        integer NOT NULL,
            start_offset   integer NOT NULL,
            end_offset     integer NOT NULL,
            content        text NOT NULL,
            readers        text[],
            classification smallint CHECK (classification BETWEEN 0 AND 4),
            class_number   integer NOT NULL,
            language       text NOT NULL,
            token_count    integer NOT NULL,
            dimensions     integer NOT NULL,
            embedding      bytea NOT NULL CHECK (octet_length(embedding) = 4 * dimensions),
            created_at     timestamptz NOT NULL DEFAULT now(),
            updated_at     timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, id),
            CHECK (start_offset >= 0 AND end_offset > start_offset),
            FOREIGN KEY (tenant_id, document_id, version_id)
                REFERENCES eai.kb_document_versions (tenant_id, document_id, id),
            FOREIGN KEY (tenant_id, generation) REFERENCES eai.kb_generations
        )""")
    # The key on the version starts with the document, and none points at the rights class, so that
    # removing a document or a base checks its chunks through an index that searches need anyway.
    op.execute("CREATE INDEX chunks_document ON eai.kb_chunks (tenant_id, document_id, generation, ordinal)")
    op.execute("CREATE INDEX chunks_chunk ON eai.kb_chunks (tenant_id, chunk_id)")
    op.execute("CREATE INDEX chunks_generation ON eai.kb_chunks (tenant_id, generation, id)")
    tenant_table("kb_chunks")


def _statistics() -> None:
    """Counted per rights class, and only for classes without readers: see docs on the keyword leg."""
    op.execute("""
        CREATE TABLE eai.kb_term_statistics (
            tenant_id          uuid NOT NULL,
            generation         uuid NOT NULL,
            term               text NOT NULL,
            class_number       integer NOT NULL,
            document_frequency integer NOT NULL,
            PRIMARY KEY (tenant_id, generation, term, class_number),
            FOREIGN KEY (tenant_id, generation) REFERENCES eai.kb_generations ON DELETE CASCADE
        ) WITH (fillfactor = 70)""")
    tenant_table("kb_term_statistics")
    op.execute("""
        CREATE TABLE eai.kb_language_statistics (
            tenant_id    uuid NOT NULL,
            generation   uuid NOT NULL,
            language     text NOT NULL,
            class_number integer NOT NULL,
            chunks       integer NOT NULL,
            tokens       bigint NOT NULL,
            PRIMARY KEY (tenant_id, generation, language, class_number),
            FOREIGN KEY (tenant_id, generation) REFERENCES eai.kb_generations ON DELETE CASCADE
        )""")
    tenant_table("kb_language_statistics")


def _receipts() -> None:
    """A receipt keeps the rights that its object had: whoever could know of it may read what became of it."""
    op.execute("""
        CREATE TABLE eai.deletion_receipts (
            tenant_id         uuid NOT NULL REFERENCES eai.tenants,
            id                uuid NOT NULL,
            kind              text NOT NULL CHECK (kind IN ('document', 'knowledge_base')),
            base_id           uuid NOT NULL,
            readers           text[],
            classification    smallint NOT NULL CHECK (classification BETWEEN 0 AND 4),
            status            text NOT NULL CHECK (status IN ('deleting', 'deleted')),
            documents_removed integer NOT NULL DEFAULT 0,
            chunks_removed    integer NOT NULL DEFAULT 0,
            vectors_removed   integer NOT NULL DEFAULT 0,
            vectors_remaining integer,
            generations       uuid[] NOT NULL DEFAULT '{}',
            job_id            uuid,
            requested_by      uuid,
            created_at        timestamptz NOT NULL DEFAULT now(),
            completed_at      timestamptz,
            PRIMARY KEY (tenant_id, id)
        )""")
    tenant_table("deletion_receipts")
