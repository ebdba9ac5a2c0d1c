"""Which elements of a page match which selectors, in one walk.

An element matches a part of a selector where it has what the part asks for, and the part before was matched
by an ancestor, its parent or an earlier sibling. All of these were met before, and what they matched is kept:
nothing is ever tried again, so the work is at most parts times elements, and no more than there are steps.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from selectolax.lexbor import LexborNode

from eai.quarantine.html.element import Element
from eai.quarantine.html.selectors import Part
from eai.quarantine.html.steps import Steps

_PER_STEP = 64
"""So many characters of attributes are looked through in a step."""
_NOTHING: AbstractSet[int] = frozenset()


@dataclass(slots=True)
class _Family:
    """The children of one element, and what those that were met have matched."""

    children: Iterator[tuple[LexborNode, Element]]
    of_parent: AbstractSet[int] = _NOTHING
    of_earlier: set[int] = field(default_factory=set)
    of_previous: AbstractSet[int] = _NOTHING


class Walk:
    """Goes through a page once, as long as there are steps."""

    def __init__(self, parts: Sequence[Part], steps: Steps, *, is_quirky: bool = False) -> None:
        self._parts, self._steps, self._is_quirky = parts, steps, is_quirky
        self._above = [0] * len(parts)
        self._by_key: dict[str, list[int]] = defaultdict(list)
        for number, part in enumerate(parts):
            self._by_key[part.key].append(number)

    def through(self, root: LexborNode) -> Iterator[tuple[LexborNode, AbstractSet[int]]]:
        """Each element in order, and the numbers of the parts it matches."""
        families = [_Family(iter([(root, self._root(root))]))]
        while families:
            family = families[-1]
            met = next(family.children, None)
            if met is None:
                self._count(family.of_parent, -1)
                families.pop()
                continue
            node, element = met
            self._ask(element, family)
            if self._steps.are_spent:
                return
            yield node, element.matched
            family.of_earlier |= element.matched
            family.of_previous = element.matched
            if not element.is_empty:
                self._count(element.matched, 1)
                families.append(_Family(_children(node, is_quirky=self._is_quirky), element.matched))

    def _root(self, node: LexborNode) -> Element:
        element = _element(node, is_quirky=self._is_quirky)
        element.is_root = True
        return element

    def _count(self, numbers: AbstractSet[int], by: int) -> None:
        for number in numbers:
            self._above[number] += by

    def _ask(self, element: Element, family: _Family) -> None:
        """Find what the element matches; lists within parts have lower numbers than those parts."""
        size = sum(len(value or "") for value in element.attributes.values()) // _PER_STEP
        for number in sorted(number for key in element.keys for number in self._by_key.get(key, ())):
            part = self._parts[number]
            if not self._steps.take(part.steps * (1 + size * part.reads_attributes)):
                return
            if self._is_bound(part, family) and all(test(element) for test in part.tests):
                element.matched.add(number)

    def _is_bound(self, part: Part, family: _Family) -> bool:
        match part.combinator:
            case " ":
                return self._above[part.before] > 0
            case ">":
                return part.before in family.of_parent
            case "~":
                return part.before in family.of_earlier
            case "+":
                return part.before in family.of_previous
            case _:
                return True


def _element(node: LexborNode, *, is_quirky: bool) -> Element:
    element = Element.of(node.tag or "", node.attributes, is_quirky=is_quirky)
    element.is_empty = not any(not child.is_comment_node for child in node.iter(include_text=True))
    return element


def _children(node: LexborNode, *, is_quirky: bool) -> Iterator[tuple[LexborNode, Element]]:
    nodes = [child for child in node.iter() if child.is_element_node]
    of_tag = Counter(child.tag for child in nodes)
    met: Counter[str | None] = Counter()
    for place, child in enumerate(nodes):
        element = _element(child, is_quirky=is_quirky)
        element.place, element.siblings = place, len(nodes)
        element.place_of_tag, element.siblings_of_tag = met[child.tag], of_tag[child.tag]
        met[child.tag] += 1
        yield child, element
