"""How the application is put on the wire: how many come in, what they send, how long they may not read."""

import resource
from asyncio import TimerHandle, Transport
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MAX_HEAD_BYTES = 64 * 1024
HEAD_WITHIN_S = 30.0
KEEP_ALIVE_S = 75
"""How long an idle connection stays: longer than balancers and clients keep theirs, which is a minute as a
rule. Whoever closes first while the other sends costs somebody a request.
"""
READ_WITHIN_S = 30.0
MOST_CONNECTIONS = 1_000
"""Of one process. Whoever comes beyond them would wait for longer than clients do."""
FILES_BESIDES = 28
"""What a process has open besides connections to its clients and its database."""
FEWEST_CONNECTIONS = 4
SURPLUS_HEAD_WITHIN_S = 1.0
MOST_SURPLUS = 8
"""Connections that are told to come again at a time. Those beyond are dropped: each is an open file."""
SURPLUS = "eai.surplus"
"""In the state of a request: its connection is one too many, and it is not to be served."""


class ServerConfig(uvicorn.Config):
    """uvicorn's, and how many connections are served at a time: fewer than there may be files.

    Where the last file is taken, connections are dropped without an answer, and nothing else can be opened.
    """

    files_elsewhere = FILES_BESIDES

    @property
    def most_connections(self) -> int:
        """As many as are served; whoever comes beyond them is told to come again."""
        files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if files == resource.RLIM_INFINITY:
            return MOST_CONNECTIONS
        return max(FEWEST_CONNECTIONS, min(MOST_CONNECTIONS, files - self.files_elsewhere))


class BoundedProtocol(HttpToolsProtocol):
    """HTTP/1.1 whose request line and headers have a largest size and a longest time.

    The parser keeps a head for as long as it is not complete; without a bound, a header that never ends
    fills the memory, and one that never comes holds a connection. Both end in 400 and a closed connection.
    A head may go beyond its size by what one read takes from the socket.

    Whoever does not read is waited for just as long: what fills the buffers between here and there must
    drain within that time, or the connection is dropped with all that it holds.

    A connection that is one too many is told so when its request has come, which must be soon, and closed.
    Where many are too many, further ones are dropped unheard.
    """

    head_within_s = HEAD_WITHIN_S
    surplus_head_within_s = SURPLUS_HEAD_WITHIN_S
    read_within_s = READ_WITHIN_S

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._head_bytes: int | None = None
        self._head_timer: TimerHandle | None = None
        self._read_timer: TimerHandle | None = None
        self._is_surplus = False

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        """Expect a first head."""
        assert isinstance(self.config, ServerConfig)
        surplus = len(self.connections) - self.config.most_connections
        self._is_surplus = surplus >= 0
        if self._is_surplus:
            self.head_within_s = min(self.head_within_s, self.surplus_head_within_s)
        super().connection_made(transport)
        if surplus >= MOST_SURPLUS:
            transport.abort()
            return
        self._head_timer = self.loop.call_later(self.head_within_s, self._refuse_head)

    def connection_lost(self, exc: Exception | None) -> None:
        """Expect nothing any more."""
        self._stop_timer()
        self._stop_waiting()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """The client lags behind: wait for it, not for ever."""
        super().pause_writing()
        self._stop_waiting()
        # Closing would wait for the very bytes that are not read.
        self._read_timer = self.loop.call_later(self.read_within_s, self.transport.abort)

    def resume_writing(self) -> None:
        """The client has caught up."""
        self._stop_waiting()
        super().resume_writing()

    def data_received(self, data: bytes) -> None:
        """Read on, unless what was read is all head and too much of it."""
        super().data_received(data)
        if self._head_bytes is not None:
            self._head_bytes += len(data)
            if self._head_bytes > MAX_HEAD_BYTES:
                self._refuse_head()

    def on_message_begin(self) -> None:
        """A head begins."""
        super().on_message_begin()
        if self._is_surplus:
            self.scope["state"] = {**self.app_state, SURPLUS: True}
        self._head_bytes = 0
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(self.head_within_s, self._refuse_head)

    def on_headers_complete(self) -> None:
        """The head is whole."""
        self._head_bytes = None
        self._stop_timer()
        super().on_headers_complete()

    def _refuse_head(self) -> None:
        self._stop_timer()
        if not self.transport.is_closing():
            self.send_400_response("Request head too large or too slow.")

    def _stop_waiting(self) -> None:
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None


def server_config(app: ASGIApp, **options: Any) -> ServerConfig:
    """`app` as uvicorn serves it here, with the `options` of one installation."""
    return ServerConfig(
        app,
        http=BoundedProtocol,
        ws="none",
        log_config=None,
        timeout_keep_alive=KEEP_ALIVE_S,
        **options,
    )
