"""A process full of callers of a model that is not there: hold, wait, say what it took. Killed at will.

`python -m tests.integration.finops.callers URL TENANT NUMBER CALLERS ROUNDS LONGEST_S`, begun by a line on
standard input; ends with a line of JSON.
"""

import asyncio
import json
import random
import sys
from collections import Counter
from uuid import UUID

from eai.audit.actions import AuditAction
from eai.audit.details import Details
from eai.audit.entries import (
    Actor,
    AuditEntry,
    Evidence,
    ReservationState,
    Resource,
    Settlement,
    UsageRow,
)
from eai.audit.service import Audit
from eai.finops.errors import QuotaExceeded
from eai.finops.reservations import Bound, Reservation, Reservations
from eai.kernel.clock import SystemClock
from eai.kernel.ids import PrincipalId, TenantId
from eai.platform.database import Database
from eai.platform.keys import Keyring, MasterKey

LEASE_S = 1.0
MODEL = Resource("model", "m")


class Process:
    """Everything that the callers of one process share."""

    def __init__(self, database: Database, tenant: TenantId, number: int, longest_s: float) -> None:
        self._tenant = tenant
        self._actor = Actor("service", PrincipalId(UUID(int=number)))
        self._longest_s = longest_s
        self._reservations = Reservations(database)
        keyring = Keyring(MasterKey(b"m" * 32), database)
        self._audit = Audit(database, Details(database, keyring), SystemClock())
        self.outcomes: Counter[str] = Counter()

    async def call(self, chance: random.Random) -> None:
        bound = chance.randint(1, 20)
        try:
            held = await self._hold(bound)
        except QuotaExceeded:
            self.outcomes["refused"] += 1
            return
        self.outcomes["admitted"] += 1
        await asyncio.sleep(chance.uniform(0, self._longest_s))
        await self._audit.flush(self._end(held, chance))

    async def _hold(self, bound: int) -> Reservation:
        intent = AuditEntry(self._tenant, AuditAction.MODEL_INVOKE, self._actor, MODEL)
        wanted = Bound(
            self._tenant,
            self._actor.principal,
            (),
            None,
            "m",
            "e",
            "query",
            bound,
            LEASE_S,
            self._usage(bound),
        )
        return await self._reservations.reserve(wanted, await self._audit.seal(intent))

    def _end(self, held: Reservation, chance: random.Random) -> Evidence:
        is_made = chance.random() < 0.8
        took = chance.randint(0, held.tokens) if is_made else 0
        assert held.intent_seq is not None
        entry = AuditEntry(
            self._tenant, AuditAction.MODEL_RESULT, self._actor, MODEL, facts={"intent": held.intent_seq}
        )
        state = ReservationState.SETTLED if is_made else ReservationState.RELEASED
        return Evidence(
            entries=(entry,),
            usage=(self._usage(took),) if is_made else (),
            settled=(Settlement(held.id, state, took),),
        )

    def _usage(self, tokens: int) -> UsageRow:
        return UsageRow(self._tenant, "embeddings", "tokens", tokens, model="m", tokens=tokens)


async def main(
    url: str, tenant: TenantId, *, number: int, callers: int, rounds: int, longest_s: float
) -> None:
    database = Database(url, pool_size=6, checkout_timeout_s=20)
    await database.open()
    await database.check()
    process = Process(database, tenant, number, longest_s)

    async def caller(seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(rounds):
            await process.call(chance)

    say("ready")
    sys.stdin.readline()
    await asyncio.gather(*(caller(1_000 * number + each) for each in range(callers)))
    say(json.dumps(process.outcomes))
    await database.close()


def say(line: str) -> None:
    """Tell whoever started this process."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _, url, tenant, number, callers, rounds, longest_s = sys.argv
    asyncio.run(
        main(
            url,
            TenantId(UUID(tenant)),
            number=int(number),
            callers=int(callers),
            rounds=int(rounds),
            longest_s=float(longest_s),
        )
    )
