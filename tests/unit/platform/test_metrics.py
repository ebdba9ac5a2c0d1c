from prometheus_client.parser import text_string_to_metric_families

from eai.platform import metrics


def test_the_names_that_dashboards_rely_on_are_exposed() -> None:
    metrics.RAG_QUERIES.labels(outcome="ok").inc(0)
    metrics.RAG_EMBEDDINGS.labels(operation="query").inc(0)
    metrics.VECTOR_SEARCH_LATENCY.labels(store="edge")
    families = {family.name for family in text_string_to_metric_families(metrics.exposition().decode())}
    assert {
        "eai_rag_queries",
        "eai_rag_retrieval_latency_seconds",
        "eai_rag_embeddings",
        "eai_vector_search_latency_seconds",
        "eai_http_requests",
        "eai_http_request_duration_seconds",
    } <= families
