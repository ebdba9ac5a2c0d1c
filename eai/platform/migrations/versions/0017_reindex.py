"""Reindexes: a generation beside the one that is searched, the jobs that make it, and its grace period."""

from alembic import op

from eai.platform.tenancy import tenant_table

revision = "0017"
down_revision = "0016"

_RUNS_AS_CALLER = "LANGUAGE plpgsql VOLATILE SECURITY INVOKER SET plan_cache_mode = force_generic_plan"


def upgrade() -> None:
    """Let generations be retired and dropped, and keep what became of each reindex."""
    _generations()
    _jobs()
    _recheck()


def _generations() -> None:
    """`chunk_size` and `chunk_overlap` are null for generations older than this: they have the base's."""
    op.execute("ALTER TABLE eai.kb_generations DROP CONSTRAINT kb_generations_state_check")
    op.execute("""
        ALTER TABLE eai.kb_generations
          ADD CONSTRAINT kb_generations_state_check
              CHECK (state IN ('building', 'serving', 'retired', 'dropping')),
          ADD COLUMN chunk_size    integer,
          ADD COLUMN chunk_overlap integer,
          ADD COLUMN retired_at    timestamptz""")
    for state in ("building", "serving"):
        op.execute(f"""
            CREATE UNIQUE INDEX generations_{state} ON eai.kb_generations (tenant_id, base_id)
            WHERE state = '{state}'""")


def _jobs() -> None:
    op.execute("""
        CREATE TABLE eai.kb_reindex_jobs (
            tenant_id       uuid NOT NULL,
            id              uuid NOT NULL,
            base_id         uuid NOT NULL,
            status          text NOT NULL CHECK (status IN
                            ('queued', 'running', 'verifying', 'completed', 'failed', 'cancelled')),
            source          jsonb NOT NULL,
            target          jsonb NOT NULL,
            rollback_of     uuid,
            documents_total integer NOT NULL DEFAULT 0,
            documents_done  integer NOT NULL DEFAULT 0,
            error           jsonb,
            requested_by    uuid,
            completed_at    timestamptz,
            created_at      timestamptz NOT NULL DEFAULT now(),
            updated_at      timestamptz NOT NULL DEFAULT now(),
            PRIMARY KEY (tenant_id, id),
            FOREIGN KEY (tenant_id, base_id) REFERENCES eai.knowledge_bases ON DELETE CASCADE
        )""")
    op.execute("CREATE INDEX reindex_jobs_base ON eai.kb_reindex_jobs (tenant_id, base_id, created_at, id)")
    op.execute("""
        CREATE UNIQUE INDEX reindex_jobs_active ON eai.kb_reindex_jobs (tenant_id, base_id)
        WHERE status IN ('queued', 'running', 'verifying')""")
    tenant_table("kb_reindex_jobs")


def _recheck() -> None:
    """As it was, and it also tells which generation the base is searched in at this instant.

    A question that was opened before a flip would not find what was written after it.
    """
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
                               d.source_uri, d.source_connector,
                               d.readers, c.readers, d.classification, c.classification,
                               d.deleting_since IS NULL AND v.status = 'ready',
                               d.serving_version_id IS NOT DISTINCT FROM c.version_id,
                               CASE WHEN p_wants_metadata THEN d.metadata END)), '[]')
                      FROM eai.kb_chunks c
                      JOIN eai.kb_documents d ON d.tenant_id = c.tenant_id AND d.id = c.document_id
                      JOIN eai.kb_document_versions v ON v.tenant_id = c.tenant_id AND v.id = c.version_id
                     WHERE c.tenant_id = p_tenant AND c.id = ANY (p_points)
                       AND c.base_id = p_base AND c.generation = p_generation)
              FROM caller, names;
        END $$""")
