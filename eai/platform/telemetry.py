"""Traces: read from callers, passed on to others, and recorded only where an exporter is configured.

Without an exporter a span costs one comparison. Spans carry ids, names and numbers under the GenAI
conventions; never passages, queries or exception messages.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from opentelemetry import trace
from opentelemetry.propagate import inject
from opentelemetry.trace import NonRecordingSpan, SpanContext, SpanKind, StatusCode, TraceFlags

from eai.platform.context import WorkContext, entered_work

if TYPE_CHECKING:
    from opentelemetry.trace import Span, TracerProvider

Attribute = str | int | float | bool
Attributes = Mapping[str, Attribute | None]

TENANT_ID = "eai.tenant_id"
RUN_ID = "eai.run_id"

_TRACEPARENT = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_LONGEST_HEADER = 256
_ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")


class GenAiOperation(StrEnum):
    """Values of `gen_ai.operation.name`."""

    CHAT = "chat"
    EMBEDDINGS = "embeddings"
    RERANK = "rerank"
    EXECUTE_TOOL = "execute_tool"


@dataclass(frozen=True, slots=True)
class TraceParent:
    """The caller's place in a trace, as the W3C header says it."""

    trace_id: str
    span_id: str
    flags: str

    @classmethod
    def parse(cls, header: str) -> "TraceParent | None":
        """What `header` says; None for anything that the standard tells us to ignore."""
        match = _TRACEPARENT.fullmatch(header) if len(header) <= _LONGEST_HEADER else None
        if match is None:
            return None
        version, trace_id, span_id, flags, rest = match.groups()
        is_future = version not in {"00", "ff"}
        if version == "ff" or (rest and not is_future) or not int(trace_id, 16) or not int(span_id, 16):
            return None
        return cls(trace_id, span_id, flags)

    @property
    def header(self) -> str:
        """The value of a `traceparent` header."""
        return f"00-{self.trace_id}-{self.span_id}-{self.flags}"


class _Tracing:
    """Where spans go, once somebody says so."""

    tracer: trace.Tracer | None = None


def configure_tracing(environ: Mapping[str, str], service: str) -> Callable[[], None]:
    """Record spans when OpenTelemetry's own variables name an exporter; returns how to stop.

    Answers a call that does nothing when none is named or OTEL_SDK_DISABLED is true.
    """
    is_off = environ.get("OTEL_SDK_DISABLED", "").lower() == "true"
    exporter = environ.get("OTEL_TRACES_EXPORTER", "otlp")
    if is_off or exporter != "otlp" or not any(environ.get(name) for name in _ENDPOINTS):
        return lambda: None
    # The SDK and its exporter take long to import and are wanted in few installations.
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider as SdkProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    provider = SdkProvider(resource=Resource.create({"service.name": service}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    record_spans(provider)

    def stop() -> None:
        record_spans(None)
        provider.shutdown()

    return stop


def record_spans(provider: "TracerProvider | None") -> None:
    """Send spans to `provider` from now on; None stops recording."""
    _Tracing.tracer = provider.get_tracer("eai") if provider else None


def is_recording() -> bool:
    """Whether spans go anywhere."""
    return _Tracing.tracer is not None


@contextmanager
def span(
    name: str,
    attributes: Attributes,
    *,
    kind: SpanKind = SpanKind.INTERNAL,
    parent: TraceParent | None = None,
) -> "Iterator[Span]":
    """A span around the block; a failure leaves its type on it, never its words."""
    if _Tracing.tracer is None:
        yield trace.INVALID_SPAN
        return
    context = trace.set_span_in_context(_remote(parent)) if parent else None
    known = {key: value for key, value in attributes.items() if value is not None}
    with _Tracing.tracer.start_as_current_span(
        name, context, kind, known, record_exception=False, set_status_on_exception=False
    ) as current:
        try:
            yield current
        except Exception as error:
            current.set_attribute("error.type", getattr(error, "code", type(error).__qualname__))
            current.set_status(StatusCode.ERROR)
            raise


def model_call(
    operation: GenAiOperation, model: str, provider: str, *, tenant: str, run: str | None, agent: str | None
) -> dict[str, Attribute | None]:
    """The attributes of a span around a call to a model."""
    return {
        "gen_ai.operation.name": operation,
        "gen_ai.request.model": model,
        "gen_ai.provider.name": provider,
        "gen_ai.agent.id": agent,
        TENANT_ID: tenant,
        RUN_ID: run,
    }


def tool_call(tool: str, *, tenant: str, run: str | None, agent: str | None) -> dict[str, Attribute | None]:
    """The attributes of a span around a tool that works for an agent, such as `rag`."""
    return {
        "gen_ai.operation.name": GenAiOperation.EXECUTE_TOOL,
        "gen_ai.tool.name": tool,
        "gen_ai.agent.id": agent,
        TENANT_ID: tenant,
        RUN_ID: run,
    }


def outgoing_headers() -> dict[str, str]:
    """The headers by which a call to another system continues this trace; none outside of one."""
    headers: dict[str, str] = {}
    if is_recording():
        inject(headers)
    work = entered_work()
    if not headers and work is not None and work.traceparent:
        headers["traceparent"] = work.traceparent
    return headers


def work_for(traceparent: str | None) -> WorkContext:
    """The context of a request that arrived with this header, or without one."""
    parent = TraceParent.parse(traceparent) if traceparent else None
    if parent is None:
        return WorkContext()
    return WorkContext(trace_id=parent.trace_id, traceparent=parent.header)


def _remote(parent: TraceParent) -> NonRecordingSpan:
    return NonRecordingSpan(
        SpanContext(
            int(parent.trace_id, 16), int(parent.span_id, 16), True, TraceFlags(int(parent.flags, 16))
        )
    )
