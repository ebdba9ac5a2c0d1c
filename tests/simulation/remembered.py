"""Puts objects back into the state in which they were found: what they remember since is gone."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from types import FunctionType, MethodType
from typing import Any

_OURS = ("eai.", "asyncio.locks")


class Remembered:
    """The state of everything that is reached from `roots` through the product's own objects.

    So that a process is as new: whatever a service keeps between two requests is found without a word about
    it here. `but` is shared with others, and left alone.
    """

    def __init__(self, roots: Sequence[Any], *, but: Sequence[Any]) -> None:
        self._kept: list[tuple[Any, Any]] = []
        seen = {id(each): each for each in but}
        pending = [*roots]
        while pending:
            each = pending.pop()
            if id(each) not in seen:
                seen[id(each)] = each
                pending.extend(self._reached(each))

    def put_back(self) -> None:
        for each, kept in self._kept:
            each.clear()
            if isinstance(each, list | deque):
                each.extend(kept)
            else:
                each.update(kept)

    def _reached(self, each: Any) -> Iterable[Any]:
        if isinstance(each, dict):
            self._kept.append((each, dict(each)))
            return list(each.values())
        if isinstance(each, list | deque | set):
            self._kept.append((each, list(each)))
            return list(each)
        if isinstance(each, tuple | frozenset):
            return each
        if isinstance(each, MethodType):
            return [each.__self__]
        if isinstance(each, FunctionType):
            return [cell.cell_contents for cell in each.__closure__ or ()]
        return _members(each) if type(each).__module__.startswith(_OURS) else ()


def _members(each: Any) -> Iterator[Any]:
    if hasattr(each, "__dict__"):
        yield vars(each)
    for kind in type(each).__mro__:
        for name in getattr(kind, "__slots__", ()):
            yield getattr(each, name, None)
