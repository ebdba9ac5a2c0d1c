"""What tells the sweep which tenants have something for it, so that it visits no others."""

from alembic import op

from eai.platform.roles import SWEEPER
from eai.platform.tenancy import step_function

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """A named step across tenants: ids only, found by what is due and not by asking each tenant."""
    op.execute("""
        ALTER TABLE eai.idempotency_records
          ADD COLUMN has_response boolean GENERATED ALWAYS AS (response IS NOT NULL) STORED""")
    for index in (
        "jobs_leases_due ON eai.jobs (lease_until) WHERE state IN ('queued', 'running')",
        "jobs_settled_due ON eai.jobs (updated_at) WHERE state IN ('completed', 'cancelled', 'failed')",
        "idempotency_expiry_due ON eai.idempotency_records (expires_at)",
        "idempotency_responses_due ON eai.idempotency_records (response_until) WHERE has_response",
    ):
        op.execute(f"CREATE INDEX {index}")
    for table, columns in (
        ("jobs", "tenant_id, state, lease_until, updated_at"),
        ("idempotency_records", "tenant_id, has_response, response_until, expires_at"),
    ):
        op.execute(f"CREATE POLICY sweep ON eai.{table} FOR SELECT TO {SWEEPER} USING (true)")
        op.execute(f"GRANT SELECT ({columns}) ON eai.{table} TO {SWEEPER}")
    op.execute("""
        CREATE FUNCTION eai.tenants_with_due_work(p_lost_after interval) RETURNS SETOF uuid
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path = eai, pg_temp AS $$
            SELECT tenant_id FROM jobs WHERE state = 'running' AND lease_until < now()
            UNION
            SELECT tenant_id FROM jobs WHERE state = 'queued' AND lease_until < now() - p_lost_after
            UNION
            SELECT tenant_id FROM jobs
             WHERE state IN ('completed', 'cancelled') AND updated_at <= now() - interval '7 days'
            UNION
            SELECT tenant_id FROM jobs WHERE state = 'failed' AND updated_at <= now() - interval '30 days'
            UNION
            SELECT tenant_id FROM idempotency_records WHERE expires_at <= now()
            UNION
            SELECT tenant_id FROM idempotency_records WHERE has_response AND response_until <= now()
        $$""")
    step_function("tenants_with_due_work(interval)", SWEEPER)
