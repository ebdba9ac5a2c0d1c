"""What a unit of work carries with it wherever it goes: its id, its trace, and its labels."""

from contextvars import ContextVar
from dataclasses import dataclass, field
from uuid import uuid4


@dataclass(frozen=True, slots=True)
class WorkContext:
    """Identifies one request or one run of a job in logs, audit and usage.

    `traceparent` is what calls to other systems carry on, so that a trace does not end here.
    """

    request_id: str = field(default_factory=lambda: f"req_{uuid4().hex}")
    trace_id: str | None = None
    traceparent: str | None = None


_current: ContextVar[WorkContext | None] = ContextVar("eai.work", default=None)


def current_work() -> WorkContext:
    """The unit of work that is running here; a fresh one where none was entered."""
    work = _current.get()
    if work is None:
        work = WorkContext()
        _current.set(work)
    return work


def entered_work() -> WorkContext | None:
    """The unit of work that is running here, if one was entered."""
    return _current.get()


def enter_work(work: WorkContext) -> None:
    """Make `work` the current one for this task and what it starts."""
    _current.set(work)
