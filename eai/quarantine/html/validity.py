"""Which values a browser certainly takes. Of all others it may take none, so they undo nothing here."""

import re
from collections.abc import Mapping

from eai.quarantine.html.colour_values import PICTURE, colour_in, mask_in

WIDE = frozenset({"inherit", "initial", "unset", "revert", "revert-layer"})
_N = r"-?\d+(?:\.\d+)?"
_SHARE = rf"{_N}%?"
_LENGTH = rf"(?:{_N}(?:px|%)|-?0(?:\.0+)?)"
_SIZE = r"(?:\d+(?:\.\d+)?(?:px|%)|0(?:\.0+)?)"
_ANGLE = rf"(?:{_N}deg|0)"
_INTRINSIC = r"min-content|max-content|fit-content"
_SIDE = rf"auto|{_LENGTH}"
_OVERFLOW = "visible|hidden|clip|scroll|auto"
FONT_SIZE = rf"{_SIZE}|xx-small|x-small|small|medium|large|x-large|xx-large|xxx-large|smaller|larger"


def _several(part: str, most: int, between: str = " ") -> str:
    return rf"(?:{part})(?:{between}(?:{part})){{0,{most - 1}}}"


_TRANSFORM = "|".join((
    rf"translate\({_several(_LENGTH, 2, ',')}\)",
    rf"translate[xyz]\({_LENGTH}\)",
    rf"translate3d\({_LENGTH},{_LENGTH},{_LENGTH}\)",
    rf"scale\({_several(_SHARE, 2, ',')}\)",
    rf"scale[xyz]\({_SHARE}\)",
    rf"scale3d\({_SHARE},{_SHARE},{_SHARE}\)",
    rf"(?:rotate[xyz]?|skew[xy]?)\({_ANGLE}\)",
    rf"matrix\({_N}(?:,{_N}){{5}}\)",
    rf"matrix3d\({_N}(?:,{_N}){{15}}\)",
    rf"perspective\({_SIZE}\)",
))  # fmt: skip
_FILTER = (
    rf"(?:brightness|contrast|grayscale|invert|opacity|saturate|sepia)\((?:{_SHARE})?\)"
    rf"|hue-rotate\((?:{_ANGLE})?\)|blur\((?:{_SIZE})?\)"
)
_SHAPE = (
    rf"inset\({_several(_LENGTH, 4)}(?: round {_several(_SIZE, 4)})?\)"
    rf"|circle\((?:{_SIZE})?\)|ellipse\((?:{_SIZE} {_SIZE})?\)"
    rf"|polygon\((?:(?:nonzero|evenodd),)?{_LENGTH} {_LENGTH}(?:,{_LENGTH} {_LENGTH}){{1,40}}\)"
)
_WRITTEN = {
    "display": r"none|block|inline|(?:inline-)?(?:block|flex|grid|table)|contents|list-item|flow-root"
    r"|table-(?:row|cell|caption|column|row-group|header-group|footer-group|column-group)"
    r"|(?:block|inline) (?:flow|flow-root|table|flex|grid)|-webkit-(?:inline-)?(?:box|flex)",
    "visibility": "visible|hidden|collapse",
    "content-visibility": "visible|auto|hidden",
    "opacity": _SHARE,
    "filter": rf"none|{_several(_FILTER, 10, ' ?')}",
    "font-size": FONT_SIZE,
    "position": "static|relative|absolute|fixed|sticky",
    **dict.fromkeys(
        ("left", "right", "top", "bottom", "margin-left", "margin-right", "margin-top", "margin-bottom"),
        _SIDE,
    ),
    "text-indent": _LENGTH,
    "clip": r"auto|rect\((?:auto|-?[\d.]+px|0)(?:,? ?(?:auto|-?[\d.]+px|0)){3}\)",
    "clip-path": rf"none|{_SHAPE}|(?:margin|border|padding|content|fill|stroke|view)-box",
    **dict.fromkeys(("width", "height"), rf"auto|{_SIZE}|{_INTRINSIC}"),
    **dict.fromkeys(("max-width", "max-height"), rf"none|{_SIZE}|{_INTRINSIC}"),
    **dict.fromkeys(("overflow-x", "overflow-y"), _OVERFLOW),
    "transform": rf"none|{_several(_TRANSFORM, 20, ' ?')}",
    "translate": rf"none|{_several(_LENGTH, 3)}",
    "rotate": rf"none|(?:(?:[xyz]|{_N} {_N} {_N}) )?{_ANGLE}|{_ANGLE} [xyz]",
    "scale": rf"none|{_several(_SHARE, 3)}",
    "zoom": rf"normal|{_SHARE}",
    "z-index": r"auto|-?\d+",
    "letter-spacing": rf"normal|{_N}px|0",
    "mask-size": _several(_several(rf"auto|cover|contain|{_SIZE}", 2), 4, ","),
}
_PATTERNS: Mapping[str, re.Pattern[str]] = {name: re.compile(pattern) for name, pattern in _WRITTEN.items()}
_COLOURS = frozenset({"color", "-webkit-text-fill-color"})


def is_certain(name: str, value: str) -> bool:
    """Whether every browser takes the value for this property, which is none that stands for others."""
    if value in WIDE:
        return True
    if name in _COLOURS:
        return colour_in(value) is not None
    if name == "background-color":
        return value == PICTURE or colour_in(value) is not None
    if name == "mask-image":
        return mask_in(value) is not None
    pattern = _PATTERNS.get(name)
    return pattern is not None and pattern.fullmatch(value) is not None
