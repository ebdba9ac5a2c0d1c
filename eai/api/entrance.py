"""The outermost layer: every request gets an id, a log line, its metrics and the same safe headers."""

import errno
from collections.abc import Iterable
from time import perf_counter
from typing import Any

import structlog
from opentelemetry.trace import SpanKind
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from eai.api.admission import ALLOWANCE
from eai.api.errors import HostNotAllowed, InternalError, Overloaded, StorageFull
from eai.api.problems import problem_response
from eai.api.rate_limits import rate_limit_headers
from eai.api.requirement import SUBJECT
from eai.api.server import SURPLUS
from eai.kernel.errors import EaiError, NotFound
from eai.platform import telemetry
from eai.platform.context import WorkContext, enter_work
from eai.platform.metrics import HTTP_REQUEST_DURATION, HTTP_REQUESTS

_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})
_UNROUTED = "unrouted"
_PROBES = frozenset({"/healthz", "/readyz"})
_NO_STORE = (b"cache-control", b"no-store")
_SAFE = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
)
_CLOSE = (b"connection", b"close")
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
_NO_MEANS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_NO_CONTENT_RUNS = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")

log = structlog.get_logger("eai.access")


class Entrance:
    """ASGI middleware around the whole application."""

    def __init__(self, app: ASGIApp, allowed_hosts: Iterable[str]) -> None:
        self._app = app
        hosts = frozenset(host.lower() for host in allowed_hosts)
        self._hosts = None if "*" in hosts else hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = _first_values(scope)
        work = telemetry.work_for(headers.get(b"traceparent"))
        exchange = Exchange(scope, send, work)
        enter_work(work)
        try:
            refusal = self._refusal(scope, headers)
            if refusal is not None:
                await problem_response(refusal, scope)(scope, receive, exchange.send)
            elif telemetry.is_recording():
                await self._traced(exchange, receive, headers)
            else:
                await self._app(exchange.scope, receive, exchange.send)
        except Exception as error:
            # The last line: whatever was not foreseen is told with an id and nothing else.
            log.exception("http.failed", route=exchange.route)
            if exchange.status is not None:
                raise
            await problem_response(_told(error), scope)(scope, receive, exchange.send)
        finally:
            exchange.report()

    async def _traced(self, exchange: "Exchange", receive: Receive, headers: dict[bytes, str]) -> None:
        method = exchange.method
        parent = telemetry.TraceParent.parse(headers.get(b"traceparent", ""))
        attributes = {"http.request.method": method, "eai.request_id": exchange.work.request_id}
        with telemetry.span(method, attributes, kind=SpanKind.SERVER, parent=parent) as span:
            trace_id = format(span.get_span_context().trace_id, "032x")
            enter_work(WorkContext(exchange.work.request_id, trace_id, exchange.work.traceparent))
            await self._app(exchange.scope, receive, exchange.send)
            span.update_name(f"{method} {exchange.route}")
            span.set_attribute("http.route", exchange.route)
            span.set_attribute("http.response.status_code", exchange.status or 0)
            if (subject := exchange.scope.get(SUBJECT)) is not None:
                span.set_attribute(telemetry.TENANT_ID, str(subject.tenant))

    def _refusal(self, scope: Scope, headers: dict[bytes, str]) -> EaiError | None:
        if _is_surplus(scope) and scope["path"] not in _PROBES:
            # Whoever takes a busy process for a dead one, and starts it anew, makes it worse.
            return Overloaded()
        if self._is_foreign(scope, headers):
            return HostNotAllowed()
        return NotFound() if "\0" in scope["path"] else None

    def _is_foreign(self, scope: Scope, headers: dict[bytes, str]) -> bool:
        # Probes ask a process by its address; what they are told is the same for everybody.
        if self._hosts is None or scope["path"] in _PROBES:
            return False
        return _host_name(headers.get(b"host", "")) not in self._hosts


class Exchange:
    """One request and what became of it."""

    def __init__(self, scope: Scope, send: Send, work: WorkContext) -> None:
        self.method: str = scope["method"] if scope["method"] in _METHODS else "OTHER"
        self.is_head = scope["method"] == "HEAD"
        # A HEAD request is a GET whose body stays here, so that both have the same rights and headers.
        self.scope: Scope = {**scope, "method": "GET"} if self.is_head else scope
        self.work = work
        self.status: int | None = None
        self._send = send
        self._started = perf_counter()

    @property
    def route(self) -> str:
        """The template of the route that was chosen; never the path, which holds ids."""
        return getattr(self.scope.get("route"), "path_format", _UNROUTED)

    async def send(self, message: Message) -> None:
        """Pass a message on; headers are completed here."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [
                *message["headers"],
                *self._headers({name for name, _ in message["headers"]}),
            ]
        elif self.is_head and message["type"] == "http.response.body":
            message = {**message, "body": b""}
        await self._send(message)

    def report(self) -> None:
        """Write the access log's line and count the request."""
        elapsed = perf_counter() - self._started
        route, status = self.route, str(self.status or 0)
        HTTP_REQUESTS.labels(self.method, route, status).inc()
        HTTP_REQUEST_DURATION.labels(self.method, route).observe(elapsed)
        subject = self.scope.get(SUBJECT)
        known = {"tenant": str(subject.tenant), "principal": str(subject.principal)} if subject else {}
        log.info(
            "http.request",
            method=self.method,
            route=route,
            status=self.status,
            duration_ms=round(elapsed * 1000, 2),
            **known,
        )

    def _headers(self, present: set[bytes]) -> list[tuple[bytes, bytes]]:
        headers: list[tuple[bytes, bytes]] = [(b"x-request-id", self.work.request_id.encode()), *_SAFE]
        if b"cache-control" not in present:
            headers.append(_NO_STORE)
        if _is_surplus(self.scope):
            headers.append(_CLOSE)
        if b"content-security-policy" not in present:
            headers.append(_NO_CONTENT_RUNS)
        if (allowance := self.scope.get(ALLOWANCE)) is not None:
            headers.extend(rate_limit_headers(allowance))
        return headers


def _is_surplus(scope: Scope) -> bool:
    return SURPLUS in scope.get("state", {})


def _told(error: Exception) -> EaiError:
    """What the machine lacks may be there again; anything else was not foreseen."""
    number = error.errno if isinstance(error, OSError) else None
    if number in _NO_ROOM:
        return StorageFull()
    return Overloaded() if number in _NO_MEANS else InternalError()


def _first_values(scope: Scope) -> dict[bytes, str]:
    wanted: dict[bytes, Any] = {}
    for name, value in scope["headers"]:
        if name in {b"host", b"traceparent"}:
            wanted.setdefault(name, value.decode("latin-1"))
    return wanted


def _host_name(host: str) -> str:
    """The name in a `Host` header without its port; an IPv6 address keeps its brackets."""
    name, separator, port = host.rpartition(":")
    has_port = bool(separator) and port.isascii() and port.isdigit()
    return (name if has_port else host).lower()
