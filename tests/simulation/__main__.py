"""`make simulate`: as many schedules as wanted, on every core, with progress.

SCHEDULES says how many, SEED with which of them begins. One that is broken tells what was done, step by
step; SEED=n SCHEDULES=1 plays it again.
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import Sequence
from multiprocessing import get_context
from multiprocessing.pool import IMapIterator
from pathlib import Path
from time import monotonic

from eai.integrations.postgres import EmbeddedPostgres
from tests import conftest
from tests.simulation.playing import batch

BATCH = 25
_SHOWN = 5


def main() -> int:
    """0 when every invariant held."""
    schedules, first = int(os.environ.get("SCHEDULES", "10000")), int(os.environ.get("SEED", "0"))
    batches = [range(s, min(s + BATCH, first + schedules)) for s in range(first, first + schedules, BATCH)]
    processes = min(os.cpu_count() or 1, len(batches))
    with tempfile.TemporaryDirectory(prefix="eai-simulation-") as home:
        server = EmbeddedPostgres(Path(home), overrides=conftest._OVERRIDES)
        asyncio.run(conftest._start(server))
        os.environ[conftest._RUN] = f"{server.admin_url} {server.app_url}"
        try:
            with get_context("spawn").Pool(processes) as pool:
                return _followed(pool.imap_unordered(batch, batches), schedules)
        finally:
            asyncio.run(server.stop())


def _followed(done: "IMapIterator[Sequence[str | None]]", schedules: int) -> int:
    begun, played, broken = monotonic(), 0, 0
    for told in done:
        played += len(told)
        for violation in filter(None, told):
            broken += 1
            if broken <= _SHOWN:
                sys.stdout.write(f"\n{violation}\n")
        passed = monotonic() - begun
        sys.stdout.write(f"\r{played} of {schedules} schedules, {broken} broken, {played / passed:.0f}/s ")
        sys.stdout.flush()
    sys.stdout.write(
        f"\n{'No invariant was broken.' if not broken else 'SEED=n SCHEDULES=1 plays one again.'}\n"
    )
    return int(broken > 0)


if __name__ == "__main__":
    sys.exit(main())
