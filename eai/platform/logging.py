"""One JSON object per line on standard error, for our own events and for every library's.

Only named values are logged, never request bodies, titles or queries. What an exception says may hold
such text, so outside development a traceback shows types, places and SQL states but no messages.
"""

import logging
import sys
import traceback
from collections.abc import Iterator, MutableMapping
from types import TracebackType
from typing import Any, TextIO

import orjson
import structlog

from eai.platform.context import entered_work

Event = MutableMapping[str, Any]
ExceptionInfo = tuple[type[BaseException], BaseException, TracebackType | None]

_HAYSTACK = ("haystack", "haystack_integrations", "haystack_experimental")
_QUIET = ("httpx", "httpx2", "httpcore2", "uvicorn.access", *_HAYSTACK)
_DEEPEST_CAUSE = 8


def configure_logging(
    *, level: str = "INFO", show_messages: bool = False, stream: TextIO | None = None
) -> None:
    """Send all logs to `stream` (standard error) as JSON lines; `show_messages` is for development."""
    output = stream or sys.stderr
    number = logging.getLevelNamesMapping()[level]
    exceptions = ExceptionText(show_messages=show_messages)
    shared: list[Any] = [
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.add_log_level,
        add_work,
        exceptions,
        _as_json_text,
    ]
    structlog.configure(
        processors=shared,
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.WriteLoggerFactory(file=output),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(output)
    handler.setFormatter(JsonLines(exceptions))
    logging.basicConfig(level=max(number, logging.INFO), handlers=[handler], force=True)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)
    for name in _HAYSTACK:
        # Importing it installs handlers that write every record once more, exception texts included.
        logging.getLogger(name).handlers.clear()


def add_work(_logger: object, _method: str, event: Event) -> Event:
    """Name the request or job that is running, where there is one."""
    work = entered_work()
    if work is not None:
        event.setdefault("request_id", work.request_id)
        if work.trace_id:
            event.setdefault("trace_id", work.trace_id)
    return event


class ExceptionText:
    """Turns `exc_info` into lines of text; messages are left out unless they may be shown."""

    def __init__(self, *, show_messages: bool) -> None:
        self._show_messages = show_messages

    def __call__(self, _logger: object, _method: str, event: Event) -> Event:
        """Replace `exc_info` in a structlog event."""
        info = event.pop("exc_info", None)
        error = _exception_of(info)
        if error is not None:
            event["exception"] = self.text(error)
        return event

    def text(self, error: BaseException) -> str:
        """The error and what caused it, innermost last, each with the frames it passed through."""
        return "\nbecause of\n".join(self._one(link) for link in _chain(error))

    def _one(self, error: BaseException) -> str:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [f"  {frame.filename}:{frame.lineno} in {frame.name}: {frame.line}" for frame in frames]
        return "\n".join([self._title(error), *lines])

    def _title(self, error: BaseException) -> str:
        title = f"{type(error).__module__}.{type(error).__qualname__}"
        state = getattr(error, "sqlstate", None)
        if isinstance(state, str):
            title += f" [{state}]"
        return f"{title}: {error}" if self._show_messages else title


class JsonLines(logging.Formatter):
    """The same shape for records of the standard library's logging, which libraries use."""

    def __init__(self, exceptions: ExceptionText) -> None:
        super().__init__()
        self._exceptions = exceptions

    def format(self, record: logging.LogRecord) -> str:
        event: Event = {
            "timestamp": self.formatTime(record, "%Y-%m-%dT%H:%M:%S"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": record.getMessage(),
        }
        add_work(None, "", event)
        if record.exc_info and record.exc_info[1]:
            event["exception"] = self._exceptions.text(record.exc_info[1])
        return _json_line(event)


def _exception_of(info: object) -> BaseException | None:
    if isinstance(info, BaseException):
        return info
    if isinstance(info, tuple):
        return info[1] if isinstance(info[1], BaseException) else None
    return sys.exc_info()[1] if info else None


def _chain(error: BaseException) -> Iterator[BaseException]:
    link: BaseException | None = error
    for _ in range(_DEEPEST_CAUSE):
        if link is None:
            return
        yield link
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)


def _as_json_text(_logger: object, _method: str, event: Event) -> str:
    return _json_line(event)


def _json_line(event: Event) -> str:
    # One line whatever a value holds: JSON escapes line breaks and control characters.
    return orjson.dumps(event, default=str, option=orjson.OPT_NON_STR_KEYS).decode()
