"""Whether what an element declares hides its text from a reader."""

import re
from collections.abc import Sequence
from enum import Enum, auto

from eai.quarantine.html.declarations import Declarations

_LENGTH = re.compile(r"(-?\d{0,6}\.?\d{0,6})(px|pt|r?em|ex|ch|vw|vh|%|cm|in)?")
_PIXELS = {
    "px": 1.0, "pt": 1.33, "em": 16.0, "rem": 16.0, "ex": 8.0, "ch": 8.0, "vw": 12.0, "vh": 8.0, "%": 10.0,
    "cm": 38.0, "in": 96.0, "": 1.0,
}  # fmt: skip
_SMALLEST_FONT_PX = 2.0
_SMALLEST_BOX_PX = 1.0
_OFF_PAGE_PX = -400.0
_FAR_PX = 20_000.0
_LEAST_OPACITY = 0.05
_TIGHTEST_SPACING_PX = -5.0
_LEAST_ZOOM = 0.1
_LEAST_BLUR_PX = 8.0
_ON_EDGE = re.compile(r"rotate[xy]\(\s*(?:90|270)deg")
_BLURRED = re.compile(r"blur\(([^)]{1,20})\)")
_NO_SCALE = re.compile(r"scale[xy3d]{0,2}\(\s*0*(?:\.0+\d*)?\s*[,)]")
_MOVED = re.compile(r"translate[xy3d]{0,2}\(([^)]{1,80})\)")
_CLIPPED = re.compile(
    r"rect\(\s*(?:0|1px)|inset\(\s*(?:50|100)%|(?:circle|ellipse)\(\s*0(?![.\d])"
    r"|polygon\(\s*0(?:px|%)? 0(?:px|%)?\s*,\s*0(?:px|%)? 0"
)
_PLACED = frozenset({"absolute", "fixed", "relative", "sticky"})
_SIDES = (
    "left", "right", "top", "bottom", "margin-left", "margin-top", "margin",
    "inset", "inset-inline-start", "inset-block-start",
)  # fmt: skip
_FAR_INDENT_PX, _FAR_ABOVE_PX = 2_000.0, -2_000.0
_LEAST_SCALE = 0.05
_SHARE_OF_ITSELF = 0.4
_TURNED = re.compile(r"(?:[xy]\s+)-?(?:90|270)deg|-?(?:90|270)deg\s+[xy]")
_SCALED = re.compile(r"scale[xy]?\(([^)]{1,80})\)")
_MATRIX = re.compile(r"matrix\(\s*([^)]{1,80})\)")
_CALCULATED = re.compile(r"calc\(\s*([^()\s]{1,20})\s*\)")
_DEPENDING = frozenset({"color", "background", "background-color", "-webkit-text-fill-color"})
_ENTITY_FONT = re.compile(r"(?:^|\s)0[a-z%]{0,3}\s*/|(?:^|\s)0(?:px|pt|em|rem|%)?\s+[a-z\"']")


class Hiding(Enum):
    """Ways to be unseen: some wait for a click, and some only pretend to be shown."""

    WAITING = auto()
    DECEPTIVE = auto()


def hiding_of(style: Declarations) -> Hiding | None:
    """How an element with this style is unseen with everything in it; colours are judged elsewhere."""
    if style.get("display") == "none" or style.get("content-visibility") == "hidden":
        return Hiding.WAITING
    return Hiding.DECEPTIVE if any(judge(style) for judge in _JUDGES) else None


def could_hide(style: Declarations) -> bool:
    """Whether text may be unseen by this style, whatever surrounds it."""
    return (
        hiding_of(style) is not None
        or bool(is_tiny(style))
        or style.get("visibility") in {"hidden", "collapse"}
        or not _DEPENDING.isdisjoint(style)
        or any("var(" in value for value in style.values())
    )


def is_tiny(style: Declarations) -> bool | None:
    """Whether text of this style is too small to be seen; None where nothing is said of its size."""
    if (size := style.get("font-size")) is not None:
        pixels = _pixels(size)
        return None if pixels is None else pixels < _SMALLEST_FONT_PX
    if (font := style.get("font")) is not None:
        return _ENTITY_FONT.search(font) is not None
    return None


def _is_faint(style: Declarations) -> bool:
    opacity = _number(style.get("opacity", ""))
    filtered = re.search(r"opacity\(\s*(\d*\.?\d*)(%?)", style.get("filter", ""))
    if opacity is not None and "%" in style["opacity"]:
        opacity /= 100
    if filtered and (value := _number(filtered[1])) is not None:
        opacity = value / 100 if filtered[2] else value
    return opacity is not None and opacity <= _LEAST_OPACITY


def _is_off_page(style: Declarations) -> bool:
    indent = _pixels(style.get("text-indent", "")) or 0.0
    above = _pixels(style.get("margin-top", "")) or 0.0
    if indent <= _OFF_PAGE_PX or indent >= _FAR_INDENT_PX or above <= _FAR_ABOVE_PX:
        return True
    if style.get("position") not in _PLACED:
        return (_pixels(style.get("margin-left", "")) or 0.0) <= _OFF_PAGE_PX
    distances = [_pixels(part) or 0.0 for side in _SIDES for part in style.get(side, "").split()]
    return any(distance <= _OFF_PAGE_PX or distance >= _FAR_PX for distance in distances)


def _is_clipped(style: Declarations) -> bool:
    return any(_CLIPPED.search(style.get(name, "")) for name in ("clip", "clip-path"))


def _has_no_box(style: Declarations) -> bool:
    cuts = any(
        style.get(name, "").startswith(("hidden", "clip"))
        for name in ("overflow", "overflow-x", "overflow-y")
    )
    sizes = (_pixels(style.get(name, "")) for name in ("width", "height", "max-width", "max-height"))
    return cuts and any(size is not None and size <= _SMALLEST_BOX_PX for size in sizes)


def _is_transformed(style: Declarations) -> bool:
    transform = style.get("transform", "")
    written = [move for match in _MOVED.findall(transform) for move in match.split(",")]
    moves = [_moved(move) for move in (*written, *style.get("translate", "").split())]
    scales = [*style.get("scale", "").split(), *",".join(_SCALED.findall(transform)).split(",")]
    return (
        bool(_NO_SCALE.search(transform) or _ON_EDGE.search(transform))
        or _TURNED.fullmatch(style.get("rotate", "")) is not None
        or any(_is_nothing(scale) for scale in scales)
        or any(_is_flat(matrix.split(",")) for matrix in _MATRIX.findall(transform))
        or any(move <= _OFF_PAGE_PX or move >= _FAR_PX for move in moves)
    )


def _moved(distance: str) -> float:
    """Shares are those of the element itself: by half of it, it is centred."""
    pixels = _pixels(distance) or 0.0
    return pixels * _SHARE_OF_ITSELF if "%" in distance else pixels


def _is_nothing(scale: str) -> bool:
    number = _number(scale)
    return number is not None and abs(number) / (100 if "%" in scale else 1) <= _LEAST_SCALE


def _is_flat(matrix: Sequence[str]) -> bool:
    """Whether a matrix leaves no area of what it is applied to."""
    a, b, c, d = ([_number(each) or 0.0 for each in matrix] + [0.0] * 4)[:4]
    return abs(a * d - b * c) <= _LEAST_SCALE**2


def _is_blurred(style: Declarations) -> bool:
    match = _BLURRED.search(style.get("filter", ""))
    return match is not None and (_pixels(match[1]) or 0.0) >= _LEAST_BLUR_PX


def _is_squeezed(style: Declarations) -> bool:
    zoom = _number(style.get("zoom", ""))
    spacing = _pixels(style.get("letter-spacing", ""))
    return (zoom is not None and zoom <= _LEAST_ZOOM) or (
        spacing is not None and spacing <= _TIGHTEST_SPACING_PX
    )


def _is_behind(style: Declarations) -> bool:
    return style.get("position") in _PLACED and (_number(style.get("z-index", "")) or 0.0) < 0


_JUDGES = (
    _is_faint, _is_off_page, _is_clipped, _has_no_box, _is_transformed, _is_blurred, _is_squeezed, _is_behind,
)  # fmt: skip


def _pixels(value: str) -> float | None:
    calculated = _CALCULATED.fullmatch(value.strip())
    match = _LENGTH.match(calculated[1] if calculated else value.strip())
    number = _number(match[1]) if match else None
    if match is None or number is None:
        return None
    return number * _PIXELS[match[2] or ""]


def _number(text: str) -> float | None:
    try:
        return float(text.strip().rstrip("%"))
    except ValueError:
        return None
