"""Values that may be shared instead of copied."""

from typing import Any, Self


class Immutable:
    """A value that nobody changes, so that copying it is handing it on.

    Haystack deep-copies whatever travels along an edge of a pipeline; for a query that alone cost more
    than the search. Subclasses are frozen dataclasses that hold only immutable parts, or arrays that
    nobody writes to.
    """

    __slots__ = ()

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self
