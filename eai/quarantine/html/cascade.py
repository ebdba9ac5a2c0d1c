"""Which rules each element of a page matches, and what it is declared by all of them."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import NamedTuple

from selectolax.lexbor import LexborNode

from eai.quarantine.html.conditions import SCREENS, Condition, Holds, perhaps
from eai.quarantine.html.css import Declarations
from eai.quarantine.html.declarations import declarations, is_cut
from eai.quarantine.html.element import UnreadableSelector
from eai.quarantine.html.hiding import could_hide
from eai.quarantine.html.layers import Layer, Layers, reversed_layer
from eai.quarantine.html.matching import Walk
from eai.quarantine.html.selectors import NeverMatched, Selectors
from eai.quarantine.html.specificity import Weight, weight_of
from eai.quarantine.html.steps import Steps
from eai.quarantine.html.stylesheet import Rule, rules_of
from eai.quarantine.html.variables import resolved

_STEPS_OF_MATCH = 10
"""To match costs more than to try, and to read a rule as much."""
_LAID_IN_A_STEP = 4
_BACK = "revert-layer"
_WRONG = re.compile(r'[^"]*[;}]|\Z')
"""No selectors to any browser: what is left of a rule before them."""
_LEAST = (Holds.ALWAYS, Holds.PERHAPS)
_DOCTYPE = re.compile(r"(?is)\ufeff?(?:\s|<!--.*?-->)*+<!doctype\s+html\b(?P<rest>[^>]*)>")
_STANDARD = re.compile(
    r"(?is)\s*(?:system\s*[\"']about:legacy-compat[\"']\s*"
    r"|public\s*[\"']-//w3c//dtd (?:html 4\.0|html 4\.01|xhtml 1\.[01])(?:| strict| basic)//en[\"'].*"
    r"|public\s*[\"']-//w3c//dtd xhtml 1\.0.*"
    r"|public\s*[\"']-//w3c//dtd html 4\.01 (?:transitional|frameset)//en[\"']\s*[\"'].*)?"
)


class _Drawing(NamedTuple):
    """Which rules a page is drawn by: those that hold on a screen, at least so certainly."""

    screen: int = 0
    least: Holds = Holds.ALWAYS

    def holds(self, condition: Condition) -> bool:
        """Whether a rule of this condition is one of them."""
        return condition[self.screen] >= self.least


class _End(NamedTuple):
    """The last part of a selector, if it can be matched; and whether browsers surely read the selector."""

    number: int | None
    is_certain: bool = True


class _Match(NamedTuple):
    """A rule that an element matches, and all that decides whether it wins over another."""

    weight: Weight
    place: int
    layer: Layer
    rule: Rule


def is_quirky(source: str) -> bool:
    """Whether browsers draw the page as those of old did, for which no letters of a class differ."""
    match = _DOCTYPE.match(source)
    return match is None or _STANDARD.fullmatch(match["rest"]) is None


class Styles:
    """What the style sheets of a page say of it as it came: what is left out is a sibling too."""

    def __init__(self, root: LexborNode, sheets: Iterable[str], steps: Steps, *, is_quirky: bool) -> None:
        self._steps = steps
        self._has_unreadable = False
        self._matched: dict[int, list[_Match]] = {}
        self._conditions: set[Condition] = set()
        self._drawing = _Drawing()
        self._layers = Layers()
        selectors = Selectors(is_quirky=is_quirky)
        read = list(self._read(selectors, self._rules(sheets)))
        # How much a layer counts is known only when all are named.
        ends = {
            number: _Match(weight, place, self._layers.place(rule.layer), rule)
            for number, weight, place, rule in read
        }
        for node, numbers in Walk(selectors.parts, steps, is_quirky=is_quirky).through(root):
            for number in numbers & ends.keys():
                self._keep(node, ends[number])

    @property
    def are_unread(self) -> bool:
        """Whether anything was not applied that might hide text."""
        return self._has_unreadable or self._steps.are_spent

    def each_drawing(self) -> Iterator[int]:
        """Draw by other rules than before, once for each set of them, and tell for which screen."""
        drawn = {self._holding()}
        for self._drawing in (_Drawing(screen, least) for screen in SCREENS for least in _LEAST):
            holding = self._holding()
            if holding not in drawn:
                drawn.add(holding)
                yield self._drawing.screen

    def resolved(
        self,
        node: LexborNode,
        attributes: Mapping[str, str | None],
        outer: Declarations,
        parent: Declarations,
    ) -> tuple[Declarations, Declarations]:
        """The style of an element in that of its parent, and its variables, with those of `outer`."""
        style, variables = resolved(self._of(node, attributes), outer, parent, self._steps)
        self._has_unreadable |= is_cut(style)
        return style, variables

    def _holding(self) -> frozenset[Condition]:
        return frozenset(filter(self._drawing.holds, self._conditions))

    def _rules(self, sheets: Iterable[str]) -> Iterator[Rule]:
        for sheet in sheets:
            yield from rules_of(sheet, self._layers, self._steps)

    def _read(self, selectors: Selectors, rules: Iterable[Rule]) -> Iterator[tuple[int, Weight, int, Rule]]:
        """The last part of each selector that can be read, its weight and place, and its rule."""
        for place, rule in enumerate(rules):
            added = [self._added(selectors, selector, rule) for selector in rule.selectors]
            is_certain = all(end.is_certain for end in added)
            kept = rule if is_certain else rule._replace(condition=perhaps(rule.condition))
            for end, selector in zip(added, rule.selectors, strict=True):
                if end.number is not None:
                    yield end.number, weight_of(selector), place, kept

    def _added(self, selectors: Selectors, selector: str, rule: Rule) -> _End:
        if not self._steps.take(_STEPS_OF_MATCH + len(selector)):
            return _End(None)
        if _WRONG.match(selector):
            return _End(None, is_certain=False)
        try:
            number = selectors.add(selector)
        except NeverMatched:
            return _End(None, is_certain=selectors.is_known)
        except UnreadableSelector:
            self._has_unreadable |= could_hide({**rule.usual, **rule.important})
            return _End(None, is_certain=False)
        return _End(number, is_certain=selectors.is_certain and selectors.is_known)

    def _keep(self, node: LexborNode, match: _Match) -> None:
        declared = len(match.rule.usual) + len(match.rule.important)
        if self._steps.take(_STEPS_OF_MATCH + declared // _LAID_IN_A_STEP):
            self._matched.setdefault(node.mem_id, []).append(match)
            self._conditions.add(match.rule.condition)

    def _of(self, node: LexborNode, attributes: Mapping[str, str | None]) -> Declarations:
        """Everything declared for the element, the strongest last."""
        matches = self._matched.get(node.mem_id, ())
        held = [match for match in matches if self._drawing.holds(match.rule.condition)]
        written = attributes.get("style")
        if not held and not written:
            return {}
        inline = declarations(written or "")
        style: dict[str, str] = {}
        for layer in _layered(held):
            _lay(style, [match.rule.usual for match in layer])
        _lay(style, [inline.usual])
        for layer in _layered(held, is_reversed=True):
            _lay(style, [match.rule.important for match in layer])
        _lay(style, [inline.important])
        return style


def _layered(matches: Sequence[_Match], *, is_reversed: bool = False) -> Iterator[Sequence[_Match]]:
    """Those of each layer, the strongest layer and match last."""

    def place(match: _Match) -> Layer:
        return reversed_layer(match.layer) if is_reversed else match.layer

    ordered = sorted(matches, key=lambda match: (place(match), match.weight, match.place))
    return (list(layer) for _, layer in groupby(ordered, key=place))


def _lay(style: dict[str, str], layer: Iterable[Declarations]) -> None:
    """Over what was said in the layers below, to which each may go back."""
    below = dict(style)
    for declared in layer:
        for name, value in declared.items():
            if value != _BACK:
                style[name] = value
            elif name in below:
                style[name] = below[name]
            else:
                style.pop(name, None)
