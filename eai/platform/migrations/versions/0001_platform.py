"""Tenants, their keys, jobs and idempotency records."""

from alembic import op
from procrastinate.schema import SchemaManager

from eai.platform.roles import APP, JOBS_SCHEMA, OWNER, SWEEPER
from eai.platform.tenancy import step_function, tenant_table

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create what every slice stands on."""
    op.execute(f"GRANT USAGE ON SCHEMA eai TO {APP}")
    _tenants()
    _jobs()
    _idempotency()
    _procrastinate()


def _tenants() -> None:
    op.execute("""
        CREATE TABLE eai.tenants (
            tenant_id  uuid PRIMARY KEY,
            slug       text NOT NULL UNIQUE,
            name       text NOT NULL,
            rate_limit_per_minute integer CHECK (rate_limit_per_minute > 0),
            revision   integer NOT NULL DEFAULT 1,
            created_at timestamptz NOT NULL DEFAULT now(),
            updated_at timestamptz NOT NULL DEFAULT now()
        )""")
    tenant_table("tenants", grants="SELECT, INSERT, UPDATE")
    op.execute(f"CREATE POLICY sweep ON eai.tenants FOR SELECT TO {SWEEPER} USING (true)")
    op.execute(f"GRANT SELECT (tenant_id, created_at) ON eai.tenants TO {SWEEPER}")
    op.execute("""
        CREATE FUNCTION eai.list_tenant_ids() RETURNS SETOF uuid
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path = eai, pg_temp
        AS $$ SELECT tenant_id FROM eai.tenants ORDER BY created_at, tenant_id $$""")
    step_function("list_tenant_ids()", SWEEPER)
    op.execute("""
        CREATE TABLE eai.tenant_keys (
            tenant_id  uuid NOT NULL REFERENCES eai.tenants,
            purpose    text NOT NULL,
            wrapped    bytea NOT NULL,
            created_at timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, purpose)
        )""")
    tenant_table("tenant_keys", grants="SELECT, INSERT, DELETE")


def _jobs() -> None:
    op.execute("""
        CREATE TABLE eai.jobs (
            tenant_id   uuid NOT NULL REFERENCES eai.tenants,
            id          uuid NOT NULL,
            name        text NOT NULL,
            state       text NOT NULL
                        CHECK (state IN ('queued', 'running', 'completed', 'failed', 'cancelled')),
            parameters  jsonb NOT NULL DEFAULT '{}',
            progress    jsonb NOT NULL DEFAULT '{}',
            error       jsonb,
            attempt     integer NOT NULL DEFAULT 0,
            failures    integer NOT NULL DEFAULT 0,
            lease_until timestamptz,
            principal_id uuid,
            created_at  timestamptz NOT NULL DEFAULT now(),
            updated_at  timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, id)
        )""")
    op.execute("""
        CREATE INDEX jobs_leases ON eai.jobs (tenant_id, lease_until)
        WHERE state IN ('queued', 'running')""")
    tenant_table("jobs")


def _idempotency() -> None:
    op.execute("""
        CREATE TABLE eai.idempotency_records (
            tenant_id      uuid NOT NULL REFERENCES eai.tenants,
            principal_id   uuid NOT NULL,
            route          text NOT NULL,
            key            text NOT NULL,
            fingerprint    bytea NOT NULL,
            effect_id      uuid NOT NULL,
            attempt        integer NOT NULL DEFAULT 1,
            lease_until    timestamptz NOT NULL,
            response       bytea,
            response_until timestamptz,
            expires_at     timestamptz NOT NULL,
            PRIMARY KEY (tenant_id, principal_id, route, key)
        )""")
    op.execute("CREATE INDEX idempotency_expiry ON eai.idempotency_records (tenant_id, expires_at)")
    tenant_table("idempotency_records")


def _procrastinate() -> None:
    """Procrastinate names its tables unqualified, so its functions get their schema pinned."""
    op.execute(f"SET LOCAL search_path = {JOBS_SCHEMA}")
    op.get_bind().exec_driver_sql(SchemaManager.get_schema().replace("%", "%%"))
    op.execute("SET LOCAL search_path = eai")
    op.execute(f"""
        DO $$ DECLARE f regprocedure; BEGIN
            FOR f IN SELECT p.oid::regprocedure FROM pg_proc p
                       JOIN pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = '{JOBS_SCHEMA}'
            LOOP EXECUTE format('ALTER FUNCTION %s SET search_path = {JOBS_SCHEMA}, pg_temp', f); END LOOP;
        END $$""")
    op.execute(f"GRANT USAGE ON SCHEMA {JOBS_SCHEMA} TO {APP}")
    op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {JOBS_SCHEMA} TO {APP}")
    op.execute(f"GRANT USAGE ON ALL SEQUENCES IN SCHEMA {JOBS_SCHEMA} TO {APP}")
    op.execute(f"GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA {JOBS_SCHEMA} TO {APP}")
    op.execute(f"SET LOCAL ROLE {OWNER}")
