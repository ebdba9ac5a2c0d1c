"""The embedded PostgreSQL server of a home folder."""

from eai.integrations.postgres.server import EmbeddedPostgres, PostgresFailed

__all__ = ["EmbeddedPostgres", "PostgresFailed"]
