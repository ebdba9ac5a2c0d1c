"""What text is written with and on."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from eai.quarantine.html.colour_values import PICTURE, colour_in
from eai.quarantine.html.colours import BLACK, CURRENT, WHITE, Colour
from eai.quarantine.html.css import Declarations

Attributes = Mapping[str, str | None]
_DIGITS = re.compile(r"(?i)[0-9a-f]{3}|[0-9a-f]{6}")
_FILL = "-webkit-text-fill-color"


class Ink(NamedTuple):
    """Colours of an element, as far as its children have them too; None for what nobody knows."""

    colour: Colour | None = BLACK
    filled: Colour | None = CURRENT
    behind: Colour | None = WHITE

    @property
    def is_unseen(self) -> bool:
        """Whether text cannot be told from what it is written on."""
        seen = self.colour if self.filled == CURRENT else self.filled
        if seen is None:
            return False
        return seen.is_transparent or (self.behind is not None and seen.is_like(self.behind))

    def within(self, style: Declarations, attributes: Attributes) -> "Ink":
        """That of an element in this one."""
        colour = self._colour(style, attributes)
        filled = colour_in(style[_FILL]) if _FILL in style else self.filled
        return Ink(colour, filled, self._behind(style, attributes, colour))

    def _colour(self, style: Declarations, attributes: Attributes) -> Colour | None:
        plain = attributes.get("color") or attributes.get("text")
        written = style.get("color") or _with_sign(plain)
        if written is None or written == "inherit":
            return self.colour
        colour = colour_in(written.lower())
        return self.colour if colour == CURRENT else colour

    def _behind(self, style: Declarations, attributes: Attributes, text: Colour | None) -> Colour | None:
        written = style.get("background-color") or _with_sign(attributes.get("bgcolor"))
        if written is None or written == PICTURE:
            return self.behind if written is None else None
        colour = colour_in(written.lower())
        if colour == CURRENT:
            return text
        if colour is None or colour.alpha == 1:
            return colour
        return None if self.behind is None else colour.over(self.behind)


PLAIN = Ink()
"""Black on white."""


def _with_sign(colour: str | None) -> str | None:
    """Attributes may leave out the sign before the digits of a colour."""
    return f"#{colour}" if colour and _DIGITS.fullmatch(colour) else colour or None
