"""What a reindex looks at, found without reading a base whole: who was served since, and levels of parts."""

from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    """Note who was served by which transaction, and index the few chunks that have a level of their own."""
    _served_by()
    op.execute("""
        CREATE INDEX chunks_level ON eai.kb_chunks (tenant_id, base_id, classification)
        WHERE classification IS NOT NULL""")


def _served_by() -> None:
    """Keep it with the document, whoever lets it answer: also a process that is older than this.

    It is a number of `pg_current_xact_id`, which never begin again. Documents that were served before have
    none, and no reindex that is on its way has to look at them: what it brings, it finds without.
    """
    op.execute("ALTER TABLE eai.kb_documents ADD COLUMN served_by bigint")
    op.execute("""
        CREATE INDEX documents_served ON eai.kb_documents (tenant_id, base_id, served_by)
        WHERE served_by IS NOT NULL""")
    op.execute("""
        CREATE FUNCTION eai.note_serving() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            NEW.served_by := pg_current_xact_id()::text::bigint;
            RETURN NEW;
        END $$""")
    op.execute("REVOKE ALL ON FUNCTION eai.note_serving() FROM PUBLIC")
    op.execute("""
        CREATE TRIGGER document_served BEFORE INSERT OR UPDATE OF serving_version_id ON eai.kb_documents
        FOR EACH ROW WHEN (NEW.serving_version_id IS NOT NULL) EXECUTE FUNCTION eai.note_serving()""")
