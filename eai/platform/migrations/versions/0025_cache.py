"""What tells a cached answer from one that would be another by now, and keys of tenants by epoch."""

from alembic import op

from eai.platform.roles import APP, OWNER, SWEEPER
from eai.platform.tenancy import step_function, tenant_table

revision = "0025"
down_revision = "0024"

_RUNS_AS_CALLER = "LANGUAGE plpgsql VOLATILE SECURITY INVOKER SET plan_cache_mode = force_generic_plan"
_CONTENT, _RIGHTS = "content", "rights"


def upgrade() -> None:
    """Add the epochs of bases and tenants, what a tenant allows to be cached, and epochs of keys."""
    op.execute("""
        ALTER TABLE eai.tenants ADD COLUMN cache_max_classification smallint DEFAULT 1
              CONSTRAINT tenants_cache_max_classification CHECK (cache_max_classification BETWEEN 0 AND 4)""")
    _epochs()
    _bumping()
    _base_triggers()
    _tenant_triggers()
    _reading()
    _keys()


def _epochs() -> None:
    """An epoch names the last transaction that changed something; no row is an epoch, too.

    With the time of that transaction its number is unique also over a restore or a failover.
    """
    op.execute("""
        CREATE TABLE eai.base_epochs (
            tenant_id uuid NOT NULL,
            base_id   uuid NOT NULL,
            content   text NOT NULL DEFAULT '',
            rights    text NOT NULL DEFAULT '',
            PRIMARY KEY (tenant_id, base_id),
            FOREIGN KEY (tenant_id, base_id) REFERENCES eai.knowledge_bases ON DELETE CASCADE
        ) WITH (fillfactor = 70)""")
    tenant_table("base_epochs", grants="SELECT, INSERT, UPDATE")
    op.execute("""
        CREATE TABLE eai.tenant_epochs (
            tenant_id uuid PRIMARY KEY REFERENCES eai.tenants,
            rights    text NOT NULL DEFAULT ''
        ) WITH (fillfactor = 70)""")
    tenant_table("tenant_epochs", grants="SELECT, INSERT, UPDATE")


def _bumping() -> None:
    """Begin another epoch, once in a transaction however often it is said.

    A base that is just being deleted is waited for, and then has no epochs.
    """
    op.execute("""
        CREATE FUNCTION eai.this_epoch() RETURNS text LANGUAGE sql STABLE AS $$
            SELECT pg_current_xact_id()::text || '.' || (extract(epoch FROM now()) * 1000000)::bigint
        $$""")
    for kind in (_CONTENT, _RIGHTS):
        op.execute(f"""
            CREATE FUNCTION eai.begin_{kind}_epoch(p_tenant uuid, p_base uuid) RETURNS void
            {_RUNS_AS_CALLER} AS $$
            DECLARE
                known text;
            BEGIN
                SELECT {kind} INTO known FROM eai.base_epochs WHERE tenant_id = p_tenant AND base_id = p_base;
                IF known = eai.this_epoch() THEN
                    RETURN;
                ELSIF known IS NOT NULL THEN
                    UPDATE eai.base_epochs SET {kind} = eai.this_epoch()
                     WHERE tenant_id = p_tenant AND base_id = p_base;
                    RETURN;
                END IF;
                INSERT INTO eai.base_epochs (tenant_id, base_id, {kind})
                SELECT b.tenant_id, b.id, eai.this_epoch() FROM eai.knowledge_bases b
                 WHERE b.tenant_id = p_tenant AND b.id = p_base FOR KEY SHARE
                ON CONFLICT (tenant_id, base_id) DO UPDATE SET {kind} = EXCLUDED.{kind};
            END $$""")
    op.execute(f"""
        CREATE FUNCTION eai.begin_tenant_rights_epoch(p_tenant uuid) RETURNS void {_RUNS_AS_CALLER} AS $$
        BEGIN
            IF EXISTS (SELECT FROM eai.tenant_epochs
                        WHERE tenant_id = p_tenant AND rights = eai.this_epoch()) THEN
                RETURN;
            END IF;
            INSERT INTO eai.tenant_epochs (tenant_id, rights) VALUES (p_tenant, eai.this_epoch())
            ON CONFLICT (tenant_id) DO UPDATE SET rights = EXCLUDED.rights;
        END $$""")
    for signature in (
        "this_epoch()",
        "begin_content_epoch(uuid, uuid)",
        "begin_rights_epoch(uuid, uuid)",
        "begin_tenant_rights_epoch(uuid)",
    ):
        op.execute(f"REVOKE ALL ON FUNCTION eai.{signature} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION eai.{signature} TO {APP}")


def _base_triggers() -> None:
    """Whatever changes what a question finds, or who may read it, begins an epoch of its base.

    They run where the transaction ends: the row that all writers of a base share is then held for no longer
    than the commit takes, and nothing is waited for while it is held.
    """
    _trigger_function(
        "content_changed", "PERFORM eai.begin_content_epoch(changed.tenant_id, changed.base_id);"
    )
    _trigger_function("rights_changed", "PERFORM eai.begin_rights_epoch(changed.tenant_id, changed.base_id);")
    _trigger_function("base_changed", "PERFORM eai.begin_rights_epoch(changed.tenant_id, changed.id);")
    _trigger_function(
        "version_changed",
        """PERFORM eai.begin_content_epoch(d.tenant_id, d.base_id) FROM eai.kb_documents d
            WHERE d.tenant_id = changed.tenant_id AND d.id = changed.document_id;""",
    )
    _on_update("kb_documents", "content_changed", "serving_version_id", "deleting_since", "metadata")
    _on_update("kb_documents", "rights_changed", "readers", "classification", "source_connector")
    _on("kb_documents", "document_removed", "DELETE", "content_changed")
    _on_update(
        "kb_document_versions", "version_changed", "status", when="'ready' IN (OLD.status, NEW.status)"
    )
    _on_update("kb_chunks", "rights_changed", "readers", "classification", "class_number")
    _on_update("kb_generations", "content_changed", "average_length")
    _on_update("knowledge_bases", "base_changed", "classification", "deleting_since")
    _on("knowledge_base_entries", "entries_changed", "INSERT OR UPDATE OR DELETE", "rights_changed")


def _tenant_triggers() -> None:
    """Whoever joins or leaves a group, and what a principal is cleared for, counts in every base.

    So does what the tenant has decided of calls.
    """
    _trigger_function("people_changed", "PERFORM eai.begin_tenant_rights_epoch(changed.tenant_id);")
    _on("group_members", "members_changed", "INSERT OR DELETE", "people_changed")
    _on("groups", "group_removed", "DELETE", "people_changed")
    _on("principals", "principals_changed", "INSERT OR DELETE", "people_changed")
    _on_update("principals", "people_changed", "clearance", "roles", "suspended_at")
    # What a source brought vanishes with it from every base, and is back with it.
    _on_update("source_connectors", "people_changed", "is_enabled", "allowed_classifications")
    # What is recalled calls no model: that one may be called, and how often, is asked anew once.
    _on("tenant_policies", "policies_changed", "INSERT OR UPDATE OR DELETE", "people_changed")
    _on("quotas", "quotas_changed", "INSERT OR UPDATE OR DELETE", "people_changed")


def _trigger_function(name: str, body: str) -> None:
    op.execute(f"""
        CREATE FUNCTION eai.{name}() RETURNS trigger LANGUAGE plpgsql AS $$
        DECLARE
            changed record := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
        BEGIN
            {body}
            RETURN NULL;
        END $$""")
    op.execute(f"REVOKE ALL ON FUNCTION eai.{name}() FROM PUBLIC")


def _on_update(table: str, function: str, *columns: str, when: str = "true") -> None:
    changed = " OR ".join(f"OLD.{column} IS DISTINCT FROM NEW.{column}" for column in columns)
    op.execute(f"""
        CREATE CONSTRAINT TRIGGER {function} AFTER UPDATE OF {", ".join(columns)} ON eai.{table}
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
        WHEN ({when} AND ({changed})) EXECUTE FUNCTION eai.{function}()""")


def _on(table: str, name: str, events: str, function: str) -> None:
    """What goes with the row that it belongs to is deleted by the owner, and the other row tells."""
    op.execute(f"""
        CREATE CONSTRAINT TRIGGER {name} AFTER {events} ON eai.{table}
        DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (current_user <> '{OWNER}')
        EXECUTE FUNCTION eai.{function}()""")


def _reading() -> None:
    """The epochs of a base as of one instant, with its tenant's, and the highest level that may be cached.

    `cache_bounds` is as old as the statement that it stands in, so that what the statement reads beside it
    is no older; `cache_bounds_now` is as young as can be, so that what was read before is no younger. Where
    both say the same, nothing has changed between the one and the other.
    """
    select = """
            SELECT jsonb_build_object(
                'content', COALESCE(b.content, ''), 'rights', COALESCE(b.rights, ''),
                'tenant_rights', COALESCE(e.rights, ''), 'most', t.cache_max_classification)
              FROM eai.tenants t
              LEFT JOIN eai.tenant_epochs e ON e.tenant_id = t.tenant_id
              LEFT JOIN eai.base_epochs b ON b.tenant_id = t.tenant_id AND b.base_id = p_base
             WHERE t.tenant_id = p_tenant"""
    for name, volatility in (("cache_bounds", "STABLE"), ("cache_bounds_now", "VOLATILE")):
        op.execute(f"""
            CREATE FUNCTION eai.{name}(p_tenant uuid, p_base uuid) RETURNS jsonb
            LANGUAGE sql {volatility} SECURITY INVOKER AS $${select}$$""")
        op.execute(f"REVOKE ALL ON FUNCTION eai.{name}(uuid, uuid) FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION eai.{name}(uuid, uuid) TO {APP}")


def _keys() -> None:
    """A key that was succeeded opens until `remove_at`. Those of before have the epoch 0."""
    op.execute("""
        ALTER TABLE eai.tenant_keys
          ADD COLUMN epoch     integer NOT NULL DEFAULT 0 CHECK (epoch >= 0),
          ADD COLUMN remove_at timestamptz,
          DROP CONSTRAINT tenant_keys_pkey,
          ADD PRIMARY KEY (tenant_id, purpose, epoch)""")
    op.execute("CREATE INDEX tenant_keys_due ON eai.tenant_keys (remove_at) WHERE remove_at IS NOT NULL")
    op.execute(f"GRANT UPDATE ON eai.tenant_keys TO {APP}")
    op.execute(f"CREATE POLICY sweep ON eai.tenant_keys FOR SELECT TO {SWEEPER} USING (true)")
    op.execute(f"GRANT SELECT (tenant_id, remove_at) ON eai.tenant_keys TO {SWEEPER}")
    op.execute("""
        CREATE FUNCTION eai.tenants_with_due_keys() RETURNS SETOF uuid
        LANGUAGE sql STABLE SECURITY DEFINER SET search_path = eai, pg_temp AS $$
            SELECT DISTINCT tenant_id FROM tenant_keys WHERE remove_at <= now()
        $$""")
    step_function("tenants_with_due_keys()", SWEEPER)
