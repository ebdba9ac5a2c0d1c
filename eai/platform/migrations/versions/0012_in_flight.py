"""What operators are told of the calls that are under way when they stop a provider."""

from alembic import op

from eai.kernel.ids import PLATFORM_TENANT
from eai.platform.roles import SWEEPER
from eai.platform.tenancy import step_function

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """A named step across tenants: the id, model and start of each call, and nothing else."""
    op.execute(
        f"GRANT SELECT (id, model, endpoint, state, created_at) ON eai.model_reservations TO {SWEEPER}"
    )
    op.execute(f"""
        CREATE FUNCTION eai.calls_in_flight(p_endpoint text)
        RETURNS TABLE (id uuid, model text, since timestamptz)
        LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = eai, pg_temp AS $$
        BEGIN
            IF current_setting('app.tenant_id', true) IS DISTINCT FROM '{PLATFORM_TENANT}' THEN
                RAISE EXCEPTION 'the platform is not bound' USING ERRCODE = 'insufficient_privilege';
            END IF;
            RETURN QUERY
                SELECT r.id, r.model, r.created_at FROM model_reservations r
                 WHERE r.state = 'held' AND (p_endpoint IS NULL OR r.endpoint = p_endpoint)
                 ORDER BY r.created_at, r.id;
        END $$""")
    step_function("calls_in_flight(text)", SWEEPER)
