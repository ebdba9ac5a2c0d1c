"""Every Prometheus metric, from the registry's own definitions."""

from collections.abc import Iterator

from prometheus_client import Counter, Gauge, Histogram
from prometheus_client.metrics import MetricWrapperBase

from eai.cli.reference.tables import page, table
from eai.platform import metrics

_PREFACE = """\
`GET /metrics` answers in Prometheus' text format: to callers on the same machine as they are, to others with
a platform operator's key. Labels are small closed sets; no tenant, title, query or document is ever in one.
How to read them: [read the metrics](../how-to/read-the-metrics.md)."""

_KINDS: tuple[type[MetricWrapperBase], ...] = (Counter, Gauge, Histogram)


def metrics_page() -> str:
    """docs/reference/metrics.md."""
    return page("Metrics", _PREFACE, [table(("metric", "kind", "labels", "meaning"), _rows())])


def metric_names() -> list[str]:
    """The names as they are scraped, sorted."""
    return sorted(_scraped(metric) for metric in _metrics())


def _rows() -> Iterator[tuple[str, str, str, str]]:
    for metric in sorted(_metrics(), key=_scraped):
        labels = ", ".join(f"`{name}`" for name in metric._labelnames)  # noqa: SLF001 - offers no other way
        yield f"`{_scraped(metric)}`", type(metric).__name__.lower(), labels, metric._documentation  # noqa: SLF001


def _metrics() -> list[MetricWrapperBase]:
    return [value for value in vars(metrics).values() if isinstance(value, _KINDS)]


def _scraped(metric: MetricWrapperBase) -> str:
    """The library keeps a counter's name without its ending."""
    name = metric._name  # noqa: SLF001
    return f"{name}_total" if isinstance(metric, Counter) else name
