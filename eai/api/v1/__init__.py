"""All routes. Each slice's are in a module of its own that offers `router`."""

from collections.abc import Sequence

from fastapi import APIRouter

from eai.api.v1 import audit, documents, health, ingestion, knowledge_bases, models, query, receipts


def routers() -> Sequence[APIRouter]:
    """Every slice's routes; the first that matches a path answers it."""
    return (
        health.router,
        knowledge_bases.router,
        ingestion.router,
        documents.router,
        query.router,
        receipts.router,
        models.router,
        audit.router,
    )
