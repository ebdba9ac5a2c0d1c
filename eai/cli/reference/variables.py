"""Every setting, from the settings tree."""

from collections.abc import Iterator

from eai.cli.reference.tables import page, table
from eai.platform.settings.environment import IGNORED, IGNORED_PREFIX, Variable, variables

_PREFACE = """\
Everything is set by environment variables. A variable marked *secret* may also be given as a file: set
`<name>_FILE` to its path instead. An empty variable counts as not set, and an unknown `EAI_*` name stops the
start with the nearest known one. `eai doctor` says what is wrong with a set of them."""

_OTHERS = """\
## Known and not read by the server

These are read by clients, benchmarks and the test suite, or belong to parts that are not built yet. They are
accepted and change nothing here: {names}, and every name that begins with `{prefix}`."""

_TRACES = """\
## Traces

Spans are recorded when OpenTelemetry's own variables name an exporter (`OTEL_EXPORTER_OTLP_ENDPOINT` or
`OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`); without one they cost nothing."""


def settings_page() -> str:
    """docs/reference/settings.md."""
    names = ", ".join(f"`{name}`" for name in sorted(IGNORED))
    return page(
        "Settings", _PREFACE, [*_sections(), _TRACES, _OTHERS.format(names=names, prefix=IGNORED_PREFIX)]
    )


def _sections() -> Iterator[str]:
    known = list(variables())
    for group in dict.fromkeys(variable.path[0] if len(variable.path) > 1 else "" for variable in known):
        members = [v for v in known if (v.path[0] if len(v.path) > 1 else "") == group]
        rows = [(f"`{v.name}`{' (secret)' if v.secret else ''}", _default(v), v.description) for v in members]
        yield f"## {_TITLES.get(group, group.capitalize())}\n\n" + table(
            ("variable", "default", "meaning"), rows
        )


_TITLES = {"": "Where this is", "http": "HTTP"}


def _default(variable: Variable) -> str:
    match variable.default:
        case None:
            return ""
        case tuple(values):
            return f"`{','.join(map(str, values))}`" if values else ""
        case value:
            return f"`{value}`"
