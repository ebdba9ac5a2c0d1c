"""What a process of a test finds where it runs: its clock, its files, and where the other parts are."""

import os
import resource
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from procrastinate import utils

from eai.kernel.clock import SystemClock


@dataclass(frozen=True, slots=True)
class Surroundings:
    """As on any machine, unless said otherwise.

    clock_jumps_s: by so much the machine's clock is off once the process is sent SIGUSR1.
    open_files: as by `ulimit -n`.
    environ: instead of what the others have.
    """

    clock_jumps_s: float = 0.0
    open_files: int = 0
    environ: Mapping[str, str] = field(default_factory=dict)

    def enter(self) -> None:
        """Have this process find them."""
        os.environ.update(self.environ)
        if self.open_files:
            resource.setrlimit(resource.RLIMIT_NOFILE, (self.open_files, self.open_files))
        signal.signal(signal.SIGUSR1, lambda *_: _shift_clock(self.clock_jumps_s))


def _shift_clock(by_s: float) -> None:
    """Everything that tells the time of day is told another one; what measures how long goes on."""
    now, epoch, moment = SystemClock.now, time.time, utils.utcnow
    by = timedelta(seconds=by_s)

    def shifted_now(self: SystemClock) -> datetime:
        return now(self) + by

    SystemClock.now = shifted_now  # type: ignore[method-assign]
    time.time = lambda: epoch() + by_s
    utils.utcnow = lambda: moment() + by
