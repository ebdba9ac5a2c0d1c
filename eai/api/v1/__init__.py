"""All routes. Each slice's are in a module of its own that offers `router`."""

from collections.abc import Sequence

from fastapi import APIRouter

from eai.api.v1 import health


def routers() -> Sequence[APIRouter]:
    """Every slice's routes; the first that matches a path answers it."""
    return (health.router,)
