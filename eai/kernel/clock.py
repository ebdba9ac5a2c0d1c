"""Where the time comes from. Leases and expiry use the database's clock, never this one."""

from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Tells the time; tests bring their own."""

    def now(self) -> datetime:
        """The current instant, aware, in UTC."""
        ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> datetime:
        """The current instant, aware, in UTC."""
        return datetime.now(UTC)
