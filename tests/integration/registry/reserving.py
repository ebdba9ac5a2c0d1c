"""A process with a queue of calls, each of which reserves until it is refused.

`python -m tests.integration.registry.reserving URL TENANT ENDPOINT CALLS` writes a line once all its callers
are there, and at its end the scopes that refused them.
"""

import asyncio
import sys
from uuid import UUID

from eai.finops.errors import SwitchedOff
from eai.finops.reservations import Bound, Reservations
from eai.kernel.ids import TenantId
from eai.platform.database import Database


async def main(url: str, tenant: str, endpoint: str, calls: int) -> None:
    database = Database(url, pool_size=5, checkout_timeout_s=60)
    await database.open()
    reservations = Reservations(database)

    async def caller() -> str:
        bound = Bound(
            tenant=TenantId(UUID(tenant)),
            principal=None,
            groups=(),
            base=None,
            model="m",
            endpoint=endpoint,
            operation="query",
            tokens=1,
            lease_s=600,
        )
        while True:
            try:
                await reservations.reserve(bound, None)
            except SwitchedOff as refused:
                return str(refused.scope)

    queue = [asyncio.create_task(caller()) for _ in range(calls)]
    sys.stdout.write("queued\n")
    sys.stdout.flush()
    refused = await asyncio.gather(*queue)
    sys.stdout.write(" ".join(sorted(set(refused))) + f" {len(refused)}\n")
    await database.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:4], int(sys.argv[4])))
