"""The two statements of a query: open it, and re-check what the search found."""

from alembic import op

from eai.platform.roles import APP

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Create the query path's functions; all run as the caller, under row level security."""
    _references()
    _entries()
    _open_query()
    _recheck()
    for signature in (
        "references_of(jsonb)",
        "entries_of(uuid, uuid, text[])",
        "open_query(text, bytea[], uuid, text, text[])",
        "recheck(uuid, uuid, uuid, uuid, uuid[])",
    ):
        op.execute(f"REVOKE ALL ON FUNCTION eai.{signature} FROM PUBLIC")
        op.execute(f"GRANT EXECUTE ON FUNCTION eai.{signature} TO {APP}")


def _references() -> None:
    op.execute("""
        CREATE FUNCTION eai.references_of(p_subject jsonb) RETURNS text[] LANGUAGE sql IMMUTABLE AS $$
            SELECT ARRAY['tenant:*', (p_subject->>'kind') || ':' || (p_subject->>'principal')]
                || ARRAY(SELECT 'group:' || g FROM jsonb_array_elements_text(p_subject->'groups') g)
        $$""")


def _entries() -> None:
    op.execute("""
        CREATE FUNCTION eai.entries_of(p_tenant uuid, p_base uuid, p_references text[]) RETURNS jsonb
        LANGUAGE sql STABLE AS $$
            SELECT COALESCE(jsonb_agg(jsonb_build_array(e.principal, e.permission, e.effect)), '[]')
              FROM eai.knowledge_base_entries e
             WHERE e.tenant_id = p_tenant AND e.base_id = p_base AND e.principal = ANY (p_references)
        $$""")


def _open_query() -> None:
    """One round trip: credential, subject, base, permitted rights classes, and term statistics.

    Statistics count only classes without readers, at a level that neither the caller's clearance nor
    the lowest clearance of the tenant's principals is below: an IDF then tells nothing of the rest.
    """
    op.execute("""
        CREATE FUNCTION eai.open_query(
            p_key_id text, p_macs bytea[], p_base_id uuid, p_base_alias text, p_terms text[])
        RETURNS jsonb LANGUAGE plpgsql VOLATILE AS $$
        DECLARE
            who     jsonb;
            base    eai.knowledge_bases;
            mine    text[];
            cleared integer;
            common  integer;
            counted integer[];
        BEGIN
            who := eai.subject(p_key_id, p_macs);
            IF who IS NULL THEN
                RETURN NULL;
            END IF;
            mine := eai.references_of(who);
            cleared := LEAST((who->>'clearance')::integer, (who->>'key_clearance')::integer);
            SELECT * INTO base FROM eai.knowledge_bases b
             WHERE b.tenant_id = (who->>'tenant')::uuid
               AND (b.id = p_base_id OR b.alias = p_base_alias)
               AND b.deleting_since IS NULL;
            IF base.id IS NULL THEN
                RETURN jsonb_build_object('subject', who);
            END IF;
            common := LEAST(cleared, (SELECT min(p.clearance) FROM eai.principals p
                                       WHERE p.tenant_id = base.tenant_id));
            counted := ARRAY(
                SELECT c.number FROM eai.kb_rights_classes c
                 WHERE c.tenant_id = base.tenant_id AND c.base_id = base.id
                   AND c.readers IS NULL AND c.chunk_readers IS NULL
                   AND GREATEST(COALESCE(c.classification, base.classification), c.chunk_classification)
                       <= common);
            RETURN jsonb_build_object(
                'subject', who,
                'base', jsonb_build_object(
                    'id', base.id, 'alias', base.alias, 'classification', base.classification,
                    'embedding_model', base.embedding_model, 'dimensions', base.dimensions,
                    'generation', base.vector_generation, 'collection', base.vector_collection),
                'entries', eai.entries_of(base.tenant_id, base.id, mine),
                'classes', ARRAY(
                    SELECT c.number FROM eai.kb_rights_classes c
                     WHERE c.tenant_id = base.tenant_id AND c.base_id = base.id
                       AND (c.readers IS NULL OR c.readers && mine)
                       AND (c.chunk_readers IS NULL OR c.chunk_readers && mine)
                       AND GREATEST(COALESCE(c.classification, base.classification), c.chunk_classification)
                           <= cleared
                     ORDER BY c.number LIMIT 1001),
                'chunks_by_language', (
                    SELECT COALESCE(jsonb_object_agg(s.language, s.chunks), '{}')
                      FROM (SELECT l.language, sum(l.chunks) AS chunks FROM eai.kb_language_statistics l
                             WHERE l.tenant_id = base.tenant_id AND l.generation = base.vector_generation
                               AND l.class_number = ANY (counted)
                             GROUP BY l.language) s),
                'document_frequencies', (
                    SELECT COALESCE(jsonb_object_agg(s.term, s.frequency), '{}')
                      FROM (SELECT t.term, sum(t.document_frequency) AS frequency
                              FROM eai.kb_term_statistics t
                             WHERE t.tenant_id = base.tenant_id AND t.generation = base.vector_generation
                               AND t.term = ANY (p_terms) AND t.class_number = ANY (counted)
                             GROUP BY t.term) s));
        END $$""")


def _recheck() -> None:
    """One snapshot of everything that decides, taken after the search: raw rows, never classes."""
    op.execute("""
        CREATE FUNCTION eai.recheck(
            p_tenant uuid, p_api_key uuid, p_base uuid, p_generation uuid, p_points uuid[])
        RETURNS jsonb LANGUAGE plpgsql VOLATILE AS $$
        DECLARE
            answer jsonb;
        BEGIN
            PERFORM set_config('app.tenant_id', p_tenant::text, true);
            WITH caller AS MATERIALIZED (SELECT eai.subject_of_key(p_api_key) AS subject)
            SELECT jsonb_build_object(
                'subject', caller.subject,
                'entries', eai.entries_of(p_tenant, p_base, eai.references_of(caller.subject)),
                'base', (SELECT jsonb_build_object(
                                'is_live', b.deleting_since IS NULL, 'classification', b.classification)
                           FROM eai.knowledge_bases b WHERE b.tenant_id = p_tenant AND b.id = p_base),
                'passages', (
                    SELECT COALESCE(jsonb_agg(jsonb_build_object(
                        'tenant', c.tenant_id, 'point', c.id, 'chunk', c.chunk_id, 'document', c.document_id,
                        'title', d.title, 'ordinal', c.ordinal, 'content', c.content,
                        'start', c.start_offset, 'end', c.end_offset,
                        'document_readers', d.readers, 'chunk_readers', c.readers,
                        'classification', d.classification, 'chunk_classification', c.classification,
                        'is_live', d.deleting_since IS NULL AND d.serving_version_id = c.version_id
                                   AND v.status = 'ready',
                        'version', v.number, 'source_uri', d.source_uri,
                        'source_connector', d.source_connector, 'metadata', d.metadata)), '[]')
                      FROM eai.kb_chunks c
                      JOIN eai.kb_documents d ON d.tenant_id = c.tenant_id AND d.id = c.document_id
                      JOIN eai.kb_document_versions v ON v.tenant_id = c.tenant_id AND v.id = c.version_id
                     WHERE c.tenant_id = p_tenant AND c.id = ANY (p_points)
                       AND c.base_id = p_base AND c.generation = p_generation))
              INTO answer FROM caller;
            RETURN answer;
        END $$""")
