"""The rules of a page's own style sheets, as far as they may hide text."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from eai.quarantine.html.declarations import Declarations, declarations, plain_css
from eai.quarantine.html.hiding import Hiding, hiding_of, is_tiny

_MEDIA = re.compile(r"@media\s+(?:only\s+)?(?:all|screen)\s*\Z")
_TRANSPARENT_RULES = ("@layer", "@supports", "@scope")
# What depends on what a reader does hides nothing for good.
_DYNAMIC = re.compile(r":(?:hover|focus|active|visited|target|checked|before|after|:|-)")
_SURROUNDED = ":has("
_LONGEST_SELECTOR = 200
_MOST_COMBINED = 6
_COMBINED = re.compile(r"[\s>+~]+")
_LISTS = re.compile(r":(?:is|where|not)\(")
_CLASSES = re.compile(r"[.\[:]")
_ELEMENTS = re.compile(r"(?:^|[\s>+~])[a-z]")
_IN_LIST = re.compile(r"[(),]")


class Rule(NamedTuple):
    """One selector with its declarations; the greater weight wins, then the later one."""

    selector: str
    weight: tuple[int, int, int]
    usual: Declarations
    important: Declarations

    @property
    def is_readable(self) -> bool:
        """Whether its selector may be looked for in time that a short one needs."""
        if len(self.selector) > _LONGEST_SELECTOR:
            return False
        if _SURROUNDED in self.selector:
            style = {**self.usual, **self.important}
            return hiding_of(style) is not Hiding.DECEPTIVE and not is_tiny(style)
        return len(_COMBINED.findall(self.selector)) <= _MOST_COMBINED

    @property
    def is_applied(self) -> bool:
        """Whether it is looked for: what surrounds others takes too long, and mostly waits for a click."""
        return self.is_readable and _SURROUNDED not in self.selector


class _Block(NamedTuple):
    """What stands before a pair of braces, with what stood before those around it; and what it declares."""

    selector: str
    applies: bool
    body: list[str]


def rules_of(css: str) -> Iterator[Rule]:
    """Rules in order; those of print and of other conditions are left out."""
    for prelude, block in _blocks(plain_css(css)):
        usual, important = declarations(block)
        if usual or important:
            for selector in _listed(prelude):
                if selector and not _DYNAMIC.search(selector):
                    yield Rule(selector, _weight(selector), usual, important)


def _blocks(css: str) -> Iterator[tuple[str, str]]:
    """The whole selector of each pair of braces, and what it declares itself, the innermost first."""
    opened: list[_Block] = []
    position = 0
    for match in re.finditer(r"[{}]", css):
        before = css[position : match.start()]
        position = match.end()
        if match[0] == "{":
            body, _, prelude = before.rpartition(";")
            outer = opened[-1] if opened else _Block("", applies=True, body=[])
            outer.body.append(body)
            opened.append(_inner(outer, prelude.strip()))
        elif opened:
            block = opened.pop()
            if block.applies and block.selector:
                yield block.selector, ";".join((*block.body, before))


def _inner(outer: _Block, prelude: str) -> _Block:
    if prelude.startswith("@"):
        return _Block(outer.selector, outer.applies and _applies(prelude), [])
    return _Block(_nested(outer.selector, prelude), outer.applies, [])


def _nested(outer: str, prelude: str) -> str:
    """The selector within that of the rule around it; one that grows too long is not read in any case."""
    if not outer:
        return prelude
    if len(outer) > _LONGEST_SELECTOR:
        return outer
    around = f":is({outer})" if "," in outer or _COMBINED.search(outer) else outer
    inner = (each if "&" in each else f"& {each}" for each in _listed(prelude))
    return ", ".join(each.replace("&", around, _MOST_COMBINED) for each in inner)


def _listed(selectors: str) -> Sequence[str]:
    """What commas part, but not those between parentheses."""
    parts, depth, start = [], 0, 0
    for match in _IN_LIST.finditer(selectors):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if match[0] == "," and depth <= 0:
            parts.append(selectors[start : match.start()].strip())
            start = match.end()
    return [*parts, selectors[start:].strip()]


def _applies(prelude: str) -> bool:
    if not prelude.startswith("@"):
        return True
    return prelude.startswith(_TRANSPARENT_RULES) or _MEDIA.match(prelude) is not None


def _weight(selector: str) -> tuple[int, int, int]:
    selector = _LISTS.sub("", selector)
    return selector.count("#"), len(_CLASSES.findall(selector)), len(_ELEMENTS.findall(selector))
