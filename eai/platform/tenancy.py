"""What a migration says of a table so that row level security holds on it."""

from alembic import op

from eai.platform.roles import APP

_BOUND = "tenant_id = NULLIF(current_setting('app.tenant_id', true), '')::uuid"


def tenant_table(name: str, *, grants: str = "SELECT, INSERT, UPDATE, DELETE") -> None:
    """Put `eai.<name>` under forced row level security and grant the application role `grants`.

    An unset or empty `app.tenant_id` shows and accepts no row.
    """
    op.execute(f"ALTER TABLE eai.{name} ENABLE ROW LEVEL SECURITY")
    op.execute(f"ALTER TABLE eai.{name} FORCE ROW LEVEL SECURITY")
    op.execute(f"CREATE POLICY tenant ON eai.{name} TO {APP} USING ({_BOUND}) WITH CHECK ({_BOUND})")
    op.execute(f"GRANT {grants} ON eai.{name} TO {APP}")


def step_function(signature: str, role: str) -> None:
    """Hand a SECURITY DEFINER function to the role of its cross-tenant step; only the app may call it.

    `signature` as in `authenticate(text, bytea[])`. The role can create in the schema for the length
    of this statement only.
    """
    op.execute(f"GRANT CREATE, USAGE ON SCHEMA eai TO {role}")
    op.execute(f"ALTER FUNCTION eai.{signature} OWNER TO {role}")
    op.execute(f"REVOKE CREATE ON SCHEMA eai FROM {role}")
    op.execute(f"SET LOCAL ROLE {role}")
    op.execute(f"REVOKE ALL ON FUNCTION eai.{signature} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION eai.{signature} TO {APP}")
    op.execute("SET LOCAL ROLE eai_owner")
