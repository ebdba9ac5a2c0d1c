"""Source connectors: who may bring documents from where, and whether what they brought is to be seen."""

from alembic import op

from eai.platform.tenancy import tenant_table

revision = "0023"
down_revision = "0022"

_RUNS_AS_CALLER = "LANGUAGE plpgsql VOLATILE SECURITY INVOKER SET plan_cache_mode = force_generic_plan"


def upgrade() -> None:
    """Add the registry, and have both gates of a query look at it."""
    _connectors()
    op.execute("ALTER TABLE eai.kb_documents ADD COLUMN source_uri_verified boolean NOT NULL DEFAULT false")
    _open_query()
    _recheck()


def _connectors() -> None:
    """Documents name a connector, so the application may not remove one.

    The service that stamps is no foreign key: when it is removed, nobody may stamp any more.
    """
    op.execute("""
        CREATE TABLE eai.source_connectors (
            tenant_id               uuid NOT NULL REFERENCES eai.tenants,
            id                      uuid NOT NULL,
            name                    text NOT NULL CHECK (lower(name) <> 'direct'),
            kind                    text NOT NULL,
            allowed_classifications smallint[] CHECK (allowed_classifications <@ '{0,1,2,3,4}'::smallint[]),
            principal_id            uuid,
            is_enabled              boolean NOT NULL DEFAULT true,
            revision                integer NOT NULL DEFAULT 1,
            created_by              uuid,
            created_at              timestamptz NOT NULL DEFAULT now(),
            updated_at              timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, id),
            UNIQUE (tenant_id, name)
        )""")
    tenant_table("source_connectors", grants="SELECT, INSERT, UPDATE")


def _open_query() -> None:
    """As it was, and a class of a connector that is not enabled is permitted to nobody and counted for none.

    No row is answered for a credential that opens nothing. A base that is missing and one of which no
    entry lets the caller read take the same steps, so that their times do not differ: `base` is null for
    the former and empty for the latter, since `kb:admin` sees every base.

    Statistics count only classes without readers, at a level that neither the caller's clearance nor
    the lowest clearance of the tenant's principals is below: an IDF then tells nothing of the rest.
    `classes` holds one more than `p_most_classes` when there are too many.
    """
    op.execute(f"""
        CREATE OR REPLACE FUNCTION eai.open_query(
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
                          JOIN (SELECT 'direct' AS name UNION ALL
                                SELECT o.name FROM eai.source_connectors o
                                 WHERE o.tenant_id = found.tenant_id AND o.is_enabled) s
                            ON s.name = r.source_connector
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


def _recheck() -> None:
    """As it was, and it also tells of each passage whether its document's connector is enabled."""
    op.execute(f"""
        CREATE OR REPLACE FUNCTION eai.recheck(
            p_tenant uuid, p_api_key uuid, p_base uuid, p_generation uuid, p_points uuid[],
            p_wants_metadata boolean
        ) RETURNS TABLE (subject jsonb, base json, entries json, passages json)
        {_RUNS_AS_CALLER} AS $$
        BEGIN
            PERFORM set_config('app.tenant_id', p_tenant::text, true);
            RETURN QUERY
            WITH caller AS MATERIALIZED (SELECT eai.subject_of_key(p_api_key) AS who),
                 names AS MATERIALIZED (
                    SELECT ARRAY['tenant:*', (who->>'kind') || ':' || (who->>'principal')]
                        || ARRAY(SELECT 'group:' || g FROM jsonb_array_elements_text(who->'groups') g) AS mine
                      FROM caller)
            SELECT caller.who,
                   (SELECT json_build_object('is_live', b.deleting_since IS NULL,
                                             'classification', b.classification,
                                             'generation', b.vector_generation)
                      FROM eai.knowledge_bases b WHERE b.tenant_id = p_tenant AND b.id = p_base),
                   (SELECT COALESCE(json_agg(json_build_array(e.principal, e.permission, e.effect)), '[]')
                      FROM eai.knowledge_base_entries e
                     WHERE e.tenant_id = p_tenant AND e.base_id = p_base
                       AND e.principal = ANY (names.mine)),
                   (SELECT COALESCE(json_agg(json_build_array(
                               c.id, c.tenant_id, c.chunk_id, c.document_id, d.title, c.ordinal, c.content,
                               c.start_offset, c.end_offset, c.language, v.number,
                               d.source_uri, d.source_connector, d.source_uri_verified,
                               d.readers, c.readers, d.classification, c.classification,
                               d.deleting_since IS NULL AND v.status = 'ready',
                               d.serving_version_id IS NOT DISTINCT FROM c.version_id,
                               d.source_connector = 'direct' OR EXISTS (
                                   SELECT FROM eai.source_connectors s
                                    WHERE s.tenant_id = p_tenant AND s.name = d.source_connector
                                      AND s.is_enabled),
                               CASE WHEN p_wants_metadata THEN d.metadata END)), '[]')
                      FROM eai.kb_chunks c
                      JOIN eai.kb_documents d ON d.tenant_id = c.tenant_id AND d.id = c.document_id
                      JOIN eai.kb_document_versions v ON v.tenant_id = c.tenant_id AND v.id = c.version_id
                     WHERE c.tenant_id = p_tenant AND c.id = ANY (p_points)
                       AND c.base_id = p_base AND c.generation = p_generation)
              FROM caller, names;
        END $$""")
