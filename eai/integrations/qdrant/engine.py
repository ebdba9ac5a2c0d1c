"""The engine process: `python -m eai.integrations.qdrant.engine --folder DIR --socket PATH`.

It alone owns the shards in DIR and answers the port's calls on the socket. One line on standard output,
`ready`, says that it listens; SIGTERM or SIGINT makes it flush and stop. It exits with 75 when another
process owns the folder or the socket. Imports are few, so that it starts fast.
"""

import argparse
import asyncio
import logging
import os
import signal
import socket
import sys
from pathlib import Path

from eai.integrations.qdrant.connection import Connection
from eai.integrations.qdrant.edge import AlreadyOwned, EdgeShards
from eai.integrations.qdrant.layout import EXACT, GRAPH, Layout
from eai.integrations.qdrant.schedule import Schedule
from eai.integrations.qdrant.sockets import reachable
from eai.knowledge.ports import SpaceId

log = logging.getLogger(__name__)


async def serve(shards: EdgeShards, listener: socket.socket) -> None:
    """Answer on `listener` until SIGTERM or SIGINT."""
    schedule = Schedule(shards)
    connected: set[Connection] = set()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, schedule.stop)
    server = await loop.create_unix_server(lambda: Connection(schedule, connected), sock=listener)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    try:
        await schedule.run()
    finally:
        server.close()
        for connection in tuple(connected):
            connection.close()


def listen(path: Path) -> socket.socket:
    """A socket at `path` for this user alone, in place of one that nobody answers on any more."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    with reachable(path) as short:
        if path.is_socket():
            if _is_answered(short):
                raise AlreadyOwned(f"another process answers on {path}")
            path.unlink()
        umask = os.umask(0o177)
        try:
            listener.bind(short)
        finally:
            os.umask(umask)
    return listener


def _is_answered(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(path) == 0


def main(arguments: list[str] | None = None) -> int:
    """Run the engine; returns the exit code."""
    parser = argparse.ArgumentParser(prog="engine", description="Own the vector shards of one folder.")
    parser.add_argument("--folder", type=Path, required=True, help="where the shards lie")
    parser.add_argument("--socket", type=Path, required=True, help="where to answer")
    parser.add_argument("--graph", action="store_true", help="new spaces get a graph (for measurements)")
    options = parser.parse_args(arguments)
    logging.basicConfig(stream=sys.stderr, format="%(asctime)s %(levelname)s engine %(message)s")
    try:
        return _run(options.folder, options.socket, GRAPH if options.graph else EXACT)
    except AlreadyOwned as error:
        log.error("%s", error)  # noqa: TRY400 - a plain answer, no traceback
        return os.EX_TEMPFAIL


def _run(folder: Path, path: Path, layout: Layout) -> int:
    shards = EdgeShards(folder, layout)
    try:
        listener = listen(path)
        for space in shards.spaces:
            _warm(shards, space)
        asyncio.run(serve(shards, listener))
        path.unlink(missing_ok=True)
    finally:
        shards.close()
    return os.EX_OK


def _warm(shards: EdgeShards, space: SpaceId) -> None:
    try:
        shards.find(space)
    except Exception:
        # One damaged space must not keep the others from answering; its callers get the error.
        log.exception("space %s cannot be opened", space.name)


if __name__ == "__main__":
    sys.exit(main())
