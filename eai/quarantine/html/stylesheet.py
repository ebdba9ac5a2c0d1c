"""The rules of a page's own style sheets, as far as they may hide text."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from eai.quarantine.html.conditions import ALWAYS, Condition, Holds, both, condition_of
from eai.quarantine.html.declarations import Declarations, declarations, plain_css
from eai.quarantine.html.selectors import LONGEST_SELECTOR, listed

_MOST_NESTED = 6
_TOO_LONG = "!"
"""What no selector is: it stands for one that grew too long, and is read by nobody."""
_COMBINED = re.compile(r"[\s>+~]+")
_LISTS = re.compile(r":(?:is|where|not)\(")
_CLASSES = re.compile(r"[.\[:]")
_ELEMENTS = re.compile(r"(?:^|[\s>+~])[a-z]")


class Rule(NamedTuple):
    """One selector with its declarations; the greater weight wins, then the later one."""

    selector: str
    weight: tuple[int, int, int]
    usual: Declarations
    important: Declarations
    condition: Condition


class _Block(NamedTuple):
    """What stands before a pair of braces, with what stood before those around it; and what it declares."""

    selector: str
    condition: Condition
    body: list[str]


def rules_of(css: str) -> Iterator[Rule]:
    """Rules in order; those that never hold, as those of print, are left out."""
    for prelude, block, condition in _blocks(plain_css(css)):
        usual, important = declarations(block)
        if usual or important:
            for selector in listed(prelude):
                if selector:
                    yield Rule(selector, _weight(selector), usual, important, condition)


def _blocks(css: str) -> Iterator[tuple[str, str, Condition]]:
    """The whole selector of each pair of braces, what it declares itself, and when; the innermost first."""
    opened: list[_Block] = []
    position = 0
    for match in re.finditer(r"[{}]", css):
        before = css[position : match.start()]
        position = match.end()
        if match[0] == "{":
            body, _, prelude = before.rpartition(";")
            outer = opened[-1] if opened else _Block("", ALWAYS, body=[])
            outer.body.append(body)
            opened.append(_inner(outer, prelude.strip()))
        elif opened:
            block = opened.pop()
            if block.selector and max(block.condition) > Holds.NEVER:
                yield block.selector, ";".join((*block.body, before)), block.condition


def _inner(outer: _Block, prelude: str) -> _Block:
    if prelude.startswith("@"):
        return _Block(outer.selector, both(outer.condition, condition_of(prelude)), [])
    return _Block(_nested(outer.selector, prelude), outer.condition, [])


def _nested(outer: str, prelude: str) -> str:
    """The selector within that of the rule around it."""
    if not outer:
        return prelude
    if len(outer) > LONGEST_SELECTOR:
        return _TOO_LONG
    around = f":is({outer})" if "," in outer or _COMBINED.search(outer) else outer
    inner = (each if "&" in each else f"& {each}" for each in listed(prelude))
    whole = (each.replace("&", around, _MOST_NESTED) for each in inner)
    return ", ".join(each if len(each) <= LONGEST_SELECTOR else _TOO_LONG for each in whole)


def _weight(selector: str) -> tuple[int, int, int]:
    selector = _LISTS.sub("", selector)
    return selector.count("#"), len(_CLASSES.findall(selector)), len(_ELEMENTS.findall(selector))
