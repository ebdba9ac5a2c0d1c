"""What is asked of an element of a page, and how it answers."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

ESCAPED = r"\\[0-9a-fA-F]{1,6}\s?|\\[^\n]"
QUOTED = r"\"(?:[^\"\\]|\\.)*\""
NAMED = rf"(?:[\w-]|[^\x00-\x7f]|{ESCAPED})+"
_ATTRIBUTE = re.compile(
    rf"\s*(?P<name>{NAMED})\s*(?:(?P<sign>[~|^$*]?=)\s*(?P<value>{QUOTED}|[^\s\"]+)\s*(?P<flag>[isIS])?\s*)?"
)
_NTH = re.compile(r"(?P<step>[+-]?\d{0,6})n(?:(?P<start>[+-]\d{1,6}))?|(?P<only>[+-]?\d{1,6})")
_PARITY = {"odd": "2n+1", "even": "2n"}
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))", re.DOTALL)
_FOLDED = frozenset(
    "accept accept-charset align alink axis bgcolor charset checked clear codetype color compact".split()
    + "declare defer dir direction disabled enctype face frame hreflang http-equiv lang language".split()
    + "link media method multiple nohref noresize noshade nowrap readonly rel rev rules scope".split()
    + "scrolling selected shape target text type valign valuetype vlink".split()
)
"""Attributes whose values are the same in all letters, as HTML says."""


BY_ATTRIBUTE = {
    "checked": ("checked", "selected"), "disabled": ("disabled",), "link": ("href",), "any-link": ("href",),
    "required": ("required",), "read-only": ("readonly",),
}  # fmt: skip


@dataclass(slots=True)
class Element:
    """What a part of a selector asks of an element."""

    tag: str
    attributes: Mapping[str, str | None]
    name: str = ""
    classes: Sequence[str] = ()
    place: int = 0
    siblings: int = 1
    place_of_tag: int = 0
    siblings_of_tag: int = 1
    is_root: bool = False
    is_empty: bool = False
    matched: set[int] = field(default_factory=set)

    @property
    def keys(self) -> Sequence[str]:
        """Under which parts are kept that it may match."""
        name = (f"#{self.name}",) if self.name else ()
        return ("*", self.tag, *name, *(f".{each}" for each in self.classes))

    @classmethod
    def of(cls, tag: str, attributes: Mapping[str, str | None], *, is_quirky: bool) -> "Element":
        """With its id and classes, in small letters where no letters differ."""
        name, classes = attributes.get("id") or "", attributes.get("class") or ""
        if is_quirky:
            name, classes = name.lower(), classes.lower()
        return cls(tag, attributes, name, tuple(dict.fromkeys(classes.split())))


Test = Callable[[Element], bool]


class UnreadableSelector(Exception):
    """A selector that is too long, or that nothing here can read."""


def has_key(key: str) -> Test:
    """Whether it is of a tag, a class or an id."""
    if key[0] == "#":
        return lambda element: element.name == key[1:]
    if key[0] == ".":
        return lambda element: key[1:] in element.classes
    return lambda element: element.tag == key


def unescaped(name: str) -> str:
    """A name as it is meant."""
    return _ESCAPE.sub(lambda match: match[2] or chr(min(int(match[1], 16), 0x10FFFF)), name)


def attribute(written: str) -> Test:
    """What stands between square brackets."""
    match = _ATTRIBUTE.fullmatch(written)
    if match is None:
        raise UnreadableSelector
    name = unescaped(match["name"]).lower()
    if match["sign"] is None:
        return lambda element: name in element.attributes
    value = match["value"]
    wanted = unescaped(value[1:-1] if value.startswith('"') else value)
    compare = _COMPARED[match["sign"]]
    flag = (match["flag"] or "").lower()
    if flag == "i" or (name in _FOLDED and flag != "s"):
        return lambda element: (
            name in element.attributes and compare((element.attributes[name] or "").lower(), wanted.lower())
        )
    return lambda element: name in element.attributes and compare(element.attributes[name] or "", wanted)


_COMPARED: Mapping[str, Callable[[str, str], bool]] = {
    "=": lambda value, wanted: value == wanted,
    "~=": lambda value, wanted: wanted in value.split(),
    "|=": lambda value, wanted: value == wanted or value.startswith(f"{wanted}-"),
    "^=": lambda value, wanted: bool(wanted) and value.startswith(wanted),
    "$=": lambda value, wanted: bool(wanted) and value.endswith(wanted),
    "*=": lambda value, wanted: bool(wanted) and wanted in value,
}
_SIMPLE: Mapping[str, Test] = {
    "root": lambda element: element.is_root,
    "scope": lambda element: element.is_root,
    "empty": lambda element: element.is_empty,
    "first-child": lambda element: element.place == 0,
    "last-child": lambda element: element.place == element.siblings - 1,
    "only-child": lambda element: element.siblings == 1,
    "first-of-type": lambda element: element.place_of_tag == 0,
    "last-of-type": lambda element: element.place_of_tag == element.siblings_of_tag - 1,
    "only-of-type": lambda element: element.siblings_of_tag == 1,
}
_COUNTED: Mapping[str, Callable[[Element], int]] = {
    "nth-child": lambda element: element.place + 1,
    "nth-last-child": lambda element: element.siblings - element.place,
    "nth-of-type": lambda element: element.place_of_tag + 1,
    "nth-last-of-type": lambda element: element.siblings_of_tag - element.place_of_tag,
}


def structural(name: str, inner: str) -> Test | None:
    """What is asked of the place among others; None where it is something else."""
    if not inner:
        return _SIMPLE.get(name)
    match = _NTH.fullmatch(re.sub(r"\s", "", _PARITY.get(inner, inner)))
    if match is None or (count := _COUNTED.get(name)) is None:
        return None
    if match["only"]:
        only = int(match["only"])
        return lambda element: count(element) == only
    written = match["step"]
    step = int(written) if written.lstrip("+-") else int(f"{written}1")
    start = int(match["start"] or 0)
    return lambda element: _is_reached(count(element) - start, step)


def _is_reached(distance: int, step: int) -> bool:
    return distance == 0 if step == 0 else distance % step == 0 and distance // step >= 0
