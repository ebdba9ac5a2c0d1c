"""Passages made to be near everything, so that they answer whatever is asked.

What is counted is of how many passages a passage is among the nearest: its k-occurrences, by which hubs are
defined in Radovanović, Nanopoulos and Ivanović, "Hubs in space" (2010).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eai.quarantine.neighbourhood import Neighbourhood, deviations
from eai.quarantine.ports import Mark
from eai.quarantine.reasons import Reason
from eai.quarantine.severity import Severity

FAR_ABOVE = 2.1
"""Chosen on one half of what was measured: of those that belong, about one passage in a hundred is above."""
_SHARE, _FEWEST = 16, 8
"""The nearest are a sixteenth of those that are known, and no fewer than eight."""
_LEAST = 0.25
"""So that a hub has at least two thirds more than is usual, whatever that is."""


@dataclass(frozen=True, slots=True)
class Hubs:
    """Finds passages that are among the nearest to far more of their base than its own passages are."""

    far_above: float = FAR_ABOVE
    name: ClassVar[str] = "hubs"
    version: ClassVar[int] = 1

    def marks(self, neighbourhood: Neighbourhood) -> Iterator[Mark]:
        """Each whose logarithm of k-occurrences is so many deviations above the median of the base's own."""
        within = neighbourhood.within
        nearest = max(len(within) // _SHARE, _FEWEST)
        reach = np.partition(within, -nearest, axis=1)[:, -nearest]
        own = (within >= reach[:, np.newaxis]).sum(axis=0)
        new = (neighbourhood.towards > reach).sum(axis=1)
        # A few passages are near to very many: it is their logarithm that is spread evenly.
        above = deviations(np.log1p(own), np.log1p(new), least=_LEAST)
        for at in np.flatnonzero(above > self.far_above):
            yield Mark(Reason.NEAR_EVERYTHING, Severity.MEDIUM, *neighbourhood.spans[int(at)])


HUBS = Hubs()
