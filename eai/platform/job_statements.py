"""Every statement on the rows of jobs. A row's `lease_until` is when it is due, held or not."""

from sqlalchemy import bindparam, text
from sqlalchemy.dialects.postgresql import JSONB

CREATE = text("""
    INSERT INTO eai.jobs
           (tenant_id, id, name, state, parameters, principal_id, attempt, failures, unsettled, lease_until)
    VALUES (:tenant, :job, :name, :state, :parameters, :principal, :begun, :begun, :begun,
            now() + make_interval(secs => :lease))""").bindparams(bindparam("parameters", type_=JSONB))
IS_PENDING = text("""
    SELECT EXISTS (SELECT FROM eai.jobs
                    WHERE tenant_id = :tenant AND state IN ('queued', 'running')
                      AND name = :name AND parameters = :parameters)""").bindparams(
    bindparam("parameters", type_=JSONB)
)
# An attempt counts as failed and as unsettled until it ends by itself. The first of a row that nobody settled
# may have died of what ran beside it, and never is the one that was too many: `last` is as far as it counts.
# One that follows, when others have failed before, is the last; unless it is alone, it is not to be had.
CLAIM = text("""
    UPDATE eai.jobs
       SET state = 'running', attempt = attempt + 1, unsettled = unsettled + 1,
           failures = 1 + CASE WHEN unsettled = 1 THEN LEAST(failures, :last) ELSE failures END,
           lease_until = clock_timestamp() + make_interval(secs => :lease), updated_at = now()
     WHERE tenant_id = :tenant AND id = :job
       AND (state = 'queued' OR (state = 'running' AND lease_until < clock_timestamp()))
       AND (:alone OR unsettled = 0 OR failures < :last OR (failures > :last AND unsettled > 1))
    RETURNING name, attempt, failures, parameters, progress""")
NEEDS_SOLITUDE = text("""
    SELECT 1 FROM eai.jobs
     WHERE tenant_id = :tenant AND id = :job
       AND (state = 'queued' OR (state = 'running' AND lease_until < clock_timestamp()))
       AND NOT (unsettled = 0 OR failures < :last OR (failures > :last AND unsettled > 1))""")
POSTPONE = text("""
    UPDATE eai.jobs
       SET state = 'queued', lease_until = clock_timestamp() + make_interval(secs => :after)
     WHERE tenant_id = :tenant AND id = :job
       AND (state = 'queued' OR (state = 'running' AND lease_until < clock_timestamp()))
    RETURNING name""")
CONFIRM = text("""
    UPDATE eai.jobs
       SET lease_until = clock_timestamp() + make_interval(secs => :lease),
           failures = CASE WHEN :further THEN 1 ELSE failures END,
           unsettled = CASE WHEN :further THEN 1 ELSE unsettled END,
           progress = progress || :progress, updated_at = now()
     WHERE tenant_id = :tenant AND id = :job AND attempt = :attempt AND state = 'running'
    RETURNING progress, unsettled""").bindparams(bindparam("progress", type_=JSONB))
HOLDS = text("""
    SELECT EXISTS (SELECT FROM eai.jobs
                    WHERE tenant_id = :tenant AND id = :job AND attempt = :attempt AND state = 'running')""")
PROGRESS = text("""
    SELECT progress FROM eai.jobs
     WHERE tenant_id = :tenant AND id = :job AND state IN ('queued', 'running')""")
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
    UPDATE eai.jobs SET state = 'cancelled', lease_until = NULL, error = :error, updated_at = now()
     WHERE tenant_id = :tenant AND id = :job AND attempt = :attempt AND state = 'running'""").bindparams(
    bindparam("error", type_=JSONB)
)
PARAMETERS = text("SELECT parameters FROM eai.jobs WHERE tenant_id = :tenant AND id = :job")
HAND_BACK = text("""
    UPDATE eai.jobs
       SET state = 'queued', updated_at = now(),
           failures = LEAST(failures - CASE WHEN :counts THEN 0 ELSE 1 END, :last),
           unsettled = CASE WHEN :counts THEN 0 ELSE GREATEST(unsettled - 1, 0) END,
           lease_until = clock_timestamp() + make_interval(secs => :after)
     WHERE tenant_id = :tenant AND id = :job AND attempt = :attempt AND state = 'running'""")
# What the dead have left, and queued rows whose time has come and that nobody claimed: their message is lost,
# or the workers have much to do, which the message that waits tells. One that a worker has taken counts for
# nothing: it may have failed at claiming, and at saying so. Nor does one whose time has not come when that of
# the row has: whoever put it off went by a clock that is wrong. Announcing a job twice is harmless, because
# only one claim succeeds. A row that is held is being settled. Every bound is a value that an index can look
# for.
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
                        WHERE message.status = 'todo' AND message.args->>'job' = queued.id::text
                          AND (message.scheduled_at IS NULL OR message.scheduled_at <= now()))
     ORDER BY id""")
