"""The application: every route behind one entrance, every failure in one form."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

import structlog
from fastapi import APIRouter, FastAPI
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

from eai import __version__
from eai.access.subject import Subject
from eai.api import pages
from eai.api.admission import Admission
from eai.api.entrance import Entrance
from eai.api.event_stream import MOST_FOLLOWED, MOST_FOLLOWED_BY_ONE, OpenStreams
from eai.api.handlers import HANDLERS
from eai.api.idempotency import Idempotency
from eai.api.openapi import TITLE
from eai.api.rate_limits import LimitOf
from eai.api.v1 import routers
from eai.kernel.errors import EaiError
from eai.kernel.paging import Cursors
from eai.platform.cancellation import end_if_cancelled

if TYPE_CHECKING:
    from eai.audit.failures import FailureCounter
    from eai.bootstrap import Platform

_REPORT_INTERVAL_S = 60.0
_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_SENT = (
    "Accept-Language", "Authorization", "Content-Type", "Idempotency-Key", "If-Match", "If-None-Match",
    "Prefer", "Traceparent", "X-API-Key",
)  # fmt: skip
_SHOWN = (
    "Content-Language", "ETag", "Idempotent-Replayed", "Link", "Location", "RateLimit", "RateLimit-Policy",
    "Retry-After", "X-Request-Id", "X-Should-Retry",
)  # fmt: skip

log = structlog.get_logger(__name__)


def create_app(platform: "Platform", routes: Sequence[APIRouter] | None = None) -> FastAPI:
    """The HTTP interface of `platform`, which the caller opens before and closes after.

    `routes` replace the product's own; tests of the plumbing bring theirs.
    """
    http = platform.settings.http
    app = FastAPI(
        lifespan=_reporting,
        title=TITLE,
        version=__version__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        middleware=[Middleware(Entrance, allowed_hosts=http.allowed_hosts), *_cors(http.cors_origins)],
        exception_handlers=HANDLERS,
        # Its spans would come twice and its logs hold exception texts.
        telemetry={"tracing": False, "metrics": False, "logs": False, "auto_configure": False},
    )
    app.state.platform = platform
    app.state.admission = Admission(platform.identity, _limit_of(platform), platform.failures)
    app.state.idempotency = Idempotency(platform.database, platform.keyring)
    app.state.job_streams = OpenStreams(MOST_FOLLOWED, MOST_FOLLOWED_BY_ONE)
    app.state.cursors = Cursors(platform.keyring.master.derive("cursors"))
    # Side by side: nested routers would be searched twice at each level.
    for router in routers() if routes is None else routes:
        app.router.routes.extend(router.routes)
    pages.mount(app)
    return app


@asynccontextmanager
async def _reporting(app: FastAPI) -> AsyncIterator[None]:
    """While the process serves, write the refused credentials of each minute to the platform's chain."""
    platform: Platform = app.state.platform
    reports = asyncio.create_task(_report_forever(platform.failures))
    try:
        yield
    finally:
        reports.cancel()
        with suppress(asyncio.CancelledError):
            await reports
        await platform.failures.report()


async def _report_forever(failures: "FailureCounter") -> None:
    while True:
        await asyncio.sleep(_REPORT_INTERVAL_S)
        try:
            await failures.report()
        except EaiError:
            log.warning("failures.not_reported", exc_info=True)
        end_if_cancelled()


def _cors(origins: Sequence[str]) -> list[Middleware]:
    if not origins:
        return []
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=origins,
            allow_methods=_METHODS,
            allow_headers=_SENT,
            expose_headers=_SHOWN,
        )
    ]


def _limit_of(platform: "Platform") -> LimitOf:
    async def limit_of(subject: Subject) -> int | None:
        async with platform.database.transaction(subject.tenant) as session:
            settings = await platform.tenant_settings.get(session, subject)
        return settings.rate_limits.requests_per_minute

    return limit_of
