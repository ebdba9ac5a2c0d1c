"""What became of a job, for whoever follows it; and quotas on what is kept, beside those on calls."""

from alembic import op

from eai.platform.roles import APP
from eai.platform.tenancy import tenant_table

revision = "0016"
down_revision = "0015"


_RESERVE = """reserve_model_call(uuid, uuid, uuid, uuid[], uuid, text, text, text, bigint, double precision,
                                 jsonb, bytea, uuid, uuid, bytea)"""


def upgrade() -> None:
    """Create the events of jobs, and let quotas have metrics without a period."""
    _job_events()
    _knowledge_quotas()


def _knowledge_quotas() -> None:
    """What is kept has no period: `total`. Calls of models are bound by the others only."""
    op.execute("""
        ALTER TABLE eai.quotas
         DROP CONSTRAINT quotas_metric_check, DROP CONSTRAINT quotas_period_check,
          ADD CONSTRAINT quotas_metric_check CHECK (
              metric IN ('tokens', 'requests', 'knowledge_bases', 'documents', 'bytes')),
          ADD CONSTRAINT quotas_period_check CHECK (period IN ('month', 'minute', 'total')),
          ADD CONSTRAINT quotas_total_check CHECK (
              (period = 'total') = (metric IN ('knowledge_bases', 'documents', 'bytes')))""")
    op.execute(f"""
        DO $$
        DECLARE
            before text := pg_get_functiondef('eai.{_RESERVE}'::regprocedure);
            after  text := replace(before, 'WHERE q.tenant_id = p_tenant',
                                   'WHERE q.tenant_id = p_tenant AND q.period <> ''total''');
        BEGIN
            IF after = before THEN
                RAISE EXCEPTION 'the reservation does not look for quotas where it did';
            END IF;
            EXECUTE after;
        END $$""")


def _job_events() -> None:
    """Numbered events of each job, written by the row's own changes: none is forgotten, none told twice.

    The numbers are dense, because whoever changes a job holds its row. Of the progress only what clients
    are shown counts; a lease that is extended is no event.
    """
    op.execute("""
        CREATE TABLE eai.job_events (
            tenant_id uuid NOT NULL,
            job_id    uuid NOT NULL,
            seq       integer NOT NULL,
            state     text NOT NULL,
            attempt   integer NOT NULL,
            progress  jsonb NOT NULL,
            error     jsonb,
            at        timestamptz NOT NULL DEFAULT clock_timestamp(),
            PRIMARY KEY (tenant_id, job_id, seq),
            FOREIGN KEY (tenant_id, job_id) REFERENCES eai.jobs ON DELETE CASCADE
        )""")
    tenant_table("job_events", grants="SELECT, INSERT")
    op.execute("""
        CREATE FUNCTION eai.shown_progress(p_progress jsonb) RETURNS jsonb
        LANGUAGE sql IMMUTABLE AS $$
            SELECT COALESCE(jsonb_object_agg(p.key, p.value), '{}')
              FROM jsonb_each(p_progress) p
             WHERE p.key IN ('stage', 'batches_done', 'batches_total', 'documents_done', 'documents_total',
                             'chunks_done', 'chunks_total')
        $$""")
    op.execute("""
        CREATE FUNCTION eai.record_job_event() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO eai.job_events (tenant_id, job_id, seq, state, attempt, progress, error)
            SELECT NEW.tenant_id, NEW.id, COALESCE(max(e.seq), 0) + 1, NEW.state, NEW.attempt,
                   eai.shown_progress(NEW.progress), NEW.error
              FROM eai.job_events e WHERE e.tenant_id = NEW.tenant_id AND e.job_id = NEW.id;
            RETURN NULL;
        END $$""")
    for function in ("shown_progress(jsonb)", "record_job_event()"):
        op.execute(f"REVOKE ALL ON FUNCTION eai.{function} FROM PUBLIC")
    op.execute(f"GRANT EXECUTE ON FUNCTION eai.shown_progress(jsonb) TO {APP}")
    op.execute("""
        CREATE TRIGGER job_created AFTER INSERT ON eai.jobs
        FOR EACH ROW EXECUTE FUNCTION eai.record_job_event()""")
    op.execute("""
        CREATE TRIGGER job_changed AFTER UPDATE ON eai.jobs
        FOR EACH ROW WHEN (
            OLD.state IS DISTINCT FROM NEW.state OR OLD.attempt IS DISTINCT FROM NEW.attempt
            OR (OLD.progress IS DISTINCT FROM NEW.progress
                AND eai.shown_progress(OLD.progress) IS DISTINCT FROM eai.shown_progress(NEW.progress)))
        EXECUTE FUNCTION eai.record_job_event()""")
