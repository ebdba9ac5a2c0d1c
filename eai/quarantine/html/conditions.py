"""When the rules within an at-rule hold: for readers at some usual screens who read, and print nothing."""

import re
from collections.abc import Sequence
from enum import IntEnum

_WIDTHS = (1280, 1920, 390)
_HEIGHTS = (800, 1080, 844)
SCREENS = range(len(_WIDTHS))
"""The first is the one that a page is drawn for; on the others hidden text may be what fits in no longer."""


class Holds(IntEnum):
    """The least of several holds for all of them."""

    NEVER = 0
    PERHAPS = 1
    ALWAYS = 2


Condition = Sequence[Holds]
"""For each of the screens."""
ALWAYS: Condition = tuple(Holds.ALWAYS for _ in SCREENS)
_NEVER: Condition = tuple(Holds.NEVER for _ in SCREENS)
_PERHAPS: Condition = tuple(Holds.PERHAPS for _ in SCREENS)
_OF_RULES = {
    "@layer": ALWAYS, "@scope": _PERHAPS, "@supports": _PERHAPS, "@container": _PERHAPS,
}  # fmt: skip
_NAME = re.compile(r"@[a-z-]+")
_TYPES = {"all": True, "screen": True, "": True, "print": False, "speech": False}
_FEATURES = {
    "prefers-color-scheme:light": True, "prefers-color-scheme:dark": False, "hover:hover": True,
    "hover": True, "any-hover:hover": True, "pointer:fine": True, "any-pointer:fine": True,
    "pointer:coarse": False, "hover:none": False, "prefers-reduced-motion:reduce": False,
    "prefers-reduced-motion": False,
    "prefers-reduced-motion:no-preference": True, "forced-colors:active": False, "color": True,
    "prefers-contrast:more": False, "orientation:landscape": True, "orientation:portrait": False,
}  # fmt: skip
_LENGTH = r"(\d{1,6}(?:\.\d{0,6})?|\.\d{1,6})(px|r?em)?"
_BOUND = re.compile(rf"(?P<which>min|max)-(?:device-)?(?P<side>width|height):{_LENGTH}")
_COMPARED = re.compile(rf"(?P<side>width|height)(?P<sign>[<>]=?){_LENGTH}")
_PIXELS = {"px": 1.0, "em": 16.0, "rem": 16.0}


def condition_of(prelude: str) -> Condition:
    """When what stands in an at-rule holds; never where it is one that holds no rules for elements."""
    match = _NAME.match(prelude)
    name = match[0] if match else ""
    if name == "@media":
        queries = [_query(query) for query in prelude.removeprefix(name).split(",")]
        return tuple(map(max, zip(*queries, strict=True)))
    return _OF_RULES.get(name, _NEVER)


def both(first: Condition, second: Condition) -> Condition:
    """When both hold."""
    return tuple(map(min, zip(first, second, strict=True)))


def perhaps(condition: Condition) -> Condition:
    """The same, and not certainly."""
    return both(condition, _PERHAPS)


def _query(query: str) -> Condition:
    written = query.strip().removeprefix("only ").strip()
    is_negated = written.startswith("not ")
    features = [_feature(part) for part in re.split(r"\band\b", written.removeprefix("not "))]
    found = tuple(map(min, zip(*features, strict=True)))
    return tuple(Holds(Holds.ALWAYS - holds) for holds in found) if is_negated else found


def _feature(part: str) -> Condition:
    inner = re.sub(r"\s", "", part).strip("()")
    known = _TYPES.get(inner, _FEATURES.get(inner))
    if known is not None:
        return ALWAYS if known else _NEVER
    if match := _BOUND.fullmatch(inner):
        return _compared(match["side"], match["which"] == "min", match[3], match[4])
    if match := _COMPARED.fullmatch(inner):
        return _compared(match["side"], match["sign"][0] == ">", match[3], match[4])
    return _PERHAPS


def _compared(side: str, is_least: bool, number: str, unit: str | None) -> Condition:
    bound = float(number) * _PIXELS.get(unit or "px", 1.0)
    sizes = _WIDTHS if side == "width" else _HEIGHTS
    return tuple(
        Holds.ALWAYS if (size >= bound if is_least else size <= bound) else Holds.NEVER for size in sizes
    )
