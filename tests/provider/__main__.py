"""`python -m tests.provider DIMENSIONS`: prints its two ports, serves until its input closes."""

import asyncio
import json
import sys

from tests.provider.serving import TalkingProvider

_LONGEST_HEAD = 16 * 1024 * 1024


async def main(dimensions: int) -> None:
    provider = TalkingProvider(dimensions)
    server = await asyncio.start_server(provider.serve, "127.0.0.1", 0, limit=_LONGEST_HEAD, backlog=512)
    orders = await asyncio.start_server(provider.listen_to_orders, "127.0.0.1", 0, limit=_LONGEST_HEAD)
    ports = [each.sockets[0].getsockname()[1] for each in (server, orders)]
    sys.stdout.write(json.dumps(ports) + "\n")
    sys.stdout.flush()
    # The parent's end closes with the parent, however it ends.
    await asyncio.to_thread(sys.stdin.buffer.read)


asyncio.run(main(int(sys.argv[1])))
