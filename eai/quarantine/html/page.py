"""A page's text as it is drawn: which of it is unseen, and why."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from eai.quarantine.html.colours import BLACK, WHITE, Colour, colour_in
from eai.quarantine.html.conditions import SCREENS, Condition, Holds, perhaps
from eai.quarantine.html.declarations import Declarations, declarations, is_cut, plain_css, resolved
from eai.quarantine.html.hiding import Hiding, could_hide, hiding_of, is_tiny
from eai.quarantine.html.matching import Walk
from eai.quarantine.html.selectors import NeverMatched, Selectors, UnreadableSelector
from eai.quarantine.html.steps import Steps
from eai.quarantine.html.stylesheet import Rule, rules_of

NOT_EXTRACTED = "script, style, noscript, template, head, iframe, object, svg"
"""What extraction leaves out; a test holds both against each other."""

_STEPS_OF_MATCH = 10
"""To match costs more than to try, and to read a rule as much."""
_INTERFACE_TAGS = frozenset(
    {"nav", "dialog", "button", "label", "menu", "select", "datalist", "audio", "video", "canvas"}
)
_INTERFACE_ROLES = frozenset(
    {"dialog", "alertdialog", "menu", "alert", "tooltip", "navigation", "status", "tabpanel"}
)
_FOR_SCREEN_READERS = ("sr-only", "visually-hidden", "screen-reader", "visuallyhidden", "screenreader")
_CLOSED = frozenset(
    {"datalist", "audio", "video", "canvas", "noframes", "noembed", "progress", "meter", "rp"}
)
_IMPORTS = re.compile(r"(?i)@import\b")
_DIGITS = re.compile(r"(?i)[0-9a-f]{3}|[0-9a-f]{6}")
_RIGHT = "-webkit-text-fill-color"


@dataclass(frozen=True, slots=True)
class Drawn:
    """How the text of an element is drawn, as far as its children inherit it."""

    colour: Colour | None = BLACK
    behind: Colour | None = WHITE
    is_tiny: bool = False
    is_invisible: bool = False
    hiding: Hiding | None = None
    is_interface: bool = False
    variables: Declarations = field(default_factory=dict)

    @property
    def unseen(self) -> Hiding | None:
        """Why nobody sees text drawn so; None where it is seen."""
        if self.hiding is Hiding.DECEPTIVE or self.is_tiny or self._has_no_contrast:
            return Hiding.DECEPTIVE
        return Hiding.WAITING if self.is_invisible else self.hiding

    @property
    def _has_no_contrast(self) -> bool:
        if self.colour is None:
            return False
        return self.colour.is_transparent or (self.behind is not None and self.colour.is_like(self.behind))


class Text(NamedTuple):
    """One text of the page in its order, and how it is drawn."""

    words: str
    drawn: Drawn


@dataclass(frozen=True, slots=True)
class Page:
    """The texts that extraction takes, and whether any style was not applied: the page's own, or others."""

    texts: Sequence[Text]
    has_unread_styles: bool = False
    has_styles_elsewhere: bool = False


def read_page(source: str) -> Page:
    """Draw the page as far as seeing or not seeing text is concerned."""
    tree = LexborHTMLParser(source)
    sheets = [node.text(deep=True) for node in tree.css("style")]
    is_elsewhere = any(_is_sheet(node) for node in tree.css("link")) or any(map(_IMPORTS.search, sheets))
    if tree.root is None:
        return Page(())
    styles = _Styles(tree.root, (rule for sheet in sheets for rule in rules_of(sheet)), Steps())
    for node in tree.css(NOT_EXTRACTED):
        node.decompose()
    texts = _drawn_texts(tree.root, styles)
    return Page(texts, styles.are_unread, is_elsewhere)


def _drawn_texts(root: LexborNode, styles: "_Styles") -> Sequence[Text]:
    """As the page is certainly drawn on the first screen, and as it may hide a text otherwise."""
    texts = list(_texts(root, styles))
    for screen in styles.each_drawing():
        for place, other in enumerate(_texts(root, styles)):
            is_unseen = other.drawn.unseen is not None if screen == 0 else _deceives(other)
            if is_unseen and texts[place].drawn.unseen is None:
                texts[place] = other
    return tuple(texts)


def _deceives(text: Text) -> bool:
    """What is merely not displayed on another screen is there for this one."""
    return text.drawn.unseen is Hiding.DECEPTIVE


def _is_sheet(link: LexborNode) -> bool:
    return "stylesheet" in (link.attributes.get("rel") or "").lower().split()


_LEAST = (Holds.ALWAYS, Holds.PERHAPS)


class _Drawing(NamedTuple):
    """Which rules a page is drawn by: those that hold on a screen, at least so certainly."""

    screen: int = 0
    least: Holds = Holds.ALWAYS

    def holds(self, condition: Condition) -> bool:
        """Whether a rule of this condition is one of them."""
        return condition[self.screen] >= self.least


class _Styles:
    """Which rules each element matches in the page as it came: what is left out is a sibling too."""

    def __init__(self, root: LexborNode, rules: Iterable[Rule], steps: Steps) -> None:
        self._steps = steps
        self._has_unreadable = False
        self._matched: dict[int, list[tuple[tuple[int, int, int], int, Rule]]] = {}
        self._conditions: set[Condition] = set()
        self._drawing = _Drawing()
        selectors = Selectors()
        ends = {number: (place, rule) for number, place, rule in self._ends(selectors, rules)}
        for node, numbers in Walk(selectors.parts, steps).through(root):
            for number in numbers & ends.keys():
                self._keep(node, *ends[number])

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

    def _holding(self) -> frozenset[Condition]:
        return frozenset(filter(self._drawing.holds, self._conditions))

    def _ends(self, selectors: Selectors, rules: Iterable[Rule]) -> Iterator[tuple[int, int, Rule]]:
        """The last part of each rule that can be read, its place among the others, and the rule."""
        for place, rule in enumerate(rules):
            if not self._steps.take(_STEPS_OF_MATCH + len(rule.selector)):
                return
            try:
                number = selectors.add(rule.selector)
            except NeverMatched:
                continue
            except UnreadableSelector:
                self._has_unreadable |= could_hide({**rule.usual, **rule.important})
                continue
            is_certain = selectors.is_certain
            yield number, place, rule if is_certain else rule._replace(condition=perhaps(rule.condition))

    def _keep(self, node: LexborNode, place: int, rule: Rule) -> None:
        if self._steps.take(_STEPS_OF_MATCH + len(rule.usual) + len(rule.important)):
            self._matched.setdefault(node.mem_id, []).append((rule.weight, place, rule))
            self._conditions.add(rule.condition)

    def resolved(
        self, node: LexborNode, attributes: Mapping[str, str | None], outer: Declarations
    ) -> tuple[Declarations, Declarations]:
        """The style of an element and its variables, with those of `outer`."""
        style, variables = resolved(self._of(node, attributes), outer, self._steps)
        self._has_unreadable |= is_cut(style)
        return style, variables

    def _of(self, node: LexborNode, attributes: Mapping[str, str | None]) -> Declarations:
        """Everything declared for the element, the strongest last."""
        ordered = sorted(self._matched.get(node.mem_id, ()), key=lambda match: match[:2])
        rules = [rule for *_, rule in ordered if self._drawing.holds(rule.condition)]
        inline, important = declarations(plain_css(attributes.get("style") or ""))
        style: dict[str, str] = {}
        for layer in (
            *(rule.usual for rule in rules),
            inline,
            *(rule.important for rule in rules),
            important,
        ):
            style.update(layer)
        return style


def _texts(root: LexborNode, styles: _Styles) -> Iterator[Text]:
    waiting: list[tuple[LexborNode, Drawn]] = [(root, Drawn())]
    while waiting:
        node, drawn = waiting.pop()
        if node.is_text_node:
            yield Text(node.text_content or "", drawn)
        elif node.is_element_node:
            inner = _drawn(node, drawn, styles)
            waiting += [(child, inner) for child in _children(node)]


def _children(node: LexborNode) -> Iterator[LexborNode]:
    """The last first, as a stack wants them."""
    child = node.last_child
    while child is not None:
        yield child
        child = child.prev


def _drawn(node: LexborNode, outer: Drawn, styles: _Styles) -> Drawn:
    attributes = node.attributes
    style, variables = styles.resolved(node, attributes, outer.variables)
    if not attributes and not style and variables is outer.variables and node.tag not in _INTERFACE_TAGS:
        return outer
    tiny = is_tiny(style)
    return Drawn(
        colour=_colour(style, attributes, outer),
        behind=_behind(style, attributes, outer),
        is_tiny=outer.is_tiny if tiny is None else tiny,
        is_invisible=_is_invisible(style, outer),
        hiding=_hiding(node, style, attributes, outer),
        is_interface=outer.is_interface or _is_interface(node, attributes),
        variables=variables,
    )


def _hiding(
    node: LexborNode, style: Declarations, attributes: Mapping[str, str | None], outer: Drawn
) -> Hiding | None:
    own = hiding_of(style)
    if own is None and ("hidden" in attributes or node.tag in _CLOSED or _is_closed_dialog(node, attributes)):
        own = Hiding.WAITING
    if own is Hiding.DECEPTIVE and any(
        name in (attributes.get("class") or "") for name in _FOR_SCREEN_READERS
    ):
        own = Hiding.WAITING
    return outer.hiding if own is None or outer.hiding is Hiding.DECEPTIVE else own


def _is_closed_dialog(node: LexborNode, attributes: Mapping[str, str | None]) -> bool:
    return node.tag == "dialog" and "open" not in attributes


def _is_invisible(style: Declarations, outer: Drawn) -> bool:
    visibility = style.get("visibility")
    return outer.is_invisible if visibility is None else visibility in {"hidden", "collapse"}


def _is_interface(node: LexborNode, attributes: Mapping[str, str | None]) -> bool:
    classes = attributes.get("class") or ""
    return (
        node.tag in _INTERFACE_TAGS
        or attributes.get("role") in _INTERFACE_ROLES
        or any(name in classes for name in _FOR_SCREEN_READERS)
    )


def _with_sign(colour: str | None) -> str | None:
    """Attributes may leave out the sign before the digits of a colour."""
    return f"#{colour}" if colour and _DIGITS.fullmatch(colour) else colour


def _colour(style: Declarations, attributes: Mapping[str, str | None], outer: Drawn) -> Colour | None:
    plain = attributes.get("color") or attributes.get("text")
    written = style.get(_RIGHT) or style.get("color") or _with_sign(plain)
    if written is None or written in {"inherit", "currentcolor"}:
        return outer.colour
    return colour_in(written.lower())


def _behind(style: Declarations, attributes: Mapping[str, str | None], outer: Drawn) -> Colour | None:
    written = (
        style.get("background-color") or style.get("background") or _with_sign(attributes.get("bgcolor"))
    )
    if written is None or written in {"inherit", "none"}:
        return outer.behind
    colour = colour_in(written.lower())
    return outer.behind if colour is not None and colour.is_transparent else colour
