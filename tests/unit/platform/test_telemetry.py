import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from eai.kernel.errors import NotFound
from eai.platform import telemetry
from eai.platform.context import enter_work
from eai.platform.telemetry import GenAiOperation, TraceParent

_HEADER = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


@pytest.fixture
def spans() -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    telemetry.record_spans(provider)
    yield exporter
    telemetry.record_spans(None)


def test_a_traceparent_is_read_and_written_back() -> None:
    parent = TraceParent.parse(_HEADER)
    assert parent == TraceParent("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7", "01")
    assert parent.header == _HEADER


@pytest.mark.parametrize(
    "header",
    [
        "",
        "garbage",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-extra",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\n",
        "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-" + "x" * 300,
    ],
)
def test_what_is_no_traceparent_is_ignored(header: str) -> None:
    assert TraceParent.parse(header) is None


def test_a_later_version_may_say_more() -> None:
    assert TraceParent.parse("01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more") is not None


def test_without_an_exporter_nothing_is_recorded() -> None:
    stop = telemetry.configure_tracing({}, "eai")
    assert not telemetry.is_recording()
    with telemetry.span("work", {"a": 1}) as span:
        assert not span.is_recording()
    stop()


@pytest.mark.parametrize(
    "extra",
    [{"OTEL_SDK_DISABLED": "true"}, {"OTEL_TRACES_EXPORTER": "none"}, {"OTEL_EXPORTER_OTLP_ENDPOINT": ""}],
)
def test_an_exporter_can_be_switched_off(extra: dict[str, str]) -> None:
    telemetry.configure_tracing({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", **extra}, "eai")
    assert not telemetry.is_recording()


def test_without_an_exporter_the_callers_trace_goes_on_unchanged() -> None:
    enter_work(telemetry.work_for(_HEADER))
    assert telemetry.outgoing_headers() == {"traceparent": _HEADER}


def test_outside_of_a_trace_no_header_is_made_up() -> None:
    enter_work(telemetry.work_for(None))
    assert telemetry.outgoing_headers() == {}


def test_a_span_continues_the_callers_trace(spans: InMemorySpanExporter) -> None:
    with telemetry.span("work", {"eai.tenant_id": "t", "none": None}, parent=TraceParent.parse(_HEADER)):
        carried = telemetry.outgoing_headers()["traceparent"]
    (span,) = spans.get_finished_spans()
    assert format(span.context.trace_id, "032x") == "4bf92f3577b34da6a3ce929d0e0e4736"
    assert format(span.parent.span_id, "016x") == "00f067aa0ba902b7"
    assert dict(span.attributes) == {"eai.tenant_id": "t"}
    assert carried == f"00-4bf92f3577b34da6a3ce929d0e0e4736-{span.context.span_id:016x}-01"


def test_a_failure_leaves_its_code_on_the_span_and_no_words(spans: InMemorySpanExporter) -> None:
    for error in (NotFound(), ValueError("a secret sentence")):
        with pytest.raises(type(error)), telemetry.span("work", {}):
            raise error
    first, second = spans.get_finished_spans()
    assert first.attributes["error.type"] == "not_found"
    assert second.attributes["error.type"] == "ValueError"
    assert second.events == ()
    assert "secret" not in second.to_json()


def test_a_model_call_is_named_by_the_genai_conventions() -> None:
    attributes = telemetry.model_call(
        GenAiOperation.EMBEDDINGS, "bge-m3-vllm", "vllm", tenant="t1", run="r1", agent="a1"
    )
    assert attributes == {
        "gen_ai.operation.name": "embeddings",
        "gen_ai.request.model": "bge-m3-vllm",
        "gen_ai.provider.name": "vllm",
        "gen_ai.agent.id": "a1",
        "eai.tenant_id": "t1",
        "eai.run_id": "r1",
    }


def test_a_tool_call_is_named_by_the_genai_conventions() -> None:
    attributes = telemetry.tool_call("rag", tenant="t1", run=None, agent="a1")
    assert attributes["gen_ai.operation.name"] == "execute_tool"
    assert attributes["gen_ai.tool.name"] == "rag"
