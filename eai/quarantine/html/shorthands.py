"""What a shorthand says of each property that it stands for, and other names of the same property."""

import re
from collections.abc import Callable, Mapping, Sequence

from eai.quarantine.html.colour_values import background_in
from eai.quarantine.html.hiding import may_hide
from eai.quarantine.html.validity import FONT_SIZE, WIDE, is_certain

_OTHER_NAMES = {
    **{f"-webkit-{name}": name for name in ("transform", "filter", "clip-path", "opacity")},
    **{f"-webkit-mask{part}": f"mask{part}" for part in ("", "-image", "-size")},
    "inline-size": "width", "block-size": "height",
    "max-inline-size": "max-width", "max-block-size": "max-height",
    "inset-inline-start": "left", "inset-inline-end": "right",
    "inset-block-start": "top", "inset-block-end": "bottom",
    "margin-inline-start": "margin-left", "margin-block-start": "margin-top",
    "overflow-inline": "overflow-x", "overflow-block": "overflow-y",
}  # fmt: skip
"""As in a page that reads from left to right."""
LONGHANDS = frozenset(
    "display visibility content-visibility opacity filter font-size color -webkit-text-fill-color".split()
    + "background-color position left right top bottom margin-left margin-top text-indent".split()
    + "clip clip-path width height max-width max-height overflow-x".split()
    + "overflow-y transform translate rotate scale zoom z-index letter-spacing mask-image mask-size".split()
)
_SIDES = ("top", "right", "bottom", "left")
_STANDS_FOR: Mapping[str, Sequence[str]] = {
    "margin": tuple(f"margin-{side}" for side in _SIDES),
    "inset": _SIDES,
    "margin-inline": ("margin-left", "margin-right"),
    "margin-block": ("margin-top", "margin-bottom"),
    "inset-inline": ("left", "right"),
    "inset-block": ("top", "bottom"),
    "overflow": ("overflow-x", "overflow-y"),
    "font": ("font-size",),
    "background": ("background-color",),
    "mask": ("mask-image", "mask-size"),
    "all": tuple(sorted(LONGHANDS)),
}
_SYSTEM_FONTS = frozenset({"caption", "icon", "menu", "message-box", "small-caption", "status-bar"})
_WORD = r"-?[a-z_][\w-]*"
_FAMILY = rf'(?:""|{_WORD}(?: {_WORD})*)'
_FONT = re.compile(
    r"(?:(?:normal|italic|oblique|small-caps|bold|bolder|lighter|\d{1,4}"
    r"|(?:(?:ultra|extra|semi)-)?(?:condensed|expanded)) ){0,5}"
    rf"(?P<size>{FONT_SIZE})(?:/(?:normal|[\d.]+(?:px|%)?))? ?{_FAMILY}(?:,{_FAMILY})*"
)
_MASK_SIZE = re.compile(r"/(?P<size>[^\s,]+(?: (?:auto|[\d.]+(?:px|%)?))?)")


def stands_for(name: str) -> Sequence[str]:
    """The properties that a declaration of this name is about; none where it hides no text."""
    known = _OTHER_NAMES.get(name, name)
    return (known,) if known in LONGHANDS else _STANDS_FOR.get(known, ())


def accepted(name: str, value: str) -> Mapping[str, str]:
    """What the value says of each property; as far as it may hide text where a browser may not take it."""
    said = _said(_OTHER_NAMES.get(name, name), stands_for(name), value)
    if all(is_certain(each, part) for each, part in said.items()):
        return {each: part for each, part in said.items() if each in LONGHANDS}
    return {each: part for each, part in said.items() if may_hide(each, part)}


def _said(name: str, names: Sequence[str], value: str) -> Mapping[str, str]:
    expand = _EXPANSIONS.get(name)
    if value in WIDE or name in LONGHANDS:
        return dict.fromkeys(names, value)
    return expand(names, value) if expand is not None else {}


def _of_sides(names: Sequence[str], value: str) -> Mapping[str, str]:
    """What is not said of a side is as on the one across."""
    parts = value.split(" ")
    if len(parts) > len(names):
        return {}
    return {name: parts[_place(number, len(parts))] for number, name in enumerate(names)}


def _place(number: int, parts: int) -> int:
    while number >= parts:
        number = max(number - 2, 0)
    return number


def _of_font(names: Sequence[str], value: str) -> Mapping[str, str]:
    if value in _SYSTEM_FONTS:
        return dict.fromkeys(names, "medium")
    match = _FONT.fullmatch(value)
    return dict.fromkeys(names, match["size"]) if match else {}


def _of_background(names: Sequence[str], value: str) -> Mapping[str, str]:
    background = background_in(value)
    return {} if background is None else dict.fromkeys(names, background)


def _of_mask(names: Sequence[str], value: str) -> Mapping[str, str]:
    image, size = names
    match = _MASK_SIZE.search(value)
    return {image: value, size: match["size"] if match else "auto"}


_EXPANSIONS: Mapping[str, Callable[[Sequence[str], str], Mapping[str, str]]] = {
    **dict.fromkeys(("margin", "inset", "overflow"), _of_sides),
    **dict.fromkeys(("margin-inline", "margin-block", "inset-inline", "inset-block"), _of_sides),
    "font": _of_font,
    "background": _of_background,
    "mask": _of_mask,
}
