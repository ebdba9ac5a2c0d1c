"""An application behind the product's own server, on a port of loopback."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext

import uvicorn
from starlette.types import ASGIApp

from eai.api.server import BoundedProtocol, server_config


@asynccontextmanager
async def served(app: ASGIApp, protocol: type[BoundedProtocol] = BoundedProtocol) -> AsyncIterator[int]:
    """The port that `app` listens on while the block lasts."""
    listener = socket.create_server(("127.0.0.1", 0))
    config = server_config(app, lifespan="off", proxy_headers=False)
    config.http = protocol
    server = uvicorn.Server(config)
    # Signals are for whoever runs the tests.
    server.capture_signals = nullcontext  # type: ignore[method-assign]
    task = asyncio.create_task(server.serve(sockets=[listener]))
    while not server.started:
        assert not task.done(), task.exception()
        await asyncio.sleep(0.005)
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        await task
        listener.close()
