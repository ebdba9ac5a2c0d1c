"""Provider endpoints, the models on them, and the switches that stop calls."""

from alembic import op

from eai.kernel.ids import PLATFORM_TENANT
from eai.platform.roles import APP
from eai.platform.tenancy import tenant_table

revision = "0007"
down_revision = "0006"

_BOUND = "NULLIF(current_setting('app.tenant_id', true), '')::uuid"
_OPERATOR = f"{_BOUND} = '{PLATFORM_TENANT}'::uuid"


def upgrade() -> None:
    """Create the registry, and the lock that a flipped switch and a reservation meet at."""
    _endpoints()
    _models()
    _switches()
    _lock()


def _endpoints() -> None:
    op.execute("""
        CREATE TABLE eai.provider_endpoints (
            id         uuid PRIMARY KEY,
            name       text NOT NULL UNIQUE,
            kind       text NOT NULL CHECK (kind IN ('openai', 'litellm', 'local')),
            url        text,
            region     text NOT NULL,
            retention  text NOT NULL,
            classification_ceiling smallint NOT NULL CHECK (classification_ceiling BETWEEN 0 AND 4),
            tenants    uuid[],
            sealed_key bytea,
            revision   integer NOT NULL DEFAULT 1,
            created_by uuid,
            created_at timestamptz NOT NULL DEFAULT now(),
            updated_at timestamptz NOT NULL DEFAULT now()
        )""")
    _operators_table("provider_endpoints", f"tenants IS NULL OR {_BOUND} = ANY (tenants) OR {_OPERATOR}")
    op.execute("""
        CREATE TABLE eai.platform_models (
            name        text PRIMARY KEY,
            endpoint_id uuid NOT NULL REFERENCES eai.provider_endpoints,
            is_enabled  boolean NOT NULL,
            revision    integer NOT NULL DEFAULT 1,
            created_at  timestamptz NOT NULL DEFAULT now(),
            updated_at  timestamptz NOT NULL DEFAULT now()
        )""")
    op.execute("CREATE INDEX platform_models_endpoint ON eai.platform_models (endpoint_id)")
    _operators_table("platform_models", "true")


def _models() -> None:
    # An endpoint belongs to no tenant, so this key alone cannot start with one: whether the tenant is
    # served by the endpoint is looked at with every call.
    op.execute("""
        CREATE TABLE eai.models (
            tenant_id      uuid NOT NULL REFERENCES eai.tenants,
            id             uuid NOT NULL,
            name           text NOT NULL,
            endpoint_id    uuid NOT NULL REFERENCES eai.provider_endpoints,
            provider_model text NOT NULL,
            capability     text NOT NULL CHECK (capability IN ('embeddings', 'rerank', 'chat')),
            dimensions     integer[],
            context_tokens integer CHECK (context_tokens > 0),
            price_input_micros  bigint NOT NULL DEFAULT 0 CHECK (price_input_micros >= 0),
            price_output_micros bigint NOT NULL DEFAULT 0 CHECK (price_output_micros >= 0),
            classification_ceiling smallint CHECK (classification_ceiling BETWEEN 0 AND 4),
            region         text,
            roles          jsonb NOT NULL DEFAULT '{}',
            fusion         jsonb,
            model_revision text NOT NULL DEFAULT '1',
            is_enabled     boolean NOT NULL DEFAULT true,
            revision       integer NOT NULL DEFAULT 1,
            created_by     uuid,
            created_at     timestamptz NOT NULL DEFAULT now(),
            updated_at     timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, id),
            UNIQUE (tenant_id, name)
        )""")
    op.execute("CREATE INDEX models_endpoint ON eai.models (endpoint_id)")
    tenant_table("models")


def _switches() -> None:
    """A row is a switch that stops calls; without one they go on."""
    op.execute("""
        CREATE TABLE eai.kill_switches (
            tenant_id  uuid NOT NULL REFERENCES eai.tenants,
            scope      text NOT NULL CHECK (scope ~ '^(tenant$|model:)'),
            reason     text NOT NULL,
            engaged_by uuid,
            engaged_at timestamptz NOT NULL DEFAULT now(),
            updated_at timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, scope)
        )""")
    tenant_table("kill_switches")
    op.execute("""
        CREATE TABLE eai.platform_kill_switches (
            scope      text PRIMARY KEY CHECK (scope ~ '^(instance$|provider:)'),
            reason     text NOT NULL,
            engaged_by uuid,
            engaged_at timestamptz NOT NULL DEFAULT now(),
            updated_at timestamptz NOT NULL DEFAULT now()
        )""")
    _operators_table("platform_kill_switches", "true")


def _lock() -> None:
    """Whoever flips a switch holds the lock of its tenant, or the zero uuid's for the whole platform.

    A reservation shares both of its own until it commits: none commits after a flip was acknowledged.
    """
    op.execute("""
        CREATE FUNCTION eai.kill_switch_lock(p_tenant uuid) RETURNS bigint
        LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
            SELECT hashtextextended('eai.kill_switches', 0) # hashtextextended(p_tenant::text, 0)
        $$""")
    op.execute("REVOKE ALL ON FUNCTION eai.kill_switch_lock(uuid) FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION eai.kill_switch_lock(uuid) TO {APP}")


def _operators_table(name: str, visible: str) -> None:
    """What operators write and tenants read: every bound tenant sees the rows that `visible` says."""
    op.execute(f"ALTER TABLE eai.{name} ENABLE ROW LEVEL SECURITY")
    op.execute(f"ALTER TABLE eai.{name} FORCE ROW LEVEL SECURITY")
    op.execute(f"""
        CREATE POLICY reading ON eai.{name} FOR SELECT TO {APP}
        USING ({_BOUND} IS NOT NULL AND ({visible}))""")
    op.execute(f"CREATE POLICY writing ON eai.{name} TO {APP} USING ({_OPERATOR}) WITH CHECK ({_OPERATOR})")
    op.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON eai.{name} TO {APP}")
