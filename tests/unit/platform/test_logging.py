import io
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import structlog

from eai.platform.context import WorkContext, enter_work
from eai.platform.logging import configure_logging

Lines = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield io.StringIO()
    root.handlers[:] = handlers
    root.setLevel(level)


def _lines(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_an_event_is_one_line_of_json(stream: io.StringIO) -> None:
    configure_logging(stream=stream)
    structlog.get_logger("eai.test").info("thing.done", count=2)
    (line,) = _lines(stream)
    assert (line["event"], line["level"], line["count"]) == ("thing.done", "info", 2)
    assert line["timestamp"].endswith("Z")


def test_the_request_that_is_running_is_named(stream: io.StringIO) -> None:
    configure_logging(stream=stream)
    enter_work(WorkContext("req_1", trace_id="4bf92f3577b34da6a3ce929d0e0e4736"))
    structlog.get_logger().info("thing.done")
    logging.getLogger("library").warning("told")
    assert [line["request_id"] for line in _lines(stream)] == ["req_1", "req_1"]
    assert {line["trace_id"] for line in _lines(stream)} == {"4bf92f3577b34da6a3ce929d0e0e4736"}


def test_line_breaks_and_escapes_in_a_value_stay_inside_its_line(stream: io.StringIO) -> None:
    configure_logging(stream=stream)
    structlog.get_logger().info("thing.done", actor='a\n{"event":"forged"}\x1b[31m')
    assert len(stream.getvalue().splitlines()) == 1
    assert "\x1b" not in stream.getvalue()


def _fail() -> None:
    try:
        {}["a secret sentence"]
    except KeyError as error:
        raise ValueError("another secret") from error


@pytest.mark.parametrize("logger", ["structlog", "logging"])
def test_outside_development_a_traceback_holds_no_messages(stream: io.StringIO, logger: str) -> None:
    configure_logging(stream=stream)
    try:
        _fail()
    except ValueError:
        if logger == "structlog":
            structlog.get_logger().exception("thing.failed")
        else:
            logging.getLogger("library").exception("failed")
    (line,) = _lines(stream)
    assert "builtins.ValueError" in line["exception"]
    assert "builtins.KeyError" in line["exception"]
    assert "test_logging.py" in line["exception"]
    assert "ValueError: another" not in line["exception"]
    assert "KeyError: 'a secret" not in line["exception"]


def test_development_shows_messages(stream: io.StringIO) -> None:
    configure_logging(stream=stream, show_messages=True)
    try:
        _fail()
    except ValueError:
        structlog.get_logger().exception("thing.failed")
    (line,) = _lines(stream)
    assert "builtins.ValueError: another secret" in line["exception"]


def test_a_database_error_shows_its_state_only(stream: io.StringIO) -> None:
    class Violation(Exception):
        sqlstate = "23505"

    configure_logging(stream=stream)
    structlog.get_logger().error("thing.failed", exc_info=Violation("Key (name)=(Hidden) already exists"))
    (line,) = _lines(stream)
    assert "Violation [23505]" in line["exception"]


def test_levels_below_the_chosen_one_are_dropped(stream: io.StringIO) -> None:
    configure_logging(level="WARNING", stream=stream)
    structlog.get_logger().info("quiet")
    logging.getLogger("library").info("quiet")
    assert stream.getvalue() == ""


def test_haystack_writes_through_our_handler_only_and_only_what_is_wrong(
    stream: io.StringIO, capsys: pytest.CaptureFixture[str]
) -> None:
    import haystack  # noqa: F401, PLC0415 - importing it installs its handlers

    configure_logging(stream=stream)
    component = logging.getLogger("haystack.core.pipeline")
    component.info("Running component embed")
    component.error("Component failed", exc_info=ValueError("the question"))
    (line,) = _lines(stream)
    assert line["event"] == "Component failed"
    assert "the question" not in line["exception"]
    assert capsys.readouterr().err == ""
