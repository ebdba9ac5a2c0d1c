"""How soon all is in order again after a death: within the lease that the dead held, and ten seconds.

It is measured from the death; another process begins to work then, and has to find by itself what was left.
Of several that died one after the other it is the last death: those before have lost some of their lease by
then, and are done again beside all the others by the same worker.

A machine of two cores that runs the rest of the suite besides is not the product's doing: there a recovery
may take longer. `make kills`, which has the machine to itself, holds each to the promise.

Every claim has the same short lease here. In production a job's is 30 seconds, a request's under its key as
long, and that of a call of a model, which nobody extends, 180: until then its bound counts against quotas.
"""

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tests.integration.faults.outages import HASTE

EVERY = int(os.environ.get("EVERY", "8"))
"""One passage in so many is tried."""
PROMISED_S = 10.0
"""Once the lease of the dead is over."""
CROWDED_S = 0.0 if EVERY == 1 else 20.0
SLOWEST = "slowest recovery"


@dataclass(frozen=True)
class Recovery:
    """One that goes on."""

    ends_at: float

    @property
    def left_s(self) -> float:
        """For how long it may."""
        return max(0.0, self.ends_at - asyncio.get_running_loop().time())


class Recoveries:
    """Those of one test; `tell` is told how long each took, in seconds."""

    def __init__(self, tell: Callable[[str, object], None]) -> None:
        self._tell = tell

    @asynccontextmanager
    async def one(self, of: str, lease_s: float = HASTE.lease_s) -> AsyncIterator[Recovery]:
        """Fail where the block takes longer than it may; in it all is found in order."""
        clock = asyncio.get_running_loop().time
        began = clock()
        within_s = lease_s + PROMISED_S + CROWDED_S
        # Whoever judges within what is left tells what is not in order: that comes first.
        async with asyncio.timeout(within_s + 1):
            yield Recovery(began + within_s)
        took_s = clock() - began
        self._tell(SLOWEST, [of, took_s, lease_s])
        assert took_s <= within_s, f"{of}: {took_s:.1f} s, with a lease of {lease_s:.0f} s"
