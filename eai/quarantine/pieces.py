"""Many short texts read as one, so that a page with thousands of them costs no more than its length."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate

from eai.quarantine.instructions import instructions_in

# The end of a sentence to every detector, so that nothing is found across it.
_APART = "\n\n"


@dataclass(frozen=True, slots=True)
class Pieces:
    """The texts with blank lines between them, and where each of them starts."""

    text: str
    starts: Sequence[int]

    @classmethod
    def of(cls, texts: Sequence[str]) -> "Pieces":
        """The texts in their order."""
        starts = accumulate((len(text) + len(_APART) for text in texts[:-1]), initial=0)
        return cls(_APART.join(texts), tuple(starts))

    def number(self, position: int) -> int:
        """Which of the texts `position` lies in."""
        return bisect_right(self.starts, position) - 1

    def that_speak_to_model(self) -> Iterator[tuple[int, str]]:
        """Number of each text that holds instructions to a model, once, with what they say."""
        told = set()
        for mark in sorted(instructions_in(self.text), key=lambda mark: (mark.start, -mark.end)):
            number = self.number(mark.start)
            if number not in told:
                told.add(number)
                yield number, self.text[mark.start : mark.end]
