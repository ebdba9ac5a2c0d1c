"""Where checkpoints are kept out of the database's reach."""

from collections.abc import AsyncIterator, Sequence
from typing import Protocol

from eai.audit.checkpoint import SignedCheckpoint
from eai.kernel.ids import TenantId


class AnchorUnavailable(Exception):
    """The anchor cannot be written or read now. Events go on; their checkpoints are anchored later."""


class Anchor(Protocol):
    """A place to which checkpoints can be added and from which none can be taken away.

    Adding the same checkpoint again is harmless: after a crash it is done. Every method raises
    AnchorUnavailable.
    """

    async def append(self, checkpoints: Sequence[SignedCheckpoint]) -> None:
        """Return once all of `checkpoints` are kept, in this order."""
        ...

    async def latest(self, tenant: TenantId) -> SignedCheckpoint | None:
        """The last checkpoint kept for `tenant`."""
        ...

    def history(self, tenant: TenantId) -> AsyncIterator[SignedCheckpoint]:
        """Every checkpoint kept for `tenant` in the order in which they were added, repeats left out."""
        ...
