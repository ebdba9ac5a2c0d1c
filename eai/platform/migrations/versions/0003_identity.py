"""Principals, groups and credentials, and the one step that finds a credential's tenant."""

from alembic import op

from eai.platform.roles import APP, AUTH
from eai.platform.tenancy import step_function, tenant_table

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Create identity's tables and the functions that turn a credential into a subject."""
    _principals()
    _api_keys()
    _authenticate()
    _subject()


def _principals() -> None:
    op.execute("""
        CREATE TABLE eai.principals (
            tenant_id    uuid NOT NULL REFERENCES eai.tenants,
            id           uuid NOT NULL,
            kind         text NOT NULL CHECK (kind IN ('user', 'service', 'agent')),
            name         text NOT NULL,
            clearance    smallint NOT NULL CHECK (clearance BETWEEN 0 AND 4),
            roles        text[] NOT NULL,
            is_bootstrap boolean NOT NULL DEFAULT false,
            suspended_at timestamptz,
            revision     integer NOT NULL DEFAULT 1,
            created_by   uuid,
            created_at   timestamptz NOT NULL DEFAULT now(),
            updated_at   timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, id)
        )""")
    op.execute("CREATE INDEX principals_age ON eai.principals (tenant_id, created_at, id)")
    op.execute("CREATE INDEX principals_clearance ON eai.principals (tenant_id, clearance)")
    tenant_table("principals")
    op.execute("""
        CREATE TABLE eai.groups (
            tenant_id  uuid NOT NULL REFERENCES eai.tenants,
            id         uuid NOT NULL,
            name       text NOT NULL,
            revision   integer NOT NULL DEFAULT 1,
            created_by uuid,
            created_at timestamptz NOT NULL DEFAULT now(),
            updated_at timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, id),
            UNIQUE (tenant_id, name)
        )""")
    tenant_table("groups")
    op.execute("""
        CREATE TABLE eai.group_members (
            tenant_id    uuid NOT NULL,
            group_id     uuid NOT NULL,
            principal_id uuid NOT NULL,
            PRIMARY KEY (tenant_id, principal_id, group_id),
            FOREIGN KEY (tenant_id, group_id) REFERENCES eai.groups ON DELETE CASCADE,
            FOREIGN KEY (tenant_id, principal_id) REFERENCES eai.principals ON DELETE CASCADE
        )""")
    op.execute("CREATE INDEX group_members_group ON eai.group_members (tenant_id, group_id)")
    tenant_table("group_members", grants="SELECT, INSERT, DELETE")


def _api_keys() -> None:
    op.execute("""
        CREATE TABLE eai.api_keys (
            tenant_id           uuid NOT NULL,
            id                  uuid NOT NULL,
            principal_id        uuid NOT NULL,
            key_id              text NOT NULL UNIQUE,
            name                text NOT NULL DEFAULT '',
            scopes              text[],
            clearance           smallint CHECK (clearance BETWEEN 0 AND 4),
            secret_mac          bytea NOT NULL,
            previous_mac        bytea,
            previous_expires_at timestamptz,
            last_rotation       uuid,
            expires_at          timestamptz,
            revoked_at          timestamptz,
            revision            integer NOT NULL DEFAULT 1,
            created_by          uuid,
            created_at          timestamptz NOT NULL DEFAULT now(),
            updated_at          timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, id),
            CHECK ((previous_mac IS NULL) = (previous_expires_at IS NULL)),
            FOREIGN KEY (tenant_id, principal_id) REFERENCES eai.principals ON DELETE CASCADE
        )""")
    op.execute("CREATE INDEX api_keys_age ON eai.api_keys (tenant_id, created_at, id)")
    op.execute("CREATE INDEX api_keys_principal ON eai.api_keys (tenant_id, principal_id)")
    tenant_table("api_keys")
    op.execute(f"CREATE POLICY credential_lookup ON eai.api_keys FOR SELECT TO {AUTH} USING (true)")
    op.execute(f"GRANT SELECT ON eai.api_keys TO {AUTH}")


def _authenticate() -> None:
    """The secret's MAC is computed by the caller, so equality in SQL tells nothing about the secret.

    A key's old secret opens for as long as its grace lasts, and the answer tells it from the current one.
    """
    op.execute("""
        CREATE FUNCTION eai.authenticate(
            p_key_id text, p_macs bytea[], OUT api_key uuid, OUT is_old_secret boolean
        )
        LANGUAGE plpgsql VOLATILE SECURITY DEFINER SET search_path = eai, pg_temp AS $$
        DECLARE
            found_tenant uuid;
        BEGIN
            SELECT k.tenant_id, k.id, k.secret_mac <> ALL (p_macs)
              INTO found_tenant, api_key, is_old_secret
              FROM eai.api_keys k
             WHERE k.key_id = p_key_id
               AND k.revoked_at IS NULL
               AND (k.expires_at IS NULL OR k.expires_at > now())
               AND (k.secret_mac = ANY (p_macs)
                    OR (k.previous_mac = ANY (p_macs) AND k.previous_expires_at > now()));
            IF found_tenant IS NULL THEN
                RETURN;
            END IF;
            PERFORM set_config('app.tenant_id', found_tenant::text, true);
        END $$""")
    step_function("authenticate(text, bytea[])", AUTH)


def _subject() -> None:
    """What a live key stands for, read under row level security; null when it opens nothing now."""
    op.execute("""
        CREATE FUNCTION eai.subject_of_key(p_api_key uuid) RETURNS jsonb
        LANGUAGE sql STABLE AS $$
            SELECT jsonb_build_object(
                'tenant', k.tenant_id, 'api_key', k.id, 'principal', p.id, 'kind', p.kind, 'name', p.name,
                'roles', p.roles, 'clearance', p.clearance, 'is_bootstrap', p.is_bootstrap,
                'key_scopes', k.scopes, 'key_clearance', k.clearance,
                'groups', ARRAY(SELECT m.group_id FROM eai.group_members m
                                 WHERE m.tenant_id = p.tenant_id AND m.principal_id = p.id))
              FROM eai.api_keys k
              JOIN eai.principals p ON p.tenant_id = k.tenant_id AND p.id = k.principal_id
             WHERE k.id = p_api_key
               AND k.tenant_id = NULLIF(current_setting('app.tenant_id', true), '')::uuid
               AND k.revoked_at IS NULL
               AND (k.expires_at IS NULL OR k.expires_at > now())
               AND p.suspended_at IS NULL
        $$""")
    op.execute("""
        CREATE FUNCTION eai.subject(p_key_id text, p_macs bytea[]) RETURNS jsonb
        LANGUAGE plpgsql VOLATILE AS $$
        DECLARE
            found record := eai.authenticate(p_key_id, p_macs);
        BEGIN
            RETURN CASE WHEN found.api_key IS NOT NULL THEN
                eai.subject_of_key(found.api_key) || jsonb_build_object('is_old_secret', found.is_old_secret)
            END;
        END $$""")
    for signature in ("subject_of_key(uuid)", "subject(text, bytea[])"):
        op.execute(f"REVOKE ALL ON FUNCTION eai.{signature} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION eai.{signature} TO {APP}")
