"""Selectors taken apart, so that a page can be matched in one walk from its root."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

LONGEST_SELECTOR = 200
_DEEPEST_LIST = 4
_NAMED = r"(?:[\w-]|[^\x00-\x7f]|\\[^\n])+"
_TOKEN = re.compile(
    rf"(?P<combinator>\s*[>+~]\s*|\s+)|#(?P<id>{_NAMED})|\.(?P<class>{_NAMED})|(?P<tag>\*|{_NAMED})"
    r"|\[(?P<attribute>(?:\"[^\"]*\"|'[^']*'|[^\]\"'])*)\]|:(?P<pseudo>:?[a-z-]+)(?P<opens>\()?"
)
_ATTRIBUTE = re.compile(
    rf"\s*(?P<name>{_NAMED})\s*(?:(?P<sign>[~|^$*]?=)\s*(?P<value>\"[^\"]*\"|'[^']*'|[^\s\"']+)\s*(?:\s[is])?\s*)?"
)
_NTH = re.compile(r"(?P<step>[+-]?\d{0,6})n(?:(?P<start>[+-]\d{1,6}))?|(?P<only>[+-]?\d{1,6})")
_PARITY = {"odd": "2n+1", "even": "2n"}
_BRACKET = re.compile(r"[()]")
_IN_LIST = re.compile(r"[(),]")
_ANY_OF = frozenset({"is", "where", "matches", "any"})
# A page at rest: nobody points at anything. What is drawn beside the text hides none of it.
_NEVER = frozenset(
    "hover focus focus-within focus-visible active visited target target-within before after autofill".split()
    + "fullscreen modal popover-open user-valid user-invalid playing seeking buffering stalled".split()
)
_ALWAYS = frozenset({"defined", ":first-line", "first-line"})
_ATTRIBUTES = {
    "checked": ("checked", "selected"), "disabled": ("disabled",), "link": ("href",), "any-link": ("href",),
    "required": ("required",), "read-only": ("readonly",),
}  # fmt: skip


@dataclass(slots=True)
class Element:
    """What a part of a selector asks of an element."""

    tag: str
    attributes: Mapping[str, str | None]
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
        own = ("*", self.tag)
        name = (self.attributes.get("id") or "").lower()
        classes = dict.fromkeys((self.attributes.get("class") or "").lower().split())
        return (*own, *([f"#{name}"] if name else ()), *(f".{each}" for each in classes))


Test = Callable[[Element], bool]


class Part(NamedTuple):
    """What is asked of one element, and how the part before it must be matched.

    Elements without `key` are not asked. `steps` is what asking costs.
    """

    key: str
    tests: Sequence[Test]
    steps: int
    reads_attributes: bool
    combinator: str
    before: int


class UnreadableSelector(Exception):
    """A selector that is too long, or that nothing here can read."""


class NeverMatched(Exception):
    """A selector that needs a reader who does something."""


@dataclass(slots=True)
class _Compound:
    """A part while it is read."""

    keys: list[str] = field(default_factory=list)
    tests: list[Test] = field(default_factory=list)
    steps: int = 1
    reads_attributes: bool = False
    is_empty: bool = True

    def part(self, combinator: str, before: int) -> Part:
        if self.is_empty:
            raise UnreadableSelector
        key = max(self.keys, key=_rank, default="*")
        tests = [_has_key(each) for each in self.keys if each not in {key, "*"}]
        return Part(
            key,
            (*tests, *self.tests),
            self.steps + len(self.keys),
            self.reads_attributes or any(each[0] in "#." for each in self.keys if each != key),
            combinator,
            before,
        )


class Selectors:
    """All parts of many selectors; those that others ask for come first."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.is_certain = True

    def add(self, selector: str) -> int:
        """The number of the last part of a selector: whatever matches that, matches the selector.

        `is_certain` tells whether all of it was read; what was not is taken for true.
        """
        self.is_certain = True
        if len(selector) > LONGEST_SELECTOR:
            raise UnreadableSelector
        return self._added(selector.strip(), 0)

    def _added(self, selector: str, depth: int) -> int:
        if depth > _DEEPEST_LIST:
            raise UnreadableSelector
        compound, combinator, before, position = _Compound(), "", -1, 0
        while position < len(selector):
            match = _TOKEN.match(selector, position)
            if match is None:
                raise UnreadableSelector
            position = match.end()
            if match["combinator"]:
                before = self._kept(compound.part(combinator, before))
                compound, combinator = _Compound(), match["combinator"].strip() or " "
                continue
            compound.is_empty = False
            if match["pseudo"]:
                inner = _inside(selector, position) if match["opens"] else ""
                position += len(inner) + 1 if match["opens"] else 0
                self._ask_pseudo(compound, match["pseudo"], inner.strip(), depth)
            else:
                _ask(compound, match)
        return self._kept(compound.part(combinator, before))

    def _kept(self, part: Part) -> int:
        self.parts.append(part)
        return len(self.parts) - 1

    def _ask_pseudo(self, compound: _Compound, name: str, inner: str, depth: int) -> None:
        if name in _ANY_OF or name == "not":
            self._ask_list(compound, inner, depth, is_wanted=name != "not")
        elif name in _ALWAYS:
            return
        elif name in _NEVER or name.startswith((":", "-")):
            raise NeverMatched
        elif name in _ATTRIBUTES:
            wanted = _ATTRIBUTES[name]
            compound.tests.append(lambda element: any(each in element.attributes for each in wanted))
        elif (test := _structural(name, inner)) is not None:
            compound.tests.append(test)
        else:
            self.is_certain = False

    def _ask_list(self, compound: _Compound, inner: str, depth: int, *, is_wanted: bool) -> None:
        was_certain, self.is_certain = self.is_certain, True
        numbers = []
        for each in listed(inner):
            try:
                numbers.append(self._added(each, depth + 1))
            except NeverMatched:
                continue
        is_read, self.is_certain = self.is_certain, self.is_certain and was_certain
        if is_wanted and not numbers:
            raise NeverMatched
        if is_wanted or is_read:
            wanted = frozenset(numbers)
            compound.steps += 1
            compound.tests.append(lambda element: element.matched.isdisjoint(wanted) is not is_wanted)


def listed(selectors: str) -> Sequence[str]:
    """What commas part, but not those between parentheses."""
    parts, depth, start = [], 0, 0
    for match in _IN_LIST.finditer(selectors):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if match[0] == "," and depth <= 0:
            parts.append(selectors[start : match.start()].strip())
            start = match.end()
    return [*parts, selectors[start:].strip()]


def _inside(selector: str, start: int) -> str:
    """What stands from there to the bracket that closes."""
    depth = 1
    for match in _BRACKET.finditer(selector, start):
        depth += 1 if match[0] == "(" else -1
        if depth == 0:
            return selector[start : match.start()]
    raise UnreadableSelector


def _rank(key: str) -> int:
    return {"#": 3, ".": 2, "*": 0}.get(key[0], 1)


def _has_key(key: str) -> Test:
    if key[0] == "#":
        return lambda element: (element.attributes.get("id") or "").lower() == key[1:]
    if key[0] == ".":
        return lambda element: key[1:] in (element.attributes.get("class") or "").lower().split()
    return lambda element: element.tag == key


def _ask(compound: _Compound, match: re.Match[str]) -> None:
    if match["attribute"] is not None:
        compound.reads_attributes = True
        compound.tests.append(_attribute(match["attribute"]))
    elif match["id"] or match["class"]:
        compound.keys.append(("#" if match["id"] else ".") + _unescaped(match["id"] or match["class"]))
    else:
        compound.keys.append(_unescaped(match["tag"]))


def _unescaped(name: str) -> str:
    return re.sub(r"\\(.)", r"\1", name)


def _attribute(written: str) -> Test:
    match = _ATTRIBUTE.fullmatch(written)
    if match is None:
        raise UnreadableSelector
    name = _unescaped(match["name"])
    if match["sign"] is None:
        return lambda element: name in element.attributes
    wanted, compare = match["value"].strip("\"'"), _COMPARED[match["sign"]]
    return lambda element: (
        name in element.attributes and compare((element.attributes[name] or "").lower(), wanted)
    )


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


def _structural(name: str, inner: str) -> Test | None:
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
