"""A call of the port as the engine process holds it between its arrival and its answer."""

import logging
import time
from dataclasses import dataclass
from typing import Any, Protocol

from eai.integrations.qdrant.wire import Outcome
from eai.knowledge.ports import SpaceId

log = logging.getLogger(__name__)


class Caller(Protocol):
    """Whoever sent a request and waits for its answer."""

    @property
    def is_waiting(self) -> bool: ...

    def answer(self, request: "Request", outcome: Outcome, value: Any) -> None: ...


@dataclass(slots=True, eq=False)
class Request:
    """One call; `size` is what it weighed on the socket. It must be ended exactly once."""

    caller: Caller
    id: int
    expires_at: float
    operation: str
    space: SpaceId
    arguments: tuple[Any, ...]
    size: int

    @property
    def is_wanted(self) -> bool:
        """Whether anybody still waits: a queue of dead requests would kill the living ones behind it."""
        return self.caller.is_waiting and time.monotonic() < self.expires_at

    def end(self, value: Any = None) -> None:
        self.caller.answer(self, Outcome.DONE, value)

    def abandon(self) -> None:
        self.caller.answer(self, Outcome.FAILED, "its deadline passed in the queue")

    def fail(self, error: Exception) -> None:
        if isinstance(error, ValueError):
            self.caller.answer(self, Outcome.REFUSED, str(error))
            return
        log.error("%s in space %s failed: %s", self.operation, self.space.name, error, exc_info=error)
        self.caller.answer(self, Outcome.FAILED, str(error))
