"""Whether this process lives, whether it can serve, and its metrics."""

import asyncio
from collections.abc import Awaitable, Callable
from ipaddress import ip_address

import structlog
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from eai.access.scopes import Scope
from eai.api.admission import Admission
from eai.api.dependencies import Services
from eai.api.governed_route import GovernedRouter
from eai.api.requirement import require
from eai.kernel.errors import Unavailable
from eai.platform.database import Database
from eai.platform.handlers import Group
from eai.platform.metrics import CONTENT_TYPE, exposition
from eai.platform.presence import processes

router = GovernedRouter(prefix="", tags=["operations"])

_PATIENCE_S = 3.0
_OPERATOR = require(Scope.PLATFORM_ADMIN)
_FORWARDED = ("forwarded", "x-forwarded-for")

log = structlog.get_logger(__name__)


@router.get("/healthz")
async def healthz() -> dict[str, str]:
    """Answer as long as the process lives; asks nothing of anybody else."""
    return {"status": "alive"}


@router.get("/readyz")
async def readyz(services: Services) -> JSONResponse:
    """Ask every dependency; 503 as long as one of them does not answer.

    `workers` tells for each group of jobs whether a worker process takes them: `ok`, `missing` or `unknown`.
    Requests are answered without: a missing one does not make this process unready.
    """
    checks = {"database": services.database.check, "vector_store": services.vectors.check}
    *states, workers = await asyncio.gather(
        *(_state(name, check) for name, check in checks.items()), _workers(services.database)
    )
    is_ready = all(state == "ok" for state in states)
    body = {
        "status": "ready" if is_ready else "unavailable",
        "dependencies": dict(zip(checks, states, strict=True)),
        "workers": workers,
    }
    headers = {} if is_ready else {"retry-after": "5"}
    return JSONResponse(body, status_code=200 if is_ready else 503, headers=headers)


@router.get("/metrics", include_in_schema=False)
async def metrics(request: Request, services: Services) -> Response:
    """Prometheus' text format, for this machine or for a platform operator."""
    if not _is_local(request):
        admission: Admission = request.app.state.admission
        await admission.admit(request, _OPERATOR)
    await _workers(services.database)
    return Response(exposition(), media_type=CONTENT_TYPE)


async def _state(name: str, check: Callable[[], Awaitable[None]]) -> str:
    try:
        async with asyncio.timeout(_PATIENCE_S):
            await check()
    except Exception:
        # Readiness reports whatever a dependency does; the log says what it was.
        log.warning("readiness.failed", dependency=name, exc_info=True)
        return "unavailable"
    return "ok"


async def _workers(database: Database) -> dict[Group, str]:
    """Whether somebody takes the jobs of each group; the gauge is set on the way."""
    try:
        async with asyncio.timeout(_PATIENCE_S):
            found = await processes(database)
    except (Unavailable, TimeoutError):
        return dict.fromkeys(Group, "unknown")
    return {group: "ok" if number else "missing" for group, number in found.items()}


def _is_local(request: Request) -> bool:
    """Straight from this machine; what a proxy forwards comes from elsewhere."""
    if request.client is None or any(name in request.headers for name in _FORWARDED):
        return False
    try:
        return ip_address(request.client.host).is_loopback
    except ValueError:
        return False
