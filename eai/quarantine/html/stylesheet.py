"""The rules of a page's own style sheets, as far as they may hide text."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from eai.quarantine.html.declarations import Declarations, declarations, plain_css

_MEDIA = re.compile(r"@media\s+(?:only\s+)?(?:all|screen)\s*\Z")
_TRANSPARENT_RULES = ("@layer", "@supports", "@scope")
# What depends on what a reader does hides nothing for good.
_DYNAMIC = re.compile(r":(?:hover|focus|active|visited|target|checked|before|after|:|not|is|where|has|-)")
_LONGEST_SELECTOR = 200
_MOST_COMBINED = 6
_COMBINED = re.compile(r"[\s>+~]+")
_CLASSES = re.compile(r"[.\[:]")
_ELEMENTS = re.compile(r"(?:^|[\s>+~])[a-z]")


class Rule(NamedTuple):
    """One selector with its declarations; the greater weight wins, then the later one."""

    selector: str
    weight: tuple[int, int, int]
    usual: Declarations
    important: Declarations


def rules_of(css: str) -> Iterator[Rule]:
    """Rules in order; those of print and of other conditions are left out."""
    for prelude, block in _blocks(plain_css(css)):
        usual, important = declarations(block)
        if usual or important:
            for selector in map(str.strip, prelude.split(",")):
                if _is_plain(selector):
                    yield Rule(selector, _weight(selector), usual, important)


def _blocks(css: str) -> Iterator[tuple[str, str]]:
    """What stands before each innermost pair of braces, and in it."""
    opened: list[tuple[str, bool]] = []
    position = 0
    for match in re.finditer(r"[{}]", css):
        before = css[position : match.start()]
        position = match.end()
        if match[0] == "{":
            prelude = before.rpartition(";")[2].strip()
            opened.append((prelude, _applies(prelude) and (not opened or opened[-1][1])))
        elif opened:
            prelude, applies = opened.pop()
            if applies and not prelude.startswith("@"):
                yield prelude, before


def _applies(prelude: str) -> bool:
    if not prelude.startswith("@"):
        return True
    return prelude.startswith(_TRANSPARENT_RULES) or _MEDIA.match(prelude) is not None


def _is_plain(selector: str) -> bool:
    """Whether it may be looked for in time that a short selector needs."""
    if not selector or len(selector) > _LONGEST_SELECTOR or _DYNAMIC.search(selector):
        return False
    return len(_COMBINED.findall(selector)) <= _MOST_COMBINED


def _weight(selector: str) -> tuple[int, int, int]:
    return selector.count("#"), len(_CLASSES.findall(selector)), len(_ELEMENTS.findall(selector))
