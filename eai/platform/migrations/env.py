"""Alembic's entry: runs on the connection that `eai.platform.migrate` hands over."""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    version_table="schema_version",
    version_table_schema="eai",
    transaction_per_migration=False,
)
with context.begin_transaction():
    context.run_migrations()
