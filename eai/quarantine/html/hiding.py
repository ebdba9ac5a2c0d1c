"""Whether what an element declares hides its text from a reader."""

import re
from collections.abc import Sequence
from enum import Enum, auto

from eai.quarantine.html.colour_values import mask_in
from eai.quarantine.html.css import Declarations
from eai.quarantine.html.lengths import pixels

_SMALLEST_FONT_PX = 2.0
_SMALLEST_BOX_PX = 1.0
_OFF_PAGE_PX = -400.0
_FAR_PX = 20_000.0
_LEAST_OPACITY = 0.05
_TIGHTEST_SPACING_PX = -5.0
_LEAST_ZOOM = 0.1
_LEAST_BLUR_PX = 8.0
_CLIPPED = re.compile(
    r"rect\((?:0|1)(?:px|\b)|inset\((?:50|100)%|(?:circle|ellipse)\(0(?![.\d])"
    r"|polygon\((?:\w+,)?0(?:px|%)? 0(?:px|%)?,0(?:px|%)? 0"
)
_PLACED = frozenset({"absolute", "fixed", "relative", "sticky"})
_SIDES = ("left", "right", "top", "bottom", "margin-left", "margin-top")
_FAR_INDENT_PX, _FAR_ABOVE_PX = 2_000.0, -2_000.0
_LEAST_SCALE = 0.05
_SHARE_OF_ITSELF = 0.4
_SHARE_OF_FONT = 0.16
_LEAST_TURN_DEG = 1.0
_FUNCTION = re.compile(r"(?P<name>[a-z-]+[23]?d?)\((?P<inner>[^()]*)\)")
_TURNED = re.compile(r"[xy] (?P<first>\S+)deg|(?P<second>\S+)deg [xy]")
_DEPENDING = frozenset({"color", "background-color", "-webkit-text-fill-color"})
_WORST = {"position": "absolute", "overflow-x": "hidden"}
"""What makes others hide."""


class Hiding(Enum):
    """Ways to be unseen: some wait for a click, and some only pretend to be shown."""

    WAITING = auto()
    DECEPTIVE = auto()


def hiding_of(style: Declarations) -> Hiding | None:
    """How an element with this style is unseen with everything in it; colours are judged elsewhere."""
    if style.get("display") == "none" or style.get("content-visibility") == "hidden":
        return Hiding.WAITING
    return Hiding.DECEPTIVE if any(judge(style) for judge in _JUDGES) else None


def may_hide(name: str, value: str) -> bool:
    """Whether text may be unseen by this, whatever else is said; of colours nobody knows alone."""
    style = {**_WORST, name: value}
    is_invisible = name == "visibility" and value in {"hidden", "collapse"}
    return is_invisible or bool(is_tiny(style)) or hiding_of(style) is not None


def could_hide(style: Declarations) -> bool:
    """Whether text may be unseen by this style, whatever surrounds it."""
    return (
        hiding_of(style) is not None
        or bool(is_tiny(style))
        or style.get("visibility") in {"hidden", "collapse"}
        or not _DEPENDING.isdisjoint(style)
        or any("var(" in value or "env(" in value for value in style.values())
    )


def is_tiny(style: Declarations) -> bool | None:
    """Whether text of this style is too small to be seen; None where nothing is said of its size."""
    size = style.get("font-size", "")
    length = pixels(size)
    if length is None:
        return False if size else None
    return length * (_SHARE_OF_FONT / 10 if "%" in size else 1.0) < _SMALLEST_FONT_PX


def _is_faint(style: Declarations) -> bool:
    filters = (match["inner"] for match in _functions(style, "filter") if match["name"] == "opacity")
    shares = [
        share for written in (style.get("opacity", ""), *filters) if (share := _share(written)) is not None
    ]
    return any(share <= _LEAST_OPACITY for share in shares)


def _is_off_page(style: Declarations) -> bool:
    indent = pixels(style.get("text-indent", "")) or 0.0
    above = pixels(style.get("margin-top", "")) or 0.0
    if indent <= _OFF_PAGE_PX or indent >= _FAR_INDENT_PX or above <= _FAR_ABOVE_PX:
        return True
    if style.get("position") not in _PLACED:
        return (pixels(style.get("margin-left", "")) or 0.0) <= _OFF_PAGE_PX
    distances = [pixels(style.get(side, "")) or 0.0 for side in _SIDES]
    return any(distance <= _OFF_PAGE_PX or distance >= _FAR_PX for distance in distances)


def _is_clipped(style: Declarations) -> bool:
    return any(_CLIPPED.search(style.get(name, "")) for name in ("clip", "clip-path"))


def _has_no_box(style: Declarations) -> bool:
    cuts = any(style.get(name, "") in {"hidden", "clip"} for name in ("overflow-x", "overflow-y"))
    sizes = (pixels(style.get(name, "")) for name in ("width", "height", "max-width", "max-height"))
    return cuts and any(size is not None and size <= _SMALLEST_BOX_PX for size in sizes)


def _is_masked(style: Declarations) -> bool:
    """By nothing, by a picture, which shows what it likes of a text, or by one without any size."""
    colours = mask_in(style.get("mask-image", ""))
    if not colours:
        return False
    sizes = [pixels(part) for part in re.split("[ ,]", style.get("mask-size", ""))]
    return (
        any(size is not None and size <= _SMALLEST_BOX_PX for size in sizes)
        or None in colours
        or all(colour is not None and colour.is_transparent for colour in colours)
    )


def _is_transformed(style: Declarations) -> bool:
    transforms = [(match["name"], match["inner"].split(",")) for match in _functions(style, "transform")]
    moves = [part for name, inner in transforms if name.startswith("translate") for part in inner]
    scales = [part for name, inner in transforms if name.startswith("scale") for part in inner]
    return (
        any(name in {"rotatex", "rotatey"} and _is_on_edge(inner[0]) for name, inner in transforms)
        or any(name == "matrix" and _is_flat(inner) for name, inner in transforms)
        or _is_turned(style.get("rotate", ""))
        or any(_is_nothing(scale) for scale in (*scales, *style.get("scale", "").split()))
        or any(
            move <= _OFF_PAGE_PX or move >= _FAR_PX
            for move in map(_moved, (*moves, *style.get("translate", "").split()))
        )
    )


def _functions(style: Declarations, name: str) -> Sequence[re.Match[str]]:
    return list(_FUNCTION.finditer(style.get(name, "")))


def _moved(distance: str) -> float:
    """Shares are those of the element itself: by half of it, it is centred."""
    length = pixels(distance) or 0.0
    return length * _SHARE_OF_ITSELF if "%" in distance else length


def _is_turned(rotate: str) -> bool:
    match = _TURNED.fullmatch(rotate)
    return match is not None and _is_on_edge(match["first"] or match["second"])


def _is_on_edge(angle: str) -> bool:
    degrees = _number(angle.removesuffix("deg"))
    return degrees is not None and abs(degrees % 180 - 90) < _LEAST_TURN_DEG


def _is_nothing(scale: str) -> bool:
    share = _share(scale)
    return share is not None and abs(share) <= _LEAST_SCALE


def _is_flat(matrix: Sequence[str]) -> bool:
    """Whether a matrix leaves no area of what it is applied to."""
    a, b, c, d = ([_number(each) or 0.0 for each in matrix] + [0.0] * 4)[:4]
    return abs(a * d - b * c) <= _LEAST_SCALE**2


def _is_blurred(style: Declarations) -> bool:
    blurs = (match["inner"] for match in _functions(style, "filter") if match["name"] == "blur")
    return any((pixels(blur) or 0.0) >= _LEAST_BLUR_PX for blur in blurs)


def _is_squeezed(style: Declarations) -> bool:
    zoom = _share(style.get("zoom", ""))
    spacing = pixels(style.get("letter-spacing", ""))
    return (zoom is not None and zoom <= _LEAST_ZOOM) or (
        spacing is not None and spacing <= _TIGHTEST_SPACING_PX
    )


def _is_behind(style: Declarations) -> bool:
    return style.get("position") in _PLACED and (_number(style.get("z-index", "")) or 0.0) < 0


_JUDGES = (
    _is_faint, _is_off_page, _is_clipped, _has_no_box, _is_masked, _is_transformed, _is_blurred, _is_squeezed,
    _is_behind,
)  # fmt: skip


def _share(text: str) -> float | None:
    """A number, or so many hundredths."""
    number = _number(text.removesuffix("%"))
    return number / 100 if number is not None and text.endswith("%") else number


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None
