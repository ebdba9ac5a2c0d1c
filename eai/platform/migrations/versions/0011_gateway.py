"""What the gateway's controls go by, in one snapshot; a query reads it with its opening statement."""

from alembic import op

from eai.platform.roles import APP

revision = "0011"
down_revision = "0010"

_OPEN_QUERY = "open_query(text, bytea[], uuid, text, text[], integer)"
_RUNS_AS_CALLER = "LANGUAGE plpgsql VOLATILE SECURITY INVOKER SET plan_cache_mode = force_generic_plan"


def upgrade() -> None:
    """Create the facts of a call; both functions run with the caller's rights, under row level security."""
    _facts()
    _read_facts()
    op.execute(f"DROP FUNCTION eai.{_OPEN_QUERY}")
    _open_query()
    for signature in (_OPEN_QUERY, "gateway_facts(uuid, text)", "read_gateway_facts(uuid, text)"):
        op.execute(f"REVOKE ALL ON FUNCTION eai.{signature} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION eai.{signature} TO {APP}")


def _facts() -> None:
    """The model as it is registered for the tenant, its endpoint, and everything that may stand in its way.

    The tenant must be bound already. Which of the switches concern the model is for the caller to say.
    """
    op.execute("""
        CREATE FUNCTION eai.gateway_facts(p_tenant uuid, p_model text) RETURNS jsonb
        LANGUAGE sql STABLE SECURITY INVOKER AS $$
            SELECT jsonb_build_object(
                'model', to_jsonb(m), 'binding', to_jsonb(b), 'endpoint', to_jsonb(e),
                'engaged', ARRAY(SELECT k.scope FROM eai.kill_switches k WHERE k.tenant_id = p_tenant
                                  UNION ALL SELECT k.scope FROM eai.platform_kill_switches k),
                'settings', jsonb_build_object(
                    'regions', t.regions, 'retention_required_from', t.retention_required_from,
                    'dlp', t.dlp),
                'has_quota', EXISTS (SELECT FROM eai.quotas q WHERE q.tenant_id = p_tenant
                                        AND q.metric IN ('tokens', 'requests')),
                'policy_version', COALESCE((SELECT v.version FROM eai.policy_counters v
                                             WHERE v.tenant_id = p_tenant), 0))
              FROM eai.tenants t
              LEFT JOIN eai.models m ON m.tenant_id = t.tenant_id AND m.name = p_model
              LEFT JOIN eai.platform_models b ON b.name = p_model
              LEFT JOIN eai.provider_endpoints e ON e.id = COALESCE(m.endpoint_id, b.endpoint_id)
             WHERE t.tenant_id = p_tenant
        $$""")


def _read_facts() -> None:
    """The same as one statement of its own: it binds the tenant first."""
    op.execute("""
        CREATE FUNCTION eai.read_gateway_facts(p_tenant uuid, p_model text) RETURNS jsonb
        LANGUAGE plpgsql VOLATILE SECURITY INVOKER SET plan_cache_mode = force_generic_plan AS $$
        BEGIN
            PERFORM set_config('app.tenant_id', p_tenant::text, true);
            RETURN eai.gateway_facts(p_tenant, p_model);
        END $$""")


def _open_query() -> None:
    """One round trip: credential, subject, base, permitted rights classes, term statistics, and what the
    gateway goes by. The rest is as it was.

    No row is answered for a credential that opens nothing. A base that is missing and one of which no
    entry lets the caller read take the same steps, so that their times do not differ: `base` is null for
    the former and empty for the latter, since `kb:admin` sees every base.

    Statistics count only classes without readers, at a level that neither the caller's clearance nor
    the lowest clearance of the tenant's principals is below: an IDF then tells nothing of the rest.
    `classes` holds one more than `p_most_classes` when there are too many.
    """
    op.execute(f"""
        CREATE FUNCTION eai.open_query(
            p_key_id text, p_macs bytea[], p_base_id uuid, p_base_alias text,
            p_terms text[], p_most_classes integer
        ) RETURNS TABLE (
            subject jsonb, base json, entries json, classes integer[],
            chunks_by_language json, document_frequencies json, gateway jsonb
        ) {_RUNS_AS_CALLER} AS $$
        DECLARE
            who       jsonb := eai.subject(p_key_id, p_macs);
            found     eai.knowledge_bases;
            mine      text[];
            cleared   integer;
            lowest    integer;
            counted   integer[];
            is_open   boolean;
            nobody    CONSTANT uuid := '00000000-0000-0000-0000-000000000000';
        BEGIN
            IF who IS NULL THEN
                RETURN;
            END IF;
            subject := who;
            mine := ARRAY['tenant:*', (who->>'kind') || ':' || (who->>'principal')]
                 || ARRAY(SELECT 'group:' || g FROM jsonb_array_elements_text(who->'groups') g);
            cleared := LEAST((who->>'clearance')::integer, (who->>'key_clearance')::integer);
            SELECT * INTO found FROM eai.knowledge_bases b
             WHERE b.tenant_id = (who->>'tenant')::uuid
               AND (b.id = p_base_id OR b.alias = p_base_alias)
               AND b.deleting_since IS NULL;
            SELECT COALESCE(json_agg(json_build_array(e.principal, e.permission, e.effect)), '[]'),
                   bool_or(e.effect = 'allow')
                   AND NOT bool_or(e.effect = 'deny' AND e.permission = 'read')
              INTO entries, is_open
              FROM eai.knowledge_base_entries e
             WHERE e.tenant_id = (who->>'tenant')::uuid AND e.base_id = COALESCE(found.id, p_base_id, nobody)
               AND e.principal = ANY (mine);
            base := CASE WHEN found.id IS NOT NULL THEN json_build_object() END;
            IF is_open AND found.id IS NOT NULL THEN
                base := json_build_object(
                    'id', found.id, 'classification', found.classification,
                    'embedding_model', found.embedding_model, 'dimensions', found.dimensions,
                    'generation', found.vector_generation, 'collection', found.vector_collection);
                SELECT min(p.clearance) INTO lowest FROM eai.principals p
                 WHERE p.tenant_id = found.tenant_id;
                SELECT array_agg(c.number) FILTER (WHERE c.is_mine AND c.level <= cleared),
                       array_agg(c.number) FILTER (WHERE c.is_everyones AND c.level <= LEAST(cleared, lowest))
                  INTO classes, counted
                  FROM (SELECT r.number,
                               r.readers IS NULL AND r.chunk_readers IS NULL AS is_everyones,
                               (r.readers IS NULL OR r.readers && mine)
                               AND (r.chunk_readers IS NULL OR r.chunk_readers && mine) AS is_mine,
                               GREATEST(COALESCE(r.classification, found.classification),
                                        r.chunk_classification) AS level
                          FROM eai.kb_rights_classes r
                         WHERE r.tenant_id = found.tenant_id AND r.base_id = found.id) c;
                classes := classes[1 : p_most_classes + 1];
                SELECT json_object_agg(s.language, s.chunks) INTO chunks_by_language
                  FROM (SELECT l.language, sum(l.chunks) AS chunks FROM eai.kb_language_statistics l
                         WHERE l.tenant_id = found.tenant_id AND l.generation = found.vector_generation
                           AND l.class_number = ANY (counted)
                         GROUP BY l.language) s;
                SELECT json_object_agg(s.term, s.frequency) INTO document_frequencies
                  FROM (SELECT t.term, sum(t.document_frequency) AS frequency
                          FROM eai.kb_term_statistics t
                         WHERE t.tenant_id = found.tenant_id AND t.generation = found.vector_generation
                           AND t.term = ANY (p_terms) AND t.class_number = ANY (counted)
                         GROUP BY t.term) s;
                gateway := eai.gateway_facts(found.tenant_id, found.embedding_model);
            END IF;
            RETURN NEXT;
        END $$""")
