"""Colours and pictures as they are written in styles."""

import math
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from tinycss2 import color4, parse_component_value_list

from eai.quarantine.html.colours import BLACK, CLEAR, CURRENT, WHITE, Colour

PICTURE = "\0"
"""Stands for a background of which a part is a picture. No style can be written so."""
_FULL = 255
_PICTURE, _COLOUR, _PLACE = "I", "C", "P"
_LAYER = re.compile(r"P{1,4}(?:/P{1,2})?|")
_BRIGHT = frozenset({"canvas", "field", "window"})
_DARK = frozenset("canvastext fieldtext buttontext windowtext marktext menutext infotext".split())
_GRADIENT = re.compile(r"(?:-webkit-)?(?:repeating-)?(?:linear|radial|conic)-gradient")
_PICTURES = frozenset({"url", "image-set", "-webkit-image-set"})
_WORDS = {
    "none": "I",
    **dict.fromkeys("left right top bottom center auto cover contain".split(), "P"),
    **dict.fromkeys("repeat no-repeat repeat-x repeat-y space round fixed local scroll".split(), "R"),
    **dict.fromkeys("border-box padding-box content-box text alpha match-source add".split(), "R"),
}
_SIZES = frozenset({"number", "percentage", "dimension"})
_DIRECTIONS = frozenset(
    "to at in left right top bottom center circle ellipse closest-side closest-corner farthest-side".split()
    + "farthest-corner from hue longer shorter oklab oklch srgb".split()
)


@lru_cache(4_096)
def colour_in(value: str) -> Colour | None:
    """The colour that a value is; None where it is none, or one that nobody here knows."""
    tokens = _parts(value)
    return _colour(tokens[0]) if len(tokens) == 1 else None


@lru_cache(4_096)
def background_in(value: str) -> str | None:
    """The colour that a `background` shows, as it is written, or PICTURE.

    None where a browser may not take the value.
    """
    shown: list[str] = []
    layers = _listed(parse_component_value_list(value))
    for layer in layers:
        kinds = [_kind(token) for token in layer]
        if not _is_layer("".join(kinds), is_last=layer is layers[-1]):
            return None
        for kind, token in zip(kinds, layer, strict=True):
            if kind == _COLOUR:
                shown.append(token.serialize())
            elif kind == _PICTURE and token.type != "ident":
                shown.append(_pictured(token))
    opaque = [part for part in shown if part == PICTURE or colour_in(part) != CLEAR]
    return opaque[0] if opaque else "transparent"


@lru_cache(4_096)
def mask_in(value: str) -> Sequence[Colour | None] | None:
    """The colours of the gradients that a mask is made of, and None for each other picture.

    None instead of them where a browser may not take the value.
    """
    colours: list[Colour | None] = []
    for layer in _listed(parse_component_value_list(value)):
        kinds = [_kind(token) for token in layer]
        if not _is_layer("".join(kinds), is_last=False):
            return None
        for kind, token in zip(kinds, layer, strict=True):
            if kind == _PICTURE and token.type != "ident":
                colours += map(_colour, _stops(token)) if _is_gradient(token) else [None]
    return colours


def _is_layer(kinds: str, *, is_last: bool) -> bool:
    """Whether a part of the value between commas is one: only the last has a colour."""
    places = re.sub(r"[ICR]", "", kinds)
    is_possible = kinds.count(_PICTURE) <= 1 and kinds.count(_COLOUR) <= is_last
    return bool(kinds) and is_possible and _LAYER.fullmatch(places) is not None


def _kind(token: Any) -> str:
    """A letter for what a part of a layer says: I for pictures, C colours, P places and sizes, R others."""
    if _is_picture(token):
        return _PICTURE
    if _is_gradient(token):
        stops = _stops(token)
        return _PICTURE if stops and None not in map(_colour, stops) else "?"
    if token.type == "ident" and (word := token.lower_value) in _WORDS:
        return _WORDS[word]
    if token.type in _SIZES:
        return _PLACE if token.type != "number" or token.value == 0 else "?"
    if token.type == "literal":
        return str(token.value)
    return "?" if _colour(token) is None else _COLOUR


def _pictured(token: Any) -> str:
    """A gradient between colours that are alike is one of them."""
    stops = _stops(token) if _is_gradient(token) else ()
    colours = [_colour(stop) for stop in stops]
    return stops[0].serialize() if _are_alike(colours) else PICTURE


def _is_picture(token: Any) -> bool:
    return token.type == "url" or (token.type == "function" and token.lower_name in _PICTURES)


def _is_gradient(token: Any) -> bool:
    return token.type == "function" and _GRADIENT.fullmatch(token.lower_name) is not None


def _stops(gradient: Any) -> Sequence[Any]:
    """What stands for colours in it."""
    parts = [token for token in gradient.arguments if token.type in {"ident", "hash", "function"}]
    return [token for token in parts if token.type != "ident" or token.lower_value not in _DIRECTIONS]


def _are_alike(colours: Sequence[Colour | None]) -> bool:
    first = colours[0] if colours else None
    return first is not None and all(other is not None and first.is_like(other) for other in colours)


def _parts(value: str) -> Sequence[Any]:
    return [token for token in parse_component_value_list(value) if token.type != "whitespace"]


def _colour(token: Any) -> Colour | None:
    if token.type == "ident" and token.lower_value in _BRIGHT | _DARK:
        return WHITE if token.lower_value in _BRIGHT else BLACK
    if token.type == "function" and token.lower_name in {"light-dark", "color-mix"}:
        parts = _listed(token.arguments)
        return _light(parts) if token.lower_name == "light-dark" else _mixed(parts)
    try:
        parsed = color4.parse_color(token)
    except (ValueError, ArithmeticError):  # of `color()`, and of numbers no colour has
        return None
    if parsed == "currentcolor":
        return CURRENT
    return _seen(parsed) if parsed is not None else None


def _listed(tokens: Sequence[Any]) -> Sequence[Sequence[Any]]:
    parts: list[list[Any]] = [[]]
    for each in tokens:
        if each == ",":
            parts.append([])
        elif each.type != "whitespace":
            parts[-1].append(each)
    return parts


def _light(parts: Sequence[Sequence[Any]]) -> Colour | None:
    """The first: readers here prefer what is light."""
    if [len(part) for part in parts] != [1, 1]:
        return None
    light, dark = (_colour(part[0]) for part in parts)
    return light if dark is not None else None


def _mixed(parts: Sequence[Sequence[Any]]) -> Colour | None:
    """Between two colours, it depends on the space; with nothing, or with its like, one stays the same."""
    if [len(part) for part in parts[1:]] not in ([1, 1], [1, 2], [2, 1], [2, 2]) or not parts[0]:
        return None
    (first, one), (second, other) = (_shared(part) for part in parts[1:])
    if first is None or second is None or CURRENT in {first, second}:
        return None
    one, other = _shares(one, other)
    total = one + other
    if total <= 0:
        return None
    of_first, of_second = one / total * first.alpha, other / total * second.alpha
    alpha = of_first + of_second
    if alpha <= 0:
        return CLEAR
    is_plain = parts[0][-1].type == "ident" and parts[0][-1].lower_value == "srgb"
    if not (is_plain or 0 in {of_first, of_second} or first.is_like(second)):
        return None
    red, green, blue = (
        (mine * of_first + theirs * of_second) / alpha
        for mine, theirs in zip(first[:3], second[:3], strict=True)
    )
    return Colour(red, green, blue, alpha * min(total, 1.0))


def _shared(part: Sequence[Any]) -> tuple[Colour | None, float | None]:
    shares = [token.value / 100 for token in part if token.type == "percentage"]
    colours = [_colour(token) for token in part if token.type != "percentage"]
    if len(colours) != 1 or any(not 0 <= share <= 1 for share in shares):
        return None, None
    return colours[0], shares[0] if shares else None


def _shares(one: float | None, other: float | None) -> tuple[float, float]:
    if one is None:
        return (0.5, 0.5) if other is None else (1 - other, other)
    return one, 1 - one if other is None else other


_LINEAR = {
    "xyz-d65": (
        (3.2404542, -1.5371385, -0.4985314),
        (-0.9692660, 1.8760108, 0.0415560),
        (0.0556434, -0.2040259, 1.0572252),
    ),
    "xyz-d50": (
        (3.1338561, -1.6168667, -0.4906146),
        (-0.9787684, 1.9161415, 0.0334540),
        (0.0719453, -0.2289914, 1.4052427),
    ),
}
"""To the light of sRGB."""
_THROUGH = {
    "lab": "xyz-d50", "lch": "xyz-d50", "oklab": "xyz-d65", "oklch": "xyz-d65", "hsl": "srgb", "hwb": "srgb",
}  # fmt: skip


def _seen(parsed: Any) -> Colour | None:
    """On a usual screen. What wider spaces have beyond it is taken for the nearest that it shows."""
    try:
        colour = parsed.to(_THROUGH.get(parsed.space, parsed.space))
    except ArithmeticError:
        return None
    channels = colour.coordinates
    if colour.space in _LINEAR:
        rows = _LINEAR[colour.space]
        channels = [sum(a * b for a, b in zip(row, channels, strict=True)) for row in rows]
    if colour.space in _LINEAR or colour.space == "srgb-linear":
        channels = [_encoded(channel) for channel in channels]
    if not all(map(math.isfinite, channels)):
        return None
    red, green, blue = (min(max(channel, 0.0), 1.0) * _FULL for channel in channels)
    return Colour(red, green, blue, parsed.alpha)


def _encoded(channel: float) -> float:
    if channel <= 0.0031308:  # noqa: PLR2004 - where the curve of sRGB begins
        return 12.92 * channel
    return float(1.055 * min(channel, 1.0) ** (1 / 2.4) - 0.055)
