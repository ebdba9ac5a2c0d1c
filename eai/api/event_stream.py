"""Answers that come in pieces: one task makes them while the client is there, and ends when it leaves."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import structlog
from starlette.background import BackgroundTask
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from eai.api.errors import InternalError
from eai.kernel.errors import EaiError, RateLimited
from eai.kernel.ids import PrincipalId, TenantId

MEDIA_TYPE = "text/event-stream"
MOST_FOLLOWED = 20
"""Streams that follow jobs, of a tenant in one process: each also asks the database twice a second."""
MOST_FOLLOWED_BY_ONE = 10
"""Of these, what one principal may hold: nobody keeps the others of a tenant from following theirs."""

Write = Callable[[bytes], Awaitable[None]]
Produce = Callable[[Write], Awaitable[None]]
Tell = Callable[[EaiError], bytes]

log = structlog.get_logger(__name__)


class EventStream(Response):
    """Runs `produce`, which writes events. It waits wherever the client does not read.

    What it raises before its first event is an ordinary refusal; later, `tell` puts it into a last event.
    When the client leaves, `produce` is cancelled at once, and has ended when the response has.
    """

    background: BackgroundTask | None = None

    def __init__(self, produce: Produce, tell: Tell) -> None:
        self.status_code = 200
        self.media_type = MEDIA_TYPE
        # Some proxies gather an answer before they pass it on.
        self.init_headers({"x-accel-buffering": "no"})
        self._produce = produce
        self._tell = tell
        self._has_begun = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events; `scope` is the request's."""
        del scope
        work = asyncio.create_task(self._work(send))
        leaving = asyncio.create_task(_left(receive))
        try:
            await asyncio.wait({work, leaving}, return_when=asyncio.FIRST_COMPLETED)
            has_left = not work.done()
        finally:
            leaving.cancel()
            work.cancel()
            # Cancelled once, the work settles what it did in peace; whoever waits here may be cancelled too.
            await asyncio.wait({work, leaving})
        if has_left:
            _note_end(work)
        else:
            work.result()

    async def _work(self, send: Send) -> None:
        async def write(data: bytes) -> None:
            # What goes to nobody waits for nothing: the one who cancels must get a turn.
            await asyncio.sleep(0)
            if not self._has_begun:
                self._has_begun = True
                await send(
                    {
                        "type": "http.response.start",
                        "status": self.status_code,
                        "headers": self.raw_headers,
                    }
                )
            await send({"type": "http.response.body", "body": data, "more_body": True})

        try:
            await self._produce(write)
        except EaiError as error:
            if not self._has_begun:
                raise
            await write(self._tell(error))
        except Exception:
            if not self._has_begun:
                raise
            # The status is on its way, so nobody further out can tell of what was not foreseen.
            log.exception("stream.failed")
            await write(self._tell(InternalError()))
        await send({"type": "http.response.body", "body": b"", "more_body": False})


class OpenStreams:
    """How many streams each tenant has open in this process, and each of its principals."""

    def __init__(self, most: int, most_of_one: int) -> None:
        self._most = most
        self._most_of_one = most_of_one
        self._open: Counter[TenantId | PrincipalId] = Counter()

    @contextmanager
    def one_of(self, tenant: TenantId, principal: PrincipalId) -> Iterator[None]:
        """Count a stream while the block lasts. Raises RateLimited when there are too many."""
        if self._open[tenant] >= self._most or self._open[principal] >= self._most_of_one:
            raise RateLimited(retry_after_s=1)
        holders = (tenant, principal)
        self._open.update(holders)
        try:
            yield
        finally:
            self._open.subtract(holders)
            for holder in holders:
                if not self._open[holder]:
                    del self._open[holder]


async def _left(receive: Receive) -> None:
    """Return when the client has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass


def _note_end(work: "asyncio.Task[None]") -> None:
    """Nobody is left to be told how the work ended; what was not its cancelling is worth a line."""
    if not work.cancelled() and (error := work.exception()) is not None:
        log.warning("stream.abandoned", exc_info=error)
