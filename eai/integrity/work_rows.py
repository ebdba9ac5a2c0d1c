"""What rows of work must agree on: documents under way, jobs, deletions and their receipts."""

from collections.abc import Mapping

from eai.integrity.findings import Kind

# Two conditions: either of two in one would hold every version against every job.
_STUCK = """
    SELECT v.id FROM eai.kb_document_versions v
      JOIN eai.kb_documents d ON d.tenant_id = v.tenant_id AND d.id = v.document_id
      JOIN eai.knowledge_bases b ON b.tenant_id = d.tenant_id AND b.id = d.base_id
     WHERE v.tenant_id = :tenant AND v.status IN ('pending', 'processing')
       AND d.deleting_since IS NULL AND b.deleting_since IS NULL
       AND NOT EXISTS (SELECT FROM eai.jobs j
                        WHERE j.tenant_id = :tenant AND j.state IN ('queued', 'running')
                          AND j.id = v.job_id)
       AND NOT EXISTS (SELECT FROM eai.jobs j
                        WHERE j.tenant_id = :tenant AND j.state IN ('queued', 'running')
                          AND j.parameters ->> 'version' = CAST(v.id AS text))"""
# A job whose document has gone ends by itself within moments; one that still waits does not.
_JOB_TARGET_MISSING = """
    SELECT j.id FROM eai.jobs j
     WHERE j.tenant_id = :tenant AND j.state IN ('queued', 'running')
       AND j.name NOT IN ('knowledge.delete_document', 'knowledge.delete_base')
       AND j.updated_at < now() - interval '15 minutes' AND j.lease_until < now() - interval '15 minutes'
       AND ((j.parameters ->> 'base' IS NOT NULL
             AND NOT EXISTS (SELECT FROM eai.knowledge_bases b WHERE b.tenant_id = :tenant
                                AND CAST(b.id AS text) = j.parameters ->> 'base'))
            OR (j.parameters ->> 'document' IS NOT NULL
                AND NOT EXISTS (SELECT FROM eai.kb_documents d WHERE d.tenant_id = :tenant
                                   AND CAST(d.id AS text) = j.parameters ->> 'document')))"""
_UNFINISHED = """
    WITH going AS (
         SELECT d.id, d.base_id FROM eai.kb_documents d
          WHERE d.tenant_id = :tenant AND d.deleting_since IS NOT NULL
          UNION
         SELECT b.id, b.id FROM eai.knowledge_bases b
          WHERE b.tenant_id = :tenant AND b.deleting_since IS NOT NULL
          UNION
         SELECT r.id, r.base_id FROM eai.deletion_receipts r
          WHERE r.tenant_id = :tenant AND r.status = 'deleting')
    SELECT g.id FROM going g
     WHERE NOT EXISTS (SELECT FROM eai.jobs j
                        WHERE j.tenant_id = :tenant AND j.state IN ('queued', 'running')
                          AND j.name = 'knowledge.delete_document'
                          AND j.parameters ->> 'document' = CAST(g.id AS text))
       AND NOT EXISTS (SELECT FROM eai.jobs j
                        WHERE j.tenant_id = :tenant AND j.state IN ('queued', 'running')
                          AND j.name = 'knowledge.delete_base'
                          AND j.parameters ->> 'base' = CAST(g.base_id AS text))"""
_RECEIPT_MISSING = """
    SELECT going.id FROM (
           SELECT d.id FROM eai.kb_documents d
            WHERE d.tenant_id = :tenant AND d.deleting_since IS NOT NULL
            UNION ALL
           SELECT b.id FROM eai.knowledge_bases b
            WHERE b.tenant_id = :tenant AND b.deleting_since IS NOT NULL) going
     WHERE NOT EXISTS (SELECT FROM eai.deletion_receipts r WHERE r.tenant_id = :tenant AND r.id = going.id)"""
_RECEIPT_UNTRUE = """
    SELECT r.id FROM eai.deletion_receipts r
     WHERE r.tenant_id = :tenant AND r.status = 'deleted'
       AND (r.vectors_remaining IS DISTINCT FROM 0 OR r.completed_at IS NULL
            OR EXISTS (SELECT FROM eai.kb_documents d WHERE d.tenant_id = :tenant AND d.id = r.id)
            OR EXISTS (SELECT FROM eai.knowledge_bases b WHERE b.tenant_id = :tenant AND b.id = r.id))"""

RULES: Mapping[Kind, str] = {
    Kind.DOCUMENT_STUCK: _STUCK,
    Kind.JOB_TARGET_MISSING: _JOB_TARGET_MISSING,
    Kind.DELETION_UNFINISHED: _UNFINISHED,
    Kind.RECEIPT_MISSING: _RECEIPT_MISSING,
    Kind.RECEIPT_UNTRUE: _RECEIPT_UNTRUE,
}
