"""Every statement on the rows of jobs. A row's `lease_until` is when it is due, held or not."""

from sqlalchemy import bindparam, text
from sqlalchemy.dialects.postgresql import JSONB

CREATE = text("""
    INSERT INTO eai.jobs
           (tenant_id, id, name, state, parameters, principal_id, attempt, failures, lease_until)
    VALUES (:tenant, :job, :name, :state, :parameters, :principal,
            CASE WHEN :state = 'running' THEN 1 ELSE 0 END,
            CASE WHEN :state = 'running' THEN 1 ELSE 0 END,
            now() + make_interval(secs => :lease))""").bindparams(bindparam("parameters", type_=JSONB))
IS_PENDING = text("""
    SELECT EXISTS (SELECT FROM eai.jobs
                    WHERE tenant_id = :tenant AND state IN ('queued', 'running')
                      AND name = :name AND parameters = :parameters)""").bindparams(
    bindparam("parameters", type_=JSONB)
)
CLAIM = text("""
    UPDATE eai.jobs
       SET state = 'running', attempt = attempt + 1, failures = failures + 1,
           lease_until = clock_timestamp() + make_interval(secs => :lease), updated_at = now()
     WHERE tenant_id = :tenant AND id = :job
       AND (state = 'queued' OR (state = 'running' AND lease_until < clock_timestamp()))
       AND (:alone OR failures <> :last)
    RETURNING name, attempt, failures, parameters, progress""")
NEEDS_SOLITUDE = text("""
    SELECT 1 FROM eai.jobs
     WHERE tenant_id = :tenant AND id = :job AND failures = :last
       AND (state = 'queued' OR (state = 'running' AND lease_until < clock_timestamp()))""")
CONFIRM = text("""
    UPDATE eai.jobs
       SET lease_until = clock_timestamp() + make_interval(secs => :lease),
           progress = progress || :progress, updated_at = now()
     WHERE tenant_id = :tenant AND id = :job AND attempt = :attempt AND state = 'running'
    RETURNING progress""").bindparams(bindparam("progress", type_=JSONB))
COMPLETE = text("""
    UPDATE eai.jobs
       SET state = 'completed', lease_until = NULL, progress = progress || :progress, updated_at = now()
     WHERE tenant_id = :tenant AND id = :job AND attempt = :attempt AND state = 'running'""").bindparams(
    bindparam("progress", type_=JSONB)
)
FAIL = text("""
    UPDATE eai.jobs SET state = 'failed', lease_until = NULL, error = :error, updated_at = now()
     WHERE tenant_id = :tenant AND id = :job AND attempt = :attempt AND state = 'running'""").bindparams(
    bindparam("error", type_=JSONB)
)
CANCEL = text("""
    UPDATE eai.jobs SET state = 'cancelled', lease_until = NULL, updated_at = now()
     WHERE tenant_id = :tenant AND id = :job AND state IN ('queued', 'running')""")
ABANDON = text("""
    UPDATE eai.jobs SET state = 'cancelled', lease_until = NULL, updated_at = now()
     WHERE tenant_id = :tenant AND id = :job AND attempt = :attempt AND state = 'running'""")
PARAMETERS = text("SELECT parameters FROM eai.jobs WHERE tenant_id = :tenant AND id = :job")
HAND_BACK = text("""
    UPDATE eai.jobs
       SET state = 'queued', failures = LEAST(failures - :refund, :most), updated_at = now(),
           lease_until = clock_timestamp() + make_interval(secs => :after)
     WHERE tenant_id = :tenant AND id = :job AND attempt = :attempt AND state = 'running'""")
# What the dead have left, and queued rows whose time has come and that nobody claimed: their message is lost,
# or the workers have much to do, which the message that waits tells. One that a worker has taken counts for
# nothing: it may have failed at claiming, and at saying so. Announcing a job twice is harmless, because only
# one claim succeeds. A row that is held is being settled. Every bound is a value that an index can look for.
REQUEUE = text("""
    WITH dead AS MATERIALIZED (
         SELECT id FROM eai.jobs
          WHERE tenant_id = :tenant AND state = 'running' AND lease_until < statement_timestamp()
          ORDER BY lease_until LIMIT :most FOR UPDATE SKIP LOCKED),
    waiting AS MATERIALIZED (
         SELECT id FROM eai.jobs
          WHERE tenant_id = :tenant AND state = 'queued'
            AND lease_until < statement_timestamp() - make_interval(secs => :lease)
          ORDER BY lease_until LIMIT :most FOR UPDATE SKIP LOCKED),
    due AS (SELECT id FROM dead UNION ALL SELECT id FROM waiting),
    queued AS (
         UPDATE eai.jobs AS job
            SET state = 'queued', lease_until = clock_timestamp() + make_interval(secs => :lease)
           FROM due WHERE job.tenant_id = :tenant AND job.id = due.id
         RETURNING job.id, job.name)
    SELECT id, name FROM queued
     WHERE NOT EXISTS (SELECT FROM eai_jobs.procrastinate_jobs AS message
                        WHERE message.status = 'todo' AND message.args->>'job' = queued.id::text)""")
