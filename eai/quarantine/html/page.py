"""A page's text as it is drawn: which of it is unseen, and why."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

from eai.quarantine.html.colours import BLACK, WHITE, Colour, colour_in
from eai.quarantine.html.declarations import Declarations, declarations, plain_css, resolved
from eai.quarantine.html.hiding import Hiding, hiding_of, is_tiny
from eai.quarantine.html.stylesheet import Rule, rules_of

NOT_EXTRACTED = "script, style, noscript, template, head, iframe, object, svg"
"""What extraction leaves out; a test holds both against each other."""

_MOST_STEPS = 5_000_000
"""Selectors times elements: rules beyond that are not applied, and the page is marked."""
_MOST_MATCHES = 100_000
_PER_MATCH = 16
"""So many declarations of one rule cost as much as a match."""
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
    rules = [rule for sheet in sheets for rule in rules_of(sheet)]
    is_elsewhere = any(_is_sheet(node) for node in tree.css("link")) or any(map(_IMPORTS.search, sheets))
    for node in tree.css(NOT_EXTRACTED):
        node.decompose()
    if tree.root is None:
        return Page(())
    styles = _Styles(tree, rules)
    return Page(tuple(_texts(tree.root, styles)), styles.are_unread, is_elsewhere)


def _is_sheet(link: LexborNode) -> bool:
    return "stylesheet" in (link.attributes.get("rel") or "").lower().split()


class _Styles:
    """Which rules each element matches."""

    def __init__(self, tree: LexborHTMLParser, rules: Sequence[Rule]) -> None:
        self._matched: dict[int, list[tuple[tuple[int, int, int], int, Rule]]] = {}
        most = _MOST_STEPS // max(len(tree.css("*")), 1)
        matches = 0
        self.are_unread = not all(rule.is_readable for rule in rules)
        readable = [rule for rule in rules if rule.is_applied]
        for place, rule in enumerate(readable):
            if place >= most or matches >= _MOST_MATCHES:
                self.are_unread = True
                return
            for node in _matching(tree, rule.selector):
                matches += 1 + (len(rule.usual) + len(rule.important)) // _PER_MATCH
                self._matched.setdefault(node.mem_id, []).append((rule.weight, place, rule))

    def of(self, node: LexborNode, attributes: Mapping[str, str | None]) -> Declarations:
        """Everything declared for the element, the strongest last."""
        rules = [rule for *_, rule in sorted(self._matched.get(node.mem_id, ()), key=lambda match: match[:2])]
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


def _matching(tree: LexborHTMLParser, selector: str) -> Sequence[LexborNode]:
    try:
        return tree.css(selector)
    except SelectolaxError:
        # A selector that this engine does not know is none that it could be drawn by.
        return ()


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
    style, variables = resolved(styles.of(node, attributes), outer.variables)
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


def _colour(style: Declarations, attributes: Mapping[str, str | None], outer: Drawn) -> Colour | None:
    written = style.get(_RIGHT) or style.get("color") or attributes.get("color") or attributes.get("text")
    if written is None or written in {"inherit", "currentcolor"}:
        return outer.colour
    return colour_in(written.lower())


def _behind(style: Declarations, attributes: Mapping[str, str | None], outer: Drawn) -> Colour | None:
    written = style.get("background-color") or style.get("background") or attributes.get("bgcolor")
    if written is None or written in {"inherit", "none"}:
        return outer.behind
    colour = colour_in(written.lower())
    return outer.behind if colour is not None and colour.is_transparent else colour
