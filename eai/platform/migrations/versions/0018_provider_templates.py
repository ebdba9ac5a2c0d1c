"""Which provider an endpoint was approved as, where it is one of those that are known by name."""

from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Add the name of the template. Its key goes to that provider's models and to no others."""
    op.execute("ALTER TABLE eai.provider_endpoints ADD COLUMN template text")
