"""What quotas, reservations, usage and the audit must agree on."""

from collections.abc import Mapping

from eai.integrity.findings import Kind

_EXPIRED = """
    SELECT r.id FROM eai.model_reservations r
     WHERE r.tenant_id = :tenant AND r.state = 'held' AND r.lease_until < now() - interval '2 minutes'"""
# A repair counts as the examination does.
TAKEN = """
    SELECT q.quota, q.period_start,
           COALESCE(sum(q.amount) FILTER (WHERE r.state = 'held'), 0) AS held,
           sum(CASE WHEN r.state IN ('held', 'released') THEN 0
                    WHEN q.metric = 'tokens' THEN r.tokens_used ELSE q.amount END) AS spent
      FROM eai.model_reservations r
     CROSS JOIN LATERAL jsonb_to_recordset(r.quotas)
           AS q (quota uuid, period_start timestamptz, metric text, amount bigint)
     WHERE r.tenant_id = :tenant GROUP BY 1, 2"""
_RESERVED_WRONG = f"""
    SELECT COALESCE(u.quota_id, t.quota) AS id
      FROM (SELECT * FROM eai.quota_usage WHERE tenant_id = :tenant) u
      FULL JOIN ({TAKEN}) t ON t.quota = u.quota_id AND t.period_start = u.period_start
     WHERE COALESCE(u.reserved, 0) <> COALESCE(t.held, 0)"""  # noqa: S608 - constants only
# Closed reservations are forgotten after a week: of an older period they prove what was used at least.
_USED_WRONG = f"""
    SELECT u.quota_id AS id FROM eai.quota_usage u
      LEFT JOIN ({TAKEN}) t ON t.quota = u.quota_id AND t.period_start = u.period_start
     WHERE u.tenant_id = :tenant
       AND (u.used < COALESCE(t.spent, 0)
            OR (u.used > COALESCE(t.spent, 0) AND u.period_start > now() - interval '6 days'))"""  # noqa: S608
# Both are written by the same flush: what a model was said to have taken is what was charged.
_USAGE_DIFFERS = """
    WITH told AS (
         SELECT e.resource_id AS model, sum((s.said ->> 'tokens')::bigint) AS tokens
           FROM eai.audit_events e
          CROSS JOIN LATERAL (SELECT convert_from(e.body, 'UTF8')::jsonb -> 'facts' AS said) s
          WHERE e.tenant_id = :tenant AND e.decision = 'allow'
            AND e.action IN ('model.invoke', 'model.result', 'model.unknown')
            AND s.said ->> 'tokens' IS NOT NULL
          GROUP BY 1),
    charged AS (
         SELECT u.model, sum(u.tokens) AS tokens FROM eai.usage_events u
          WHERE u.tenant_id = :tenant AND NOT u.is_external
            AND u.kind IN ('embeddings', 'reranking', 'chat') GROUP BY 1),
    queries AS (
         SELECT (SELECT count(*) FROM eai.audit_events e
                  WHERE e.tenant_id = :tenant AND e.action = 'knowledge.query'
                    AND e.decision = 'allow') AS told,
                (SELECT count(*) FROM eai.usage_events u
                  WHERE u.tenant_id = :tenant AND u.kind = 'rag' AND NOT u.is_external) AS charged)
    SELECT 'model:' || COALESCE(t.model, c.model) AS id
      FROM told t FULL JOIN charged c ON c.model = t.model
     WHERE COALESCE(t.tokens, 0) <> COALESCE(c.tokens, 0)
     UNION ALL
    SELECT 'retrieval_queries' FROM queries WHERE told <> charged
     UNION ALL
    SELECT u.id::text FROM eai.usage_events u
     WHERE u.tenant_id = :tenant AND u.is_external
       AND NOT EXISTS (SELECT FROM eai.audit_events e
                        WHERE e.tenant_id = :tenant AND e.action = 'usage.record'
                          AND e.resource_id = u.id::text)"""

RULES: Mapping[Kind, str] = {
    Kind.RESERVATION_EXPIRED: _EXPIRED,
    Kind.QUOTA_RESERVED_WRONG: _RESERVED_WRONG,
    Kind.QUOTA_USED_WRONG: _USED_WRONG,
    Kind.USAGE_DIFFERS_FROM_AUDIT: _USAGE_DIFFERS,
}
