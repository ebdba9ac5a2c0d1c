"""What every check has in common."""

from collections.abc import Iterable
from typing import Protocol

from eai.integrity.findings import Found
from eai.kernel.ids import TenantId


class Check(Protocol):
    """Looks at one aspect of one tenant. Finds nothing that a live instance puts right by itself."""

    @property
    def name(self) -> str:
        """What a report calls it where it could not be carried out."""
        ...

    async def find(self, tenant: TenantId) -> Iterable[Found]:
        """What is wrong. Raises Unavailable where it cannot be said, and Unreadable."""
        ...


class Unreadable(Exception):
    """What should be looked at is so damaged that the look itself fails; another check names the damage."""
