"""A page's text as it is drawn: which of it is unseen, and why."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from eai.quarantine.html.cascade import Styles, is_quirky
from eai.quarantine.html.css import Declarations
from eai.quarantine.html.hiding import Hiding, hiding_of, is_tiny
from eai.quarantine.html.ink import PLAIN, Ink
from eai.quarantine.html.steps import Steps

NOT_EXTRACTED = "script, style, noscript, template, head, iframe, object, svg"
"""What extraction leaves out; a test holds both against each other."""

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


@dataclass(frozen=True, slots=True)
class Drawn:
    """How the text of an element is drawn, as far as its children inherit it."""

    ink: Ink = PLAIN
    is_tiny: bool = False
    is_invisible: bool = False
    hiding: Hiding | None = None
    is_interface: bool = False
    variables: Declarations = field(default_factory=dict)
    style: Declarations = field(default_factory=dict)

    @property
    def unseen(self) -> Hiding | None:
        """Why nobody sees text drawn so; None where it is seen."""
        if self.hiding is Hiding.DECEPTIVE or self.is_tiny or self.ink.is_unseen:
            return Hiding.DECEPTIVE
        return Hiding.WAITING if self.is_invisible else self.hiding


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
    styles = Styles(tree.root, sheets, Steps(), is_quirky=is_quirky(source))
    for node in tree.css(NOT_EXTRACTED):
        node.decompose()
    texts = _drawn_texts(tree.root, styles)
    return Page(texts, styles.are_unread, is_elsewhere)


def _drawn_texts(root: LexborNode, styles: Styles) -> Sequence[Text]:
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


def _texts(root: LexborNode, styles: Styles) -> Iterator[Text]:
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


def _drawn(node: LexborNode, outer: Drawn, styles: Styles) -> Drawn:
    attributes = node.attributes
    style, variables = styles.resolved(node, attributes, outer.variables, outer.style)
    if not attributes and not style and variables is outer.variables and node.tag not in _INTERFACE_TAGS:
        return replace(outer, style={}) if outer.style else outer
    tiny = is_tiny(style)
    return Drawn(
        ink=outer.ink.within(style, attributes),
        is_tiny=outer.is_tiny if tiny is None else tiny,
        is_invisible=_is_invisible(style, outer),
        hiding=_hiding(node, style, attributes, outer),
        is_interface=outer.is_interface or _is_interface(node, attributes),
        variables=variables,
        style=style,
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
