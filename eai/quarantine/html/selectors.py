"""Selectors taken apart, so that a page can be matched in one walk from its root."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from eai.quarantine.html.element import (
    BY_ATTRIBUTE,
    ESCAPED,
    NAMED,
    QUOTED,
    Test,
    UnreadableSelector,
    attribute,
    has_key,
    structural,
    unescaped,
)  # fmt: skip

LONGEST_SELECTOR = 200
_DEEPEST_LIST = 4
_TOKEN = re.compile(
    rf"(?P<combinator>\s*[>+~]\s*|\s+)|#(?P<id>{NAMED})|\.(?P<class>{NAMED})|(?P<tag>\*|{NAMED})"
    rf"|\[(?P<attribute>(?:{QUOTED}|[^\]\"])*)\]|:(?P<pseudo>:?[a-zA-Z-]+)(?P<opens>\()?"
)
_BRACKET = re.compile(rf"{QUOTED}|{ESCAPED}|[()]")
_IN_LIST = re.compile(rf"{QUOTED}|{ESCAPED}|[(),]")
_ANY_OF = frozenset({"is", "where", "matches", "any"})
# A page at rest: nobody points at anything. What is drawn beside the text hides none of it.
_NEVER = frozenset(
    "hover focus focus-within focus-visible active visited target target-within before after autofill".split()
    + "fullscreen modal popover-open user-valid user-invalid playing seeking buffering stalled".split()
)
_ALWAYS = frozenset({"defined", ":first-line", "first-line"})


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
        tests = [has_key(each) for each in self.keys if each not in {key, "*"}]
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

    def __init__(self, *, is_quirky: bool = False) -> None:
        self.parts: list[Part] = []
        self.is_certain = True
        self.is_known = True
        self._is_quirky = is_quirky

    def add(self, selector: str) -> int:
        """The number of the last part of a selector: whatever matches that, matches the selector.

        `is_certain` tells whether all of it was read; what was not is taken for true. `is_known` tells
        whether every browser reads it: otherwise a rule is none, with all of its selectors.
        """
        self.is_certain = self.is_known = True
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
                inner = inside(selector, position) if match["opens"] else ""
                position += len(inner) + 1 if match["opens"] else 0
                self._ask_pseudo(compound, match["pseudo"].lower(), inner.strip(), depth)
            else:
                self._ask(compound, match)
        return self._kept(compound.part(combinator, before))

    def _kept(self, part: Part) -> int:
        self.parts.append(part)
        return len(self.parts) - 1

    def _ask(self, compound: _Compound, match: re.Match[str]) -> None:
        if match["attribute"] is not None:
            compound.reads_attributes = True
            compound.tests.append(attribute(match["attribute"]))
        elif match["tag"]:
            compound.keys.append(unescaped(match["tag"]).lower())
        else:
            name = unescaped(match["id"] or match["class"])
            sign = "#" if match["id"] else "."
            compound.keys.append(sign + (name.lower() if self._is_quirky else name))

    def _ask_pseudo(self, compound: _Compound, name: str, inner: str, depth: int) -> None:
        if name in _ANY_OF or name == "not":
            self._ask_list(compound, inner, depth, is_wanted=name != "not")
        elif name in _ALWAYS:
            return
        elif name in _NEVER or name.startswith((":", "-")):
            self.is_known &= not name.lstrip(":").startswith(("-moz-", "-ms-", "-o-"))
            raise NeverMatched
        elif name in BY_ATTRIBUTE:
            wanted = BY_ATTRIBUTE[name]
            compound.tests.append(lambda element: any(each in element.attributes for each in wanted))
        elif (test := structural(name, inner.lower())) is not None:
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


def inside(selector: str, start: int) -> str:
    """What stands from there to the bracket that closes."""
    depth = 1
    for match in _BRACKET.finditer(selector, start):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if depth == 0:
            return selector[start : match.start()]
    raise UnreadableSelector


def _rank(key: str) -> int:
    return {"#": 3, ".": 2, "*": 0}.get(key[0], 1)
