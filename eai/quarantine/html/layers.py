"""The order of cascade layers: the first that was named counts least, and what is in none counts most."""

import math
from collections import Counter

LayerName = tuple[str, ...]
Layer = tuple[float, ...]
"""Compares as layers do."""
_DEEPEST = 8
NO_LAYER: LayerName = ()


class Layers:
    """All layers of a page."""

    def __init__(self) -> None:
        self._places: dict[LayerName, Layer] = {NO_LAYER: ()}
        self._inner: Counter[LayerName] = Counter()

    def within(self, outer: LayerName, written: str) -> LayerName:
        """The layer of that name in another; one without a name is like no other."""
        name = outer
        for part in written.split(".") if written else [f"\0{self._inner[outer]}"]:
            name = self._known(name, part.strip())
        return name

    def named(self, outer: LayerName, written: str) -> None:
        """Give places to all that a statement names."""
        for each in written.split(","):
            self.within(outer, each.strip())

    def place(self, name: LayerName) -> Layer:
        """Where it stands; what is in a layer itself counts more than what is in layers within."""
        return (*self._places[name], math.inf)

    def _known(self, outer: LayerName, part: str) -> LayerName:
        name = (*outer, part)
        if len(name) > _DEEPEST:
            return outer
        if name not in self._places:
            self._inner[outer] += 1
            self._places[name] = (*self._places[outer], self._inner[outer])
        return name


def reversed_layer(layer: Layer) -> Layer:
    """What is important counts the other way round."""
    return tuple(-place for place in layer)
