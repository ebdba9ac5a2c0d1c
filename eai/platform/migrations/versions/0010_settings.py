"""What a tenant decides about the models that see its texts."""

from alembic import op

revision = "0010"
down_revision = "0009"

_CONFIDENTIAL = 2


def upgrade() -> None:
    """Add the settings with what holds where a tenant has decided nothing."""
    op.execute(f"""
        ALTER TABLE eai.tenants
            ADD COLUMN regions text[] CHECK (cardinality(regions) > 0),
            ADD COLUMN retention_required_from smallint NOT NULL DEFAULT {_CONFIDENTIAL}
                CHECK (retention_required_from BETWEEN 0 AND 4),
            ADD COLUMN dlp jsonb NOT NULL DEFAULT '{{}}' CHECK (jsonb_typeof(dlp) = 'object')""")
