"""The application: every route behind one entrance, every failure in one form."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from fastapi import APIRouter, FastAPI
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

from eai import __version__
from eai.access.subject import Subject
from eai.api import pages
from eai.api.admission import Admission
from eai.api.entrance import Entrance
from eai.api.handlers import HANDLERS
from eai.api.idempotency import Idempotency
from eai.api.openapi import TITLE
from eai.api.rate_limits import LimitOf
from eai.api.v1 import routers
from eai.kernel.paging import Cursors

if TYPE_CHECKING:
    from eai.bootstrap import Platform

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_SENT = (
    "Accept-Language", "Authorization", "Content-Type", "Idempotency-Key", "If-Match", "If-None-Match",
    "Prefer", "Traceparent", "X-API-Key",
)  # fmt: skip
_SHOWN = (
    "Content-Language", "ETag", "Idempotent-Replayed", "Link", "Location", "RateLimit", "RateLimit-Policy",
    "Retry-After", "X-Request-Id",
)  # fmt: skip


def create_app(platform: "Platform", routes: Sequence[APIRouter] | None = None) -> FastAPI:
    """The HTTP interface of `platform`, which the caller opens before and closes after.

    `routes` replace the product's own; tests of the plumbing bring theirs.
    """
    http = platform.settings.http
    app = FastAPI(
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
    app.state.cursors = Cursors(platform.keyring.master.derive("cursors"))
    # Side by side: nested routers would be searched twice at each level.
    for router in routers() if routes is None else routes:
        app.router.routes.extend(router.routes)
    pages.mount(app)
    return app


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
