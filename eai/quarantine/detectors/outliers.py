"""Passages that have nothing to do with the rest of their base: another language, another kind of text."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from eai.quarantine.neighbourhood import Cosines, Neighbourhood, deviations
from eai.quarantine.ports import Mark
from eai.quarantine.reasons import Reason
from eai.quarantine.severity import Severity

NEAREST = 5
FAR_BELOW = 2.75
"""Chosen on one half of what was measured: of those that belong, about one passage in a hundred is below."""
_LEAST = 0.005
"""Half of the least that was measured of prose."""


@dataclass(frozen=True, slots=True)
class Outliers:
    """Finds passages that are far less like their nearest than passages of the base are like theirs."""

    far_below: float = FAR_BELOW
    name: ClassVar[str] = "outliers"
    version: ClassVar[int] = 1

    def marks(self, neighbourhood: Neighbourhood) -> Iterator[Mark]:
        """Each whose likeness to its nearest is so many deviations below the median of the base's own."""
        above = deviations(_likeness(neighbourhood.within), _likeness(neighbourhood.towards), least=_LEAST)
        for at in np.flatnonzero(above < -self.far_below):
            yield Mark(Reason.FAR_FROM_BASE, Severity.LOW, *neighbourhood.spans[int(at)])


def _likeness(cosines: Cosines) -> Cosines:
    """The mean cosine of each to its nearest."""
    nearest: Cosines = np.partition(cosines, -NEAREST, axis=1)[:, -NEAREST:].mean(axis=1)
    return nearest


OUTLIERS = Outliers()
