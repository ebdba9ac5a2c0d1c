"""Closing a call costs what it closes: without a quota there is nothing to add up."""

from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """As 0008 made it, planned once, and done after its first statement where nothing was held of a quota.

    Its statements were planned anew with every call, which took longer than all the rest of the flush.
    """
    op.execute("""
        CREATE OR REPLACE FUNCTION eai.settle_model_calls(p_tenant uuid, p_settled jsonb) RETURNS void
        LANGUAGE plpgsql VOLATILE SET search_path = eai, pg_temp
        SET plan_cache_mode = force_generic_plan AS $$
        DECLARE
            closed integer;
            owed   jsonb;
        BEGIN
            WITH ended AS (
                UPDATE model_reservations r
                   SET state = s.state, tokens_used = s.tokens, settled_at = clock_timestamp()
                  FROM jsonb_to_recordset(p_settled) AS s (reservation uuid, state text, tokens bigint)
                 WHERE r.tenant_id = p_tenant AND r.id = s.reservation AND r.state = 'held'
                   AND s.state <> 'held'
                RETURNING r.state, r.tokens_used, r.quotas)
            SELECT count(*), jsonb_agg(to_jsonb(e)) FILTER (WHERE e.quotas <> '[]')
              INTO closed, owed FROM ended e;
            IF closed <> jsonb_array_length(p_settled) THEN
                RAISE EXCEPTION 'a reservation that is to be closed is not held';
            END IF;
            IF owed IS NULL THEN
                RETURN;
            END IF;
            PERFORM 1 FROM quota_usage u
              WHERE u.tenant_id = p_tenant
                AND (u.quota_id, u.period_start) IN (
                    SELECT h.quota, h.period_start
                      FROM jsonb_to_recordset(owed) AS r (quotas jsonb)
                     CROSS JOIN LATERAL jsonb_to_recordset(r.quotas)
                           AS h (quota uuid, period_start timestamptz))
              ORDER BY u.quota_id, u.period_start FOR UPDATE;
            UPDATE quota_usage u
               SET used = u.used + c.spent, reserved = u.reserved - c.held
              FROM (SELECT h.quota, h.period_start, sum(h.amount)::bigint AS held,
                           sum(CASE WHEN r.state = 'released' THEN 0
                                    WHEN h.metric = 'tokens' THEN r.tokens_used
                                    ELSE h.amount END)::bigint AS spent
                      FROM jsonb_to_recordset(owed) AS r (state text, tokens_used bigint, quotas jsonb)
                     CROSS JOIN LATERAL jsonb_to_recordset(r.quotas)
                           AS h (quota uuid, period_start timestamptz, metric text, amount bigint)
                     GROUP BY h.quota, h.period_start) c
             WHERE u.tenant_id = p_tenant AND u.quota_id = c.quota AND u.period_start = c.period_start;
        END $$""")
