"""The embedded PostgreSQL server of a home folder."""

from eai.integrations.postgres.cluster import PostgresFailed
from eai.integrations.postgres.server import EmbeddedPostgres

__all__ = ["EmbeddedPostgres", "PostgresFailed"]
