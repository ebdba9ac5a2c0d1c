"""Texts put together as one, so that what is cut in two by a border between them is whole again."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate


@dataclass(frozen=True, slots=True)
class Joined:
    """The text, and where each of those it was made of starts and how long it is."""

    text: str
    starts: tuple[int, ...]
    lengths: tuple[int, ...]

    @classmethod
    def of(cls, texts: Sequence[str], glue: str) -> "Joined":
        """`texts`, of which there is at least one, with `glue` between them."""
        lengths = tuple(map(len, texts))
        starts = tuple(accumulate((length + len(glue) for length in lengths[:-1]), initial=0))
        return cls(glue.join(texts), starts, lengths)

    def around_borders(self, reach: int) -> Iterator[tuple[int, int]]:
        """The parts within `reach` of any border; those that meet are one."""
        low = high = 0
        for start in self.starts[1:]:
            if start - reach > high:
                if high > low:
                    yield low, high
                low = start - reach
            high = min(start + reach, len(self.text))
        if high > low:
            yield low, high

    def parts(self, start: int, end: int) -> Iterator[tuple[int, int, int]]:
        """Number, start and end of what each of the texts has of `[start, end)`."""
        number = bisect_right(self.starts, start) - 1
        while number < len(self.starts) and self.starts[number] < end:
            base, length = self.starts[number], self.lengths[number]
            low, high = max(start - base, 0), min(end - base, length)
            if low < high:
                yield number, low, high
            number += 1
