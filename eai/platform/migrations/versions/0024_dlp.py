"""What was found in documents that may not go everywhere, and what became of it."""

from alembic import op

revision = "0024"
down_revision = "0023"

_LEVEL = "smallint CHECK ({name} BETWEEN 0 AND 4)"


def upgrade() -> None:
    """Add what was found in a text and beside it, and the levels that this raises its document to.

    `dlp_spans` is kept apart: it may be long, and few read it.
    """
    op.execute(f"""
        ALTER TABLE eai.kb_documents
            ADD COLUMN dlp jsonb NOT NULL DEFAULT '{{}}',
            ADD COLUMN text_level {_LEVEL.format(name="text_level")},
            ADD COLUMN field_level {_LEVEL.format(name="field_level")}""")
    op.execute("""
        ALTER TABLE eai.kb_document_versions
            ADD COLUMN dlp jsonb NOT NULL DEFAULT '{}',
            ADD COLUMN dlp_spans jsonb NOT NULL DEFAULT '{}'""")
