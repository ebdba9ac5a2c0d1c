"""Colours as eyes tell them apart, or do not."""

from typing import NamedTuple

_LEAST_ALPHA = 0.05
_INDISTINCT = 30


class Colour(NamedTuple):
    """Red, green and blue from 0 to 255, and how opaque it is from 0 to 1."""

    red: float
    green: float
    blue: float
    alpha: float = 1.0

    @property
    def is_transparent(self) -> bool:
        """Whether nobody sees it."""
        return self.alpha <= _LEAST_ALPHA

    def is_like(self, other: "Colour") -> bool:
        """Whether text of this colour cannot be told from the other behind it, which shines through it."""
        apart = sum(abs(mine - theirs) for mine, theirs in zip(self[:3], other[:3], strict=True))
        return apart * self.alpha <= _INDISTINCT

    def over(self, other: "Colour") -> "Colour":
        """What is seen where this lies on another that is opaque."""
        mixed = (
            mine * self.alpha + theirs * (1 - self.alpha)
            for mine, theirs in zip(self[:3], other[:3], strict=True)
        )
        return Colour(*mixed)


WHITE, BLACK, CLEAR = Colour(255, 255, 255), Colour(0, 0, 0), Colour(0, 0, 0, 0)
CURRENT = Colour(-1, -1, -1)
"""That of the text, whichever it is."""
