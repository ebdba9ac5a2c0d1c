"""`eai serve`: one API process, on a port of its own or on a socket that the supervisor holds."""

import asyncio
import signal
import socket
from types import FrameType

import uvicorn
from uvicorn.loops.auto import auto_loop_factory

from eai.api.app import create_app
from eai.api.server import FILES_BESIDES, server_config
from eai.bootstrap import start, warm_up
from eai.platform.logging import configure_logging
from eai.platform.settings import Settings, process_environ
from eai.platform.telemetry import configure_tracing

STOP_WITHIN_S = 5


def serve(settings: Settings, listener: socket.socket, *, trusted_proxies: str | None = None) -> None:
    """Answer on `listener` until SIGTERM or SIGINT; requests under way are finished first.

    `trusted_proxies` lists addresses whose X-Forwarded-For is believed; without it nobody's is.
    Raises NotStarted.
    """
    configure_logging(show_messages=not settings.is_production)
    stop_tracing = configure_tracing(process_environ(), "eai-api")
    try:
        with asyncio.Runner(loop_factory=auto_loop_factory(use_subprocess=False)) as runner:
            runner.run(_serve(settings, listener, trusted_proxies))
    finally:
        stop_tracing()


async def _serve(settings: Settings, listener: socket.socket, trusted_proxies: str | None) -> None:
    async with start(settings) as platform:
        config = server_config(
            create_app(platform),
            access_log=False,
            server_header=False,
            proxy_headers=trusted_proxies is not None,
            forwarded_allow_ips=trusted_proxies,
            timeout_graceful_shutdown=STOP_WITHIN_S,
        )
        # Each of its two pools may grow so large.
        config.files_elsewhere = FILES_BESIDES + 2 * settings.database.pool_max_size
        # uvicorn raises the signal again once it has stopped; by default that would end the process
        # here, before the platform is closed.
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, _already_stopping)
        # Beside the first requests, not before them.
        warming = asyncio.create_task(warm_up(platform))
        await uvicorn.Server(config).serve(sockets=[listener])
        warming.cancel()


def _already_stopping(number: int, frame: FrameType | None) -> None:
    del number, frame


def listen(host: str, port: int, descriptor: int | None = None) -> socket.socket:
    """A listening socket, or the inherited one that `descriptor` names. Raises OSError."""
    if descriptor is not None:
        return socket.socket(fileno=descriptor)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=1024)
