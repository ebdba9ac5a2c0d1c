"""All routes. Each slice's are in a module of its own that offers `router`."""

from collections.abc import Sequence

from fastapi import APIRouter

from eai.api.v1 import (
    api_keys,
    audit,
    contracts,
    dlp,
    documents,
    finops,
    gateway,
    groups,
    health,
    ingestion,
    jobs,
    kill_switches,
    knowledge_bases,
    lineage,
    me,
    models,
    openai,
    policies,
    principals,
    privacy,
    provider_endpoints,
    provider_templates,
    quarantine,
    query,
    receipts,
    reindex,
    retention,
    settings,
    source_connectors,
    tenants,
)


def routers() -> Sequence[APIRouter]:
    """Every slice's routes; the first that matches a path answers it."""
    return (
        health.router,
        knowledge_bases.router,
        ingestion.router,
        documents.router,
        query.router,
        receipts.router,
        jobs.router,
        models.router,
        gateway.router,
        dlp.router,
        openai.router,
        kill_switches.router,
        provider_endpoints.router,
        provider_templates.router,
        audit.router,
        tenants.router,
        principals.router,
        groups.router,
        api_keys.router,
        me.router,
        settings.router,
        policies.router,
        source_connectors.router,
        finops.router,
        reindex.router,
        quarantine.router,
        retention.router,
        lineage.router,
        privacy.router,
        contracts.router,
    )
