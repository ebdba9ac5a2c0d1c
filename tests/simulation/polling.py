"""How a socket is waited for without the event loop."""

import select
from collections.abc import Generator
from typing import Any

from psycopg.waiting import Ready, Wait

new_poll = select.poll

_POLLED = {Wait.R: select.POLLIN, Wait.W: select.POLLOUT, Wait.RW: select.POLLIN | select.POLLOUT}


def ready(poll: select.poll, socket: int, wanted: Wait, within_s: float) -> Ready:
    """What of `wanted` a socket is ready for; nothing when the time is over."""
    poll.register(socket, _POLLED[wanted])
    found = poll.poll(within_s * 1_000)
    if not found:
        return Ready.NONE
    if wanted is Wait.R:
        return Ready.R
    (_, events), *_ = found
    return Ready.RW if events & ~select.POLLOUT else Ready.W


def resumed(gen: Any, wanted: Wait) -> Generator[Wait, Ready, Any]:
    """The same generator for somebody who begins to wait."""
    try:
        while True:
            wanted = gen.send((yield wanted))
    except StopIteration as end:
        return end.value
