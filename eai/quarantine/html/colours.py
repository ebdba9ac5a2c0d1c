"""Colours as they are written in styles, and whether two can be told apart."""

import colorsys
import re
from typing import NamedTuple

_LEAST_ALPHA = 0.05
_INDISTINCT = 30
_FULL = 255
_NAMES = {
    "white": "ffffff", "black": "000000", "snow": "fffafa", "ivory": "fffff0", "ghostwhite": "f8f8ff",
    "azure": "f0ffff", "whitesmoke": "f5f5f5", "floralwhite": "fffaf0", "mintcream": "f5fffa",
    "aliceblue": "f0f8ff", "honeydew": "f0fff0", "seashell": "fff5ee", "gray": "808080", "grey": "808080",
    "silver": "c0c0c0", "lightgray": "d3d3d3", "lightgrey": "d3d3d3", "gainsboro": "dcdcdc",
    "darkgray": "a9a9a9", "red": "ff0000", "green": "008000", "blue": "0000ff", "yellow": "ffff00",
    "lightyellow": "ffffe0", "beige": "f5f5dc", "linen": "faf0e6", "lavender": "e6e6fa", "navy": "000080",
    "maroon": "800000", "purple": "800080", "teal": "008080", "orange": "ffa500", "pink": "ffc0cb",
    "brown": "a52a2a", "cyan": "00ffff", "aqua": "00ffff", "lime": "00ff00", "magenta": "ff00ff",
    "fuchsia": "ff00ff", "olive": "808000", "canvas": "ffffff", "canvastext": "000000",
}  # fmt: skip
_HEX = re.compile(r"#(?:[0-9a-f]{8}|[0-9a-f]{6}|[0-9a-f]{3,4})\b")
_FUNCTION = re.compile(r"(rgb|hsl)a?\(\s*([^()]{1,80})\)")
_NAME = re.compile(r"\b[a-z]{3,20}\b")
_NUMBER = re.compile(r"(-?\d{0,6}(?:\.\d{1,6})?)(%|deg)?")


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
        """Whether text of this colour cannot be told from the other behind it."""
        return (
            sum(abs(mine - theirs) for mine, theirs in zip(self[:3], other[:3], strict=True)) <= _INDISTINCT
        )


WHITE, BLACK = Colour(255, 255, 255), Colour(0, 0, 0)


def colour_in(value: str) -> Colour | None:
    """The first colour that a declaration's value names; None where none is, or a picture is named too."""
    if "url(" in value or "gradient" in value or "var(" in value:
        return None
    if match := _HEX.search(value):
        return _of_digits(match[0][1:])
    if match := _FUNCTION.search(value):
        return _of_numbers(match[1], match[2])
    for name in _NAME.findall(value):
        if name == "transparent":
            return Colour(0, 0, 0, 0)
        if name in _NAMES:
            return _of_digits(_NAMES[name])
    return None


def _of_digits(digits: str) -> Colour:
    whole = "".join(digit * 2 for digit in digits) if len(digits) < len("rrggbb") else digits
    red, green, blue, *alpha = (int(whole[place : place + 2], 16) for place in range(0, len(whole), 2))
    return Colour(red, green, blue, alpha[0] / _FULL if alpha else 1.0)


def _of_numbers(model: str, inner: str) -> Colour | None:
    found = [_NUMBER.match(part.strip()) for part in re.split(r"[\s,/]+", inner.strip())]
    values = [
        _value(match[1], match[2], model, place) for place, match in enumerate(found) if match and match[1]
    ]
    if len(values) < len(Colour._fields) - 1:
        return None
    alpha = values[3] if len(values) > len(Colour._fields) - 1 else 1.0
    if model == "hsl":
        red, green, blue = colorsys.hls_to_rgb(values[0] / 360 % 1, values[2], values[1])
        return Colour(red * _FULL, green * _FULL, blue * _FULL, alpha)
    return Colour(values[0], values[1], values[2], alpha)


def _value(number: str, unit: str | None, model: str, place: int) -> float:
    value = float(number) if number not in {"", "-", "."} else 0.0
    if unit != "%":
        return value
    is_channel = model == "rgb" and place < len(Colour._fields) - 1
    return value * _FULL / 100 if is_channel else value / 100
