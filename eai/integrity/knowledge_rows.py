"""What the rows of knowledge must agree on: each statement finds the ids of those that do not.

One statement sees one snapshot, and every commit of the product leaves these true, so that none of them
is ever wrong about a live instance.
"""

from collections.abc import Mapping

from eai.integrity.findings import Kind

# Of one base, live: rows of a base that is being deleted go in an order of their own.
_LIVE_BASE = """EXISTS (SELECT FROM eai.knowledge_bases b WHERE b.tenant_id = :tenant
                           AND b.id = d.base_id AND b.deleting_since IS NULL)"""
_BUSY = """EXISTS (SELECT FROM eai.jobs j
                    WHERE j.tenant_id = :tenant AND j.state IN ('queued', 'running')
                      AND j.parameters ->> 'document' = CAST(d.id AS text))"""

# A version that was replaced has a job that removes its chunks, from the same commit on.
_NOT_SERVING = f"""
    SELECT c.id FROM eai.kb_chunks c
      JOIN eai.kb_documents d ON d.tenant_id = c.tenant_id AND d.id = c.document_id
      JOIN eai.kb_generations g ON g.tenant_id = c.tenant_id AND g.id = c.generation
     WHERE c.tenant_id = :tenant AND d.serving_version_id IS DISTINCT FROM c.version_id
       AND d.deleting_since IS NULL AND g.state <> 'building' AND {_LIVE_BASE} AND NOT {_BUSY}"""  # noqa: S608 - constants only
_CLASS_WRONG = """
    SELECT c.id FROM eai.kb_chunks c
      JOIN eai.kb_documents d ON d.tenant_id = c.tenant_id AND d.id = c.document_id
      LEFT JOIN eai.kb_rights_classes r
        ON r.tenant_id = c.tenant_id AND r.base_id = d.base_id AND r.number = c.class_number
     WHERE c.tenant_id = :tenant
       AND (r.number IS NULL
            OR (c.classification, d.classification, d.source_connector)
               IS DISTINCT FROM (r.chunk_classification, r.classification, r.source_connector)
            OR NOT (c.readers IS NOT DISTINCT FROM r.chunk_readers
                    OR COALESCE(c.readers @> r.chunk_readers AND c.readers <@ r.chunk_readers, false))
            OR NOT (d.readers IS NOT DISTINCT FROM r.readers
                    OR COALESCE(d.readers @> r.readers AND d.readers <@ r.readers, false)))"""
_MISFILED = """
    SELECT c.id FROM eai.kb_chunks c
      JOIN eai.kb_documents d ON d.tenant_id = c.tenant_id AND d.id = c.document_id
      JOIN eai.kb_generations g ON g.tenant_id = c.tenant_id AND g.id = c.generation
     WHERE c.tenant_id = :tenant AND (c.base_id <> d.base_id OR g.base_id <> d.base_id)"""
_SIZE_WRONG = """
    SELECT c.id FROM eai.kb_chunks c
      JOIN eai.kb_generations g ON g.tenant_id = c.tenant_id AND g.id = c.generation
     WHERE c.tenant_id = :tenant AND c.dimensions <> g.dimensions"""
# A generation that is older than the columns of its cutting has that of its base.
_BASE_GENERATION_WRONG = """
    SELECT b.id FROM eai.knowledge_bases b
      LEFT JOIN eai.kb_generations g
        ON g.tenant_id = b.tenant_id AND g.base_id = b.id AND g.id = b.vector_generation
     WHERE b.tenant_id = :tenant AND b.deleting_since IS NULL
       AND ((g.state, g.collection, g.dimensions, g.embedding_model,
             COALESCE(g.chunk_size, b.chunk_size), COALESCE(g.chunk_overlap, b.chunk_overlap))
            IS DISTINCT FROM ('serving', b.vector_collection, b.dimensions, b.embedding_model,
                              b.chunk_size, b.chunk_overlap)
            OR EXISTS (SELECT FROM eai.kb_generations o
                        WHERE o.tenant_id = b.tenant_id AND o.base_id = b.id
                          AND o.state = 'serving' AND o.id <> b.vector_generation))"""
_WITHOUT_CHUNKS = f"""
    SELECT d.id FROM eai.kb_documents d
      JOIN eai.knowledge_bases o ON o.tenant_id = d.tenant_id AND o.id = d.base_id
     WHERE d.tenant_id = :tenant AND d.deleting_since IS NULL AND d.serving_version_id IS NOT NULL
       AND {_LIVE_BASE}
       AND NOT EXISTS (SELECT FROM eai.kb_chunks c
                        WHERE c.tenant_id = d.tenant_id AND c.document_id = d.id
                          AND c.generation = o.vector_generation AND c.version_id = d.serving_version_id)"""  # noqa: S608
_SERVES_WRONG = f"""
    SELECT d.id FROM eai.kb_documents d
      LEFT JOIN eai.kb_document_versions v
        ON v.tenant_id = d.tenant_id AND v.document_id = d.id AND v.id = d.serving_version_id
     WHERE d.tenant_id = :tenant AND d.deleting_since IS NULL AND {_LIVE_BASE}
       AND ((d.serving_version_id IS NOT NULL AND v.status IS DISTINCT FROM 'ready')
            OR EXISTS (SELECT FROM eai.kb_document_versions newer
                        WHERE newer.tenant_id = d.tenant_id AND newer.document_id = d.id
                          AND newer.status = 'ready' AND newer.number > COALESCE(v.number, 0)))"""  # noqa: S608
_TEXT_WRONG = """
    SELECT v.id FROM eai.kb_document_versions v
     WHERE v.tenant_id = :tenant AND v.status = 'ready'
       AND v.content_hash IS DISTINCT FROM sha256(convert_to(v.content, 'UTF8'))"""
_CHUNK_TEXT_WRONG = """
    SELECT c.id FROM eai.kb_chunks c
      JOIN eai.kb_document_versions v ON v.tenant_id = c.tenant_id AND v.id = c.version_id
     WHERE c.tenant_id = :tenant AND v.status = 'ready'
       AND c.content IS DISTINCT FROM substr(v.content, c.start_offset + 1, c.end_offset - c.start_offset)"""
_ABANDONED = """
    SELECT g.id FROM eai.kb_generations g
      JOIN eai.knowledge_bases b ON b.tenant_id = g.tenant_id AND b.id = g.base_id
     WHERE g.tenant_id = :tenant AND g.state = 'building' AND b.deleting_since IS NULL
       AND NOT EXISTS (SELECT FROM eai.jobs j
                        WHERE j.tenant_id = :tenant AND j.state IN ('queued', 'running')
                          AND j.name <> 'knowledge.reweigh'
                          AND j.parameters ->> 'base' = CAST(g.base_id AS text)
                          AND j.parameters ->> 'document' IS NULL)"""
# Counted per class and language, in which nobody is kept from a chunk by name. A reindex can be taken
# back: what was searched before it is kept true until it is dropped.
_COUNTS_WRONG = """
    WITH searchable AS (
         SELECT g.id FROM eai.kb_generations g
           JOIN eai.knowledge_bases b ON b.tenant_id = g.tenant_id AND b.id = g.base_id
          WHERE g.tenant_id = :tenant AND g.state IN ('serving', 'retired') AND b.deleting_since IS NULL),
    counted AS (
         SELECT c.generation, c.class_number, c.language, count(*) AS chunks
           FROM eai.kb_chunks c
           JOIN searchable s ON s.id = c.generation
           JOIN eai.kb_documents d ON d.tenant_id = c.tenant_id AND d.id = c.document_id
            AND d.serving_version_id = c.version_id
          WHERE c.tenant_id = :tenant AND c.readers IS NULL AND d.readers IS NULL
          GROUP BY c.generation, c.class_number, c.language),
    stated AS (
         SELECT l.generation, l.class_number, l.language, l.chunks, l.tokens
           FROM eai.kb_language_statistics l JOIN searchable s ON s.id = l.generation
          WHERE l.tenant_id = :tenant)
    SELECT COALESCE(c.generation, s.generation) AS id
      FROM counted c FULL JOIN stated s USING (generation, class_number, language)
     WHERE c.chunks IS DISTINCT FROM s.chunks OR s.tokens < s.chunks
     UNION
    SELECT t.generation FROM eai.kb_term_statistics t
      JOIN searchable s ON s.id = t.generation
      LEFT JOIN (SELECT l.generation, l.class_number, sum(l.chunks) AS chunks FROM stated l
                  GROUP BY l.generation, l.class_number) l
        ON l.generation = t.generation AND l.class_number = t.class_number
     WHERE t.tenant_id = :tenant
       AND (t.document_frequency <= 0 OR t.document_frequency > COALESCE(l.chunks, 0))
     UNION
    SELECT l.generation FROM stated l
     WHERE NOT EXISTS (SELECT FROM eai.kb_term_statistics t
                        WHERE t.tenant_id = :tenant AND t.generation = l.generation
                          AND t.class_number = l.class_number)"""

RULES: Mapping[Kind, str] = {
    Kind.CHUNK_NOT_SERVING: _NOT_SERVING,
    Kind.CHUNK_CLASS_WRONG: _CLASS_WRONG,
    Kind.CHUNK_MISFILED: _MISFILED,
    Kind.EMBEDDING_SIZE_WRONG: _SIZE_WRONG,
    Kind.BASE_GENERATION_WRONG: _BASE_GENERATION_WRONG,
    Kind.DOCUMENT_WITHOUT_CHUNKS: _WITHOUT_CHUNKS,
    Kind.DOCUMENT_SERVES_WRONG_VERSION: _SERVES_WRONG,
    Kind.VERSION_TEXT_WRONG: _TEXT_WRONG,
    Kind.GENERATION_ABANDONED: _ABANDONED,
    Kind.STATISTICS_WRONG: _COUNTS_WRONG,
}
DEEP_RULES: Mapping[Kind, str] = {Kind.CHUNK_TEXT_WRONG: _CHUNK_TEXT_WRONG}
