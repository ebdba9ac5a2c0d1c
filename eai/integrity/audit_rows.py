"""What the audit must tell of: changes that rows show, calls of models that it announced, sealed details."""

from collections.abc import Mapping

from eai.integrity.findings import Kind

_EVENT_MISSING = """
    WITH done AS (
         SELECT 'knowledge_base.create' AS action, b.id FROM eai.knowledge_bases b WHERE b.tenant_id = :tenant
          UNION ALL
         SELECT 'knowledge.document.ingest', d.id FROM eai.kb_documents d WHERE d.tenant_id = :tenant
          UNION ALL
         SELECT 'knowledge.document.ready', d.id FROM eai.kb_documents d
          WHERE d.tenant_id = :tenant AND d.serving_version_id IS NOT NULL
          UNION ALL
         SELECT 'knowledge_base.delete', r.id FROM eai.deletion_receipts r
          WHERE r.tenant_id = :tenant AND r.kind = 'knowledge_base'
          UNION ALL
         SELECT CASE r.kind WHEN 'document' THEN 'knowledge.document.deleted'
                            ELSE 'knowledge_base.deleted' END, r.id
           FROM eai.deletion_receipts r WHERE r.tenant_id = :tenant AND r.status = 'deleted')
    SELECT done.action || ':' || done.id AS id FROM done
     WHERE NOT EXISTS (SELECT FROM eai.audit_events e
                        WHERE e.tenant_id = :tenant AND e.decision = 'allow'
                          AND e.action = done.action AND e.resource_id = CAST(done.id AS text))"""
_CALLS = """
    WITH told AS (
         SELECT e.seq, e.action, e.decision, convert_from(e.body, 'UTF8')::jsonb -> 'facts' AS facts
           FROM eai.audit_events e
          WHERE e.tenant_id = :tenant AND e.action IN ('model.invoke', 'model.result', 'model.unknown')),
    announced AS (
         SELECT seq FROM told
          WHERE action = 'model.invoke' AND decision = 'allow' AND facts ->> 'bound' IS NOT NULL),
    closed AS (
         SELECT (facts ->> 'intent')::bigint AS intent, count(*) AS times FROM told
          WHERE action <> 'model.invoke' GROUP BY 1)"""
# An intent and its reservation commit together, and so do the end of a call and of what it held.
_UNCLOSED = f"""{_CALLS}
    SELECT a.seq AS id FROM announced a
     WHERE NOT EXISTS (SELECT FROM closed c WHERE c.intent = a.seq)
       AND NOT EXISTS (SELECT FROM eai.model_reservations r
                        WHERE r.tenant_id = :tenant AND r.state = 'held' AND r.intent_seq = a.seq)"""  # noqa: S608
_CLOSED_TWICE = f"{_CALLS} SELECT intent AS id FROM closed WHERE intent IS NOT NULL AND times > 1"  # noqa: S608
_DETAILS_WRONG = """
    SELECT e.seq AS id FROM eai.audit_events e
     WHERE e.tenant_id = :tenant
       AND position(convert_to('"details_commitment":"', 'UTF8') IN e.body) > 0
       AND NOT EXISTS (SELECT FROM eai.audit_details d WHERE d.tenant_id = :tenant AND d.seq = e.seq)
     UNION ALL
    SELECT d.seq FROM eai.audit_details d
     WHERE d.tenant_id = :tenant
       AND NOT EXISTS (SELECT FROM eai.audit_events e WHERE e.tenant_id = :tenant AND e.seq = d.seq)"""

RULES: Mapping[Kind, str] = {
    Kind.AUDIT_EVENT_MISSING: _EVENT_MISSING,
    Kind.AUDIT_DETAILS_WRONG: _DETAILS_WRONG,
    Kind.MODEL_CALL_UNCLOSED: _UNCLOSED,
    Kind.MODEL_CALL_CLOSED_TWICE: _CLOSED_TWICE,
}
