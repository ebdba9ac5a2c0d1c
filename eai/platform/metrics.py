"""Every Prometheus metric of the product, under the names that dashboards rely on.

Labels are small closed sets: route templates, outcomes, operations. Never a tenant, a title or a query.
"""

from prometheus_client import CONTENT_TYPE_LATEST, Counter, Gauge, Histogram, generate_latest

_FAST = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)

RAG_QUERIES = Counter("eai_rag_queries_total", "Queries to knowledge bases, by how they ended.", ["outcome"])
RAG_RETRIEVAL_LATENCY = Histogram(
    "eai_rag_retrieval_latency_seconds", "Seconds from a query's arrival to its passages.", buckets=_FAST
)
RAG_EMBEDDINGS = Counter(
    "eai_rag_embeddings_total", "Texts embedded, by what for: ingest, query, reindex.", ["operation"]
)
VECTOR_SEARCH_LATENCY = Histogram(
    "eai_vector_search_latency_seconds",
    "Seconds one search of the vector store took.",
    ["store"],
    buckets=_FAST,
)
CACHE_LOOKUPS = Counter(
    "eai_cache_lookups_total",
    "Times a question looked into the cache for its embedding or its results, by what was there: hit, miss, "
    "expired, stale (something has changed), broken (altered or moved), unavailable (the store failed).",
    ["kind", "outcome"],
)
CACHE_WRITES = Counter(
    "eai_cache_writes_total",
    "Embeddings and results handed to the cache: kept, or unavailable (the store failed).",
    ["kind", "outcome"],
)
GATEWAY_REFUSALS = Counter(
    "eai_gateway_refusals_total",
    "Calls of a model that were refused before anything left, by the control that refused them.",
    ["control", "code"],
)
HTTP_REQUESTS = Counter("eai_http_requests_total", "HTTP requests answered.", ["method", "route", "status"])
HTTP_REQUEST_DURATION = Histogram(
    "eai_http_request_duration_seconds",
    "Seconds until an answer was complete.",
    ["method", "route"],
    buckets=_FAST,
)
AUTHENTICATION_FAILURES = Counter(
    "eai_authentication_failures_total", "Credentials refused, by why: invalid, limited.", ["reason"]
)
WORKER_PROCESSES = Gauge(
    "eai_worker_processes",
    "Living worker processes that take the jobs of a group: quick, ingestion, maintenance. "
    "At 0 the jobs of that group wait for ever.",
    ["group"],
)
AUDIT_UNANCHORED = Gauge(
    "eai_audit_unanchored_checkpoints", "Signed checkpoints that the anchor has not taken yet, as last seen."
)
AUDIT_ALARMS = Counter(
    "eai_audit_alarms_total",
    "Times a checkpoint could not be made or kept: "
    "anchor_unreachable, signing_key_missing, chain_broken, checkpoint_failed.",
    ["reason"],
)
INTEGRITY_FINDINGS = Counter(
    "eai_integrity_findings_total",
    "Contradictions that examinations of this process found between rows, index, audit and ledger, by kind.",
    ["kind"],
)
INTEGRITY_LAST_RUN = Gauge(
    "eai_integrity_last_run_timestamp_seconds",
    "When this process last finished examining a tenant, in seconds since 1970.",
)

CONTENT_TYPE = CONTENT_TYPE_LATEST


def exposition() -> bytes:
    """All metrics of this process in Prometheus' text format."""
    return generate_latest()
